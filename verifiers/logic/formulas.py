"""Formulas with connectives and quantifiers, in two notations.

First-order text: `∀x (Cat(x) → Kind(x))`. FLD symbols: `(x): ({A}x & {B}x) -> {C}x`. One grammar
serves both; only the tokens differ. Precedence from tight to loose: ¬ and quantifiers, ∧, ∨ or ⊕,
→, ↔. A quantifier with `:` or `.` after its variable reaches to the end of its bracket, without it
only over the next formula. What has two usual readings is refused: ∨ beside ⊕, a chain of ⊕
(parity, or exactly one?) or of ↔, a variable outside its quantifier.

FLD: Morishita et al., "Learning Deductive Reasoning from Synthetic Corpus based on Formal Logic",
ICML 2023. FOL text as in FOLIO, Han et al., 2022.
"""

import re
from collections.abc import Callable
from itertools import pairwise

from stepmill.verifiers.logic.reading import MAX_DEPTH, Cursor, ParseError, Token, scan
from stepmill.verifiers.logic.syntax import (
    And,
    Apply,
    Atom,
    Const,
    Equal,
    Exists,
    ForAll,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Term,
    Var,
    Xor,
)

_FOL = re.compile(
    r"""(?P<iff> <-> | <=> | [↔⟷⇔] )
      | (?P<implies> -> | => | [→⟶⇒] )
      | (?P<and> ∧ | && | & )
      | (?P<xor> ⊕ )
      | (?P<or> ∨ | \|\| | \| )
      | (?P<unequal> ≠ | != )
      | (?P<not> [¬~!] )
      | (?P<equal> = )
      | (?P<forall> ∀ )
      | (?P<exists> ∃ )
      | (?P<open> [(\[] )
      | (?P<close> [)\]] )
      | (?P<comma> , )
      | (?P<scope> [.:] )
      | (?P<name> \w [\w’']* (?: \.\d [\w’']* )* )
    """,
    re.VERBOSE,
)
_FLD = re.compile(
    r"""(?P<quantifier> \( E? [a-uw-z] \) \s* : )
      | (?P<atom> \{ [A-Z]+ \} (?: \{ [a-z]+ \} | [a-uw-z] )* )
      | (?P<iff> <-> )
      | (?P<implies> -> )
      | (?P<and> & )
      | (?P<or> v (?![a-z]) )
      | (?P<not> ¬ )
      | (?P<open> \( )
      | (?P<close> \) )
    """,
    re.VERBOSE,
)
_FLD_PIECE = re.compile(r"\{([A-Za-z]+)\}|([a-z])")
_LONE_VARIABLE = re.compile(r"[u-z]\d?")
"""A name that nobody gives to an individual; unbound, it is a slip."""


def parse_fol(text: str) -> Formula:
    """Read first-order text.

    A name that no quantifier binds is an individual. Brackets may be square. The connectives are
    also read in their ASCII forms (`->`, `<->`, `&`, `|`, `~`).

    Raises:
        ParseError: the text is not a formula, or can be read in two ways.
    """
    return _FormulaReader(scan(text, _FOL)).read()


def parse_fld(text: str) -> Formula:
    """Read one formula in the symbols of FLD.

    `{A}{a}` is a fact of an individual, `{A}` a proposition, `(x):` and `(Ex):` are quantifiers.

    Raises:
        ParseError: as `parse_fol`.
    """
    tokens: list[Token] = []
    for token in scan(text, _FLD):
        tokens.extend(_as_fol(token) if token.kind in ("quantifier", "atom") else [token])
    return _FormulaReader(tokens).read()


def _as_fol(token: Token) -> list[Token]:
    """The tokens of FOL text that say the same as one of FLD."""

    def made(kind: str, text: str) -> Token:
        return Token(kind, text, token.position)

    if token.kind == "quantifier":
        exists, variable = "E" in token.text, re.sub("[^a-z]", "", token.text)
        quantifier = made("exists", "∃") if exists else made("forall", "∀")
        return [quantifier, made("name", variable), made("scope", ":")]
    (predicate, _), *args = _FLD_PIECE.findall(token.text)
    made_tokens = [made("name", predicate)]
    for i, (constant, variable) in enumerate(args):
        made_tokens.append(made("comma", ",") if i else made("open", "("))
        made_tokens.append(made("constant", constant) if constant else made("name", variable))
    return [*made_tokens, made("close", ")")] if args else made_tokens


