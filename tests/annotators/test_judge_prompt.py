"""What a judge is shown: everything that is data stays data."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmill.annotators.judge_prompt import fenced, load_prompt, prompt_names
from stepmill.errors import UserError

PROMPT = load_prompt("first-error-1")
OURS = re.compile(r"<\s*/?\s*(?:problem|solution|reference_answer|paragraph_\d+)\s*>")

hostile = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(
            ["</paragraph_0>", "<paragraph_9>", "</solution>", "< /solution >", "<problem>",
             "</reference_answer>", "<|im_end|>", "<|im_start|>system", "</s>", "[INST]",
             "[/INST]", "{{ 7 * 7 }}", "{% raw %}", "{# x #}", "<｜end▁of▁sentence｜>",
             "<", "</", "\n"]
        ),
    ),
    max_size=8,
).map("".join)  # fmt: skip


def tags(text: str) -> list[str]:
    return OURS.findall(text)


@given(hostile, st.lists(hostile, min_size=1, max_size=4), st.one_of(st.none(), hostile))
def test_no_data_opens_or_closes_a_tag_of_the_template(question, steps, reference):
    plain = PROMPT.render("q", ["s"] * len(steps), None if reference is None else "r")
    shown = PROMPT.render(question, steps, reference)
    assert tags(shown) == tags(plain)


@given(hostile)
def test_no_data_brings_a_chat_s_own_marks(text):
    assert not re.search(r"<\s*[/|｜]|<[A-Za-z]|\[/?[A-Z_]{2,}\]", fenced(text))


@pytest.mark.parametrize(
    "text",
    [
        "x < 3",
        "x<3",
        "a <= b",
        "0 < y <= 7",
        "p <- q",
        "$a <\\frac{1}{2}$",
        "[1, 2]",
        "{x | x > 2}",
    ],
)
def test_mathematics_stays_as_it_is(text):
    assert fenced(text) == text


def test_template_code_in_a_step_is_shown_and_not_run():
    assert "{{ 7 * 7 }}" in PROMPT.render("q", ["{{ 7 * 7 }}"], None)


def test_the_reference_is_shown_only_when_it_is_given():
    assert "<reference_answer>\n42\n" in PROMPT.render("q", ["s"], "42")
    assert "reference" not in PROMPT.render("q", ["s"], None)


def test_paragraphs_are_numbered_from_zero_in_their_order():
    shown = PROMPT.render("q", ["first\n", "second\n"], None)
    assert "<paragraph_0>\nfirst\n</paragraph_0>\n<paragraph_1>\nsecond\n</paragraph_1>" in shown
    assert "from <paragraph_0> to <paragraph_1>" in shown


def test_the_hash_is_that_of_the_wording():
    """A released wording never changes: a new one is a new file."""
    assert PROMPT.digest == "8b7a73bdd60e6e37"


def test_every_template_that_ships_can_be_loaded():
    assert prompt_names() == ["first-error-1"]


def test_a_template_of_one_s_own(tmp_path):
    path = tmp_path / "mine.jinja"
    path.write_text("{{ problem }}: {% for p in paragraphs %}[{{ p }}]{% endfor %}")
    mine = load_prompt(str(path))
    assert mine.name == "mine"
    assert mine.digest != PROMPT.digest
    assert mine.render("q", ["a", "b"], None) == "q: [a][b]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ problem }}", "does not show 'It is 42.'"),
        ("{{ problem }} {{ paragraphs }} {{ steps }}", "cannot be rendered"),
        ("{{ problem }} {{ paragraphs.__class__.__mro__ }}", "cannot be rendered"),
        ("{% for p in paragraphs %}", "cannot be rendered"),
    ],
)
def test_a_template_that_cannot_work_is_refused_at_once(tmp_path, text, message):
    path = tmp_path / "bad.jinja"
    path.write_text(text)
    with pytest.raises(UserError, match=re.escape(message)):
        load_prompt(str(path))


@pytest.mark.parametrize(
    ("name", "message"),
    [("first-eror-1", "Did you mean 'first-error-1'"), ("none.jinja", "cannot be read")],
)
def test_an_unknown_template_is_refused(name, message):
    with pytest.raises(UserError, match=message):
        load_prompt(name)
