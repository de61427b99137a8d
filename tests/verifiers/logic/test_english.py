"""Controlled English: what is read, and what is refused because it could mean two things."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmill.verifiers.logic.english import parse_english
from stepmill.verifiers.logic.reading import ParseError
from stepmill.verifiers.logic.writing import to_fol


@pytest.mark.parametrize(
    ("sentence", "formula"),
    [
        ("Max is a yumpus.", "yumpus(Max)"),
        ("Fae is not cold.", "¬cold(Fae)"),
        ("Fae isn't cold", "¬cold(Fae)"),
        ("So, Max is an impus.", "impus(Max)"),
        ("Therefore the cat is red.", "red(cat)"),
        ("The bald eagle likes the cat.", "like(bald_eagle, cat)"),
        ("The bald eagle does not chase the cat.", "¬chase(bald_eagle, cat)"),
        ("The cat watches Bob.", "watch(cat, Bob)"),
        ("Bob is red and kind.", "red(Bob) ∧ kind(Bob)"),
        ("Bob is a cat or a dog.", "cat(Bob) ∨ dog(Bob)"),
        ("Every yumpus is a dumpus.", "∀x (yumpus(x) → dumpus(x))"),
        ("Each jompus is not shy.", "∀x (jompus(x) → ¬shy(x))"),
        ("Jompuses are yumpuses.", "∀x (jompus(x) → yumpus(x))"),
        ("Jompuses are nervous.", "∀x (jompus(x) → nervous(x))"),
        ("Foxes are not mice.", "∀x (fox(x) → ¬mouse(x))"),
        ("No cats are dogs.", "∀x (cat(x) → ¬dog(x))"),
        ("Some cats are kind.", "∃x (cat(x) ∧ kind(x))"),
        ("All green, round people are blue.", "∀x ((green(x) ∧ round(x)) → blue(x))"),
        ("Red and kind things are cold.", "∀x ((red(x) ∧ kind(x)) → cold(x))"),
        ("Rough people see the dog.", "∀x (rough(x) → see(x, dog))"),
        (
            "If someone sees the mouse and they do not like the mouse then the mouse is blue.",
            "∀x ((see(x, mouse) ∧ ¬like(x, mouse)) → blue(mouse))",
        ),
        (
            "If something is red and not cold, then it needs the lion.",
            "∀x ((red(x) ∧ ¬cold(x)) → need(x, lion))",
        ),
        (
            "If something visits the mouse and the mouse visits the dog then it is cold.",
            "∀x ((visit(x, mouse) ∧ visit(mouse, dog)) → cold(x))",
        ),
        ("If X is kind then X is rough.", "∀x (kind(x) → rough(x))"),
        ("If Bob is red then he is cold.", "red(Bob) → cold(Bob)"),
        (
            "If Bob is red and Bob is big then Bob is not kind.",
            "(red(Bob) ∧ big(Bob)) → ¬kind(Bob)",
        ),
    ],
)
def test_a_sentence_becomes_the_formula_that_it_means(sentence, formula):
    assert to_fol(parse_english(sentence)) == formula


@pytest.mark.parametrize(
    "sentence",
    [
        "Wolves are animals.",  # wolf, or wolve?
        "Bob is a red cat.",  # red and a cat, or a kind of cat?
        "Red cats are kind.",
        "Bob is not red and kind.",
        "Bob is not red or kind.",
        "Bob is either red or kind.",
        "If the cat sees the dog then it is cold.",  # which of them?
        "If something is red then something is cold.",
        "If X sees Y then Y is cold.",
        "It is red.",
        "Is Bob red?",
        "Bob is red because Bob is kind.",
        "Bob was red.",
        "Bob is very red.",
        "Bob sleeps.",
        "Everything is red.",
        "Bob is the king.",
        "Nobody is red.",
        "the answer is true",
        "The answer is True.",
        "John Smith is kind.",
        "All cats like Bob.",
        "Bob and Anne are kind.",
        "If Bob is red.",
        "then Bob is red then Bob is kind",
        "and",
        "the",
        "all",
        "",
        ".",
    ],
)
def test_a_sentence_that_could_mean_two_things_is_refused(sentence):
    with pytest.raises(ParseError):
        parse_english(sentence)


def test_every_sentence_of_the_excerpts_is_read(excerpts):
    for row in [*excerpts("prontoqa"), *excerpts("proofwriter")]:
        for sentence in row["context"].split(". "):
            parse_english(sentence)


_WORDS = (
    "the The a is are not does do and or if If then Bob cat cats it they "
    "something red sees see , . All no Every things X"
)


@given(st.one_of(st.text(), st.lists(st.sampled_from(_WORDS.split()), max_size=14).map(" ".join)))
def test_any_text_is_read_or_refused(text):
    try:
        to_fol(parse_english(text))
    except ParseError:
        return