class _FormulaReader:
    """Recursive descent over the tokens of one formula."""

    def __init__(self, tokens: list[Token]) -> None:
        self._cursor = Cursor(tokens)
        self._bound: list[str] = []
        quantified = [a for q, a in pairwise(tokens) if _is_quantifier(q)]
        self._variables = {token.text for token in quantified}

    def read(self) -> Formula:
        formula = self._iff()
        self._cursor.finish()
        return formula

    def _iff(self) -> Formula:
        left = self._implies()
        if not self._cursor.take("iff"):
            return left
        right = self._implies()
        if self._cursor.peek() == "iff":
            raise ParseError("a chain of ↔ can be read in two ways; add brackets")
        return Iff(left, right)

    def _implies(self) -> Formula:
        left = self._either()
        if not self._cursor.take("implies"):
            return left
        self._cursor.deeper()
        right = self._implies()
        self._cursor.shallower()
        return Implies(left, right)

    def _either(self) -> Formula:
        first = self._all()
        if self._cursor.take("xor"):
            second = self._all()
            if self._cursor.peek() in ("or", "xor"):
                raise ParseError("⊕ beside another ⊕ or ∨ can be read in two ways; add brackets")
            return Xor(first, second)
        parts = self._more(first, "or", self._all)
        if self._cursor.peek() == "xor":
            raise ParseError("∨ beside ⊕ can be read in two ways; add brackets")
        return Or(parts) if len(parts) > 1 else first

    def _all(self) -> Formula:
        first = self._unary()
        parts = self._more(first, "and", self._unary)
        return And(parts) if len(parts) > 1 else first

    def _more(self, first: Formula, joint: str, part: Callable[[], Formula]) -> tuple[Formula, ...]:
        parts = [first]
        while self._cursor.take(joint):
            parts.append(part())
        return tuple(parts)

    def _unary(self) -> Formula:
        self._cursor.deeper()
        try:
            if self._cursor.take("not"):
                return Not(self._unary())
            if self._cursor.take("open"):
                inner = self._iff()
                self._cursor.expect("close")
                return inner
            if quantifier := self._cursor.take("forall", "exists"):
                return self._quantified(quantifier.kind)
            return self._atom()
        finally:
            self._cursor.shallower()

    def _quantified(self, kind: str) -> Formula:
        variables = [self._cursor.expect("name").text]
        while self._cursor.take("comma"):
            variables.append(self._cursor.expect("name").text)
        wide = self._cursor.take("scope")
        self._bound.extend(variables)
        if len(self._bound) > MAX_DEPTH:
            raise ParseError(f"more than {MAX_DEPTH} variables are bound")
        body = self._iff() if wide else self._unary()
        del self._bound[-len(variables) :]
        for variable in reversed(variables):
            body = ForAll(variable, body) if kind == "forall" else Exists(variable, body)
        return body

    def _atom(self) -> Formula:
        name = self._cursor.expect("name", "constant")
        args = self._args()
        sign = self._cursor.take("equal", "unequal")
        if sign is None:
            if name.kind == "constant" or name.text in self._variables:
                raise ParseError(f"{name.text!r} names an individual where a formula should be")
            return Atom(name.text, args)
        left = Apply(name.text, args) if args else self._individual(name)
        equal = Equal(left, self._term())
        return equal if sign.kind == "equal" else Not(equal)

    def _args(self) -> tuple[Term, ...]:
        if not self._cursor.take("open"):
            return ()
        self._cursor.deeper()
        args = [self._term()]
        while self._cursor.take("comma"):
            args.append(self._term())
        self._cursor.expect("close")
        self._cursor.shallower()
        return tuple(args)

    def _term(self) -> Term:
        name = self._cursor.expect("name", "constant")
        args = self._args()
        return Apply(name.text, args) if args else self._individual(name)

    def _individual(self, name: Token) -> Term:
        if name.kind == "constant":
            return Const(name.text)
        if name.text in self._bound:
            return Var(name.text)
        if name.text in self._variables or _LONE_VARIABLE.fullmatch(name.text):
            raise ParseError(f"variable {name.text!r} at {name.position} is not bound there")
        return Const(name.text)


def _is_quantifier(token: Token) -> bool:
    return token.kind in ("forall", "exists")
