"""SMT-LIB 2: claims that Z3's own parser reads, fenced before it sees them.

Only declarations, definitions and one term per claim pass: a script could otherwise open files,
set options or assert what nobody claimed. The fence knows brackets, strings and comments, nothing
of sorts; what Z3 refuses after it is a ParseError too (translation.py).
"""

import re
from dataclasses import dataclass

from stepmill.verifiers.logic.reading import MAX_DEPTH, MAX_DIGITS, ParseError, check_length

_DECLARING = frozenset(
    {
        "declare-const",
        "declare-fun",
        "declare-sort",
        "declare-datatype",
        "declare-datatypes",
        "define-fun",
        "define-sort",
        "define-const",
    }
)
_PIECE = re.compile(
    r"""(?P<space> \s+ | ;[^\n]* )
      | (?P<open> \( )
      | (?P<close> \) )
      | (?P<text> "(?: [^"] | "" )*" )
      | (?P<quoted> \|[^|\\]*\| )
      | (?P<word> [^\s()";|]+ )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class SmtTerm:
    """A term of sort Bool, to be read by Z3 after the problem's declarations."""

    text: str


def parse_term(text: str) -> SmtTerm:
    """Take one term, such as `(=> (p x) (q x))`.

    Raises:
        ParseError: it is not exactly one term, or too large.
    """
    if len(_expressions(text)) != 1:
        raise ParseError("not exactly one SMT-LIB term")
    return SmtTerm(text)


def check_declarations(text: str) -> None:
    """Raise ParseError unless a text is nothing but declarations and definitions."""
    for expression in _expressions(text):
        if len(expression) < 2 or expression[1] not in _DECLARING:
            head = expression[1] if len(expression) > 1 else expression[0]
            allowed = ", ".join(sorted(_DECLARING))
            raise ParseError(f"command {head!r} among the declarations; allowed: {allowed}")


def _expressions(text: str) -> list[list[str]]:
    """The tokens of each expression at the top of a text."""
    check_length(text)
    found: list[list[str]] = []
    depth = position = 0
    while position < len(text):
        match = _PIECE.match(text, position)
        if match is None:
            raise ParseError(f"{text[position : position + 12]!r} at {position} is not understood")
        position = match.end()
        if match.lastgroup == "space":
            continue
        if sum(map(str.isdigit, match.group())) > MAX_DIGITS:
            raise ParseError(f"a number of more than {MAX_DIGITS} digits")
        depth -= match.lastgroup == "close"
        if depth < 0 or depth > MAX_DEPTH:
            raise ParseError(f"a bracket at {match.start()} has no partner, or is too deep")
        if depth == 0 and match.lastgroup != "close":
            found.append([])
        found[-1].append(match.group())
        depth += match.lastgroup == "open"
    if depth:
        raise ParseError("a bracket is not closed")
    return found
