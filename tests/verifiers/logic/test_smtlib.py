"""The fence before Z3's own parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmill.verifiers.logic.reading import ParseError
from stepmill.verifiers.logic.smtlib import check_declarations, parse_term


@pytest.mark.parametrize(
    "term", ["p", "(p x)", "(=> (p |a b|) true) ; a comment", '(= s "a ""b"" )")', "(< x 1.5)"]
)
def test_one_term_passes(term):
    assert parse_term(term).text == term


@pytest.mark.parametrize(
    "term",
    [
        "p) (assert false",
        'p) (set-option :regular-output-channel "/tmp/x"',
        "p q",
        "(p x",
        "",
        "; only a comment",
        '(= s "open)',
        "(p |open)",
        "(" * 100 + "p" + ")" * 100,
        "(= x " + "9" * 50 + ")",
        "(p x)" * 4_000,
    ],
)
def test_anything_but_one_term_is_refused(term):
    with pytest.raises(ParseError):
        parse_term(term)


def test_declarations_and_definitions_pass():
    check_declarations(
        "(declare-sort U 0) (declare-fun p (U) Bool) ; the rest\n"
        "(define-fun q ((x U)) Bool (not (p x)))"
    )


@pytest.mark.parametrize(
    "script",
    [
        "(assert false)",
        "(set-option :timeout 0)",
        "(exit)",
        "x",
        "(check-sat)",
        "((declare-sort U 0))",
    ],
)
def test_commands_among_the_declarations_are_refused(script):
    with pytest.raises(ParseError):
        check_declarations(f"(declare-const x Int) {script}")


@given(st.one_of(st.text(), st.text('()|";ap 1\n', max_size=30)))
def test_any_text_is_taken_or_refused(text):
    for check in (parse_term, check_declarations):
        try:
            check(text)
        except ParseError:
            continue
