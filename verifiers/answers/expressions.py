r"""Expressions of algebra, read from canonical text into small trees.

A recursive-descent parser over characters. It reads the whole text or refuses it (None), and
evaluates nothing: no text of a model ever reaches `eval`, `sympify` or `parse_expr`. LaTeX and
plain text mix freely (`\frac{n(n+1)}2`, `2sqrt(3)`, `e^{i\pi}`, `log_2 8`). What it does not
know (integrals, sums, limits, functions named by letters) it leaves to math-verify.
"""

import re
from fractions import Fraction
from functools import lru_cache

from stepmill.verifiers.answers.clean import BAR, HAT, VECTOR
from stepmill.verifiers.answers.limits import MAX_DEPTH, MAX_OPERATIONS, TooLarge
from stepmill.verifiers.answers.literals import read_literal
from stepmill.verifiers.answers.trees import FUNCTIONS, Node, Num, Op, Sym

_SPELLINGS = {name: name for name in FUNCTIONS} | {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "cosec": "csc", "tg": "tan",
    "ctg": "cot", "log": "log", "lg": "lg", "abs": "abs", "sqrt": "sqrt", "cbrt": "cbrt",
    "floor": "floor", "ceil": "ceil", "arctg": "arctan",
}  # fmt: skip
_NAMES = {
    "pi": Sym("π"), "infinity": Sym("∞"), "inf": Sym("∞"), "oo": Sym("∞"), "theta": Sym("θ"),
    "alpha": Sym("α"), "beta": Sym("β"), "lambda": Sym("λ"), "phi": Sym("φ"),
}  # fmt: skip
_INVERSES = {"sin": "arcsin", "cos": "arccos", "tan": "arctan", "cot": "arccot"}
_CLOSING = {"(": ")", "[": "]", "{": "}", "⌊": "⌋", "⌈": "⌉"}
_LETTERS = re.compile(r"[A-Za-z]+")
_MACRO = re.compile(r"\\([A-Za-z]+)")
_GREEK = frozenset("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ")
_SUBSCRIPT = re.compile(r"_ ?(?:\{ ?([A-Za-z0-9]{1,6}) ?\}|([A-Za-z0-9]))")
_DERIVATIVE = re.compile(r" ?\{ ?d ?(?:\^[^}]*)?[A-Za-z]? ?\} ?\{ ?d ?[A-Za-z]")
_END = "\x00"
_VOWEL = re.compile("[aeiouAEIOU]")


class _Refused(Exception):
    """Raised when the text is not an expression that is known here."""


@lru_cache(maxsize=8192)
def parse(text: str, *, tight: bool = False) -> Node | None:
    """Tree of a whole expression in canonical text; None when it is not one.

    Args:
        text: canonical text, as `clean` makes it.
        tight: whether a product without a sign binds more tightly than a division, so that `1/2x`
            is 1/(2x); otherwise they go from left to right.

    Raises:
        TooLarge: brackets are nested too deeply.
    """
    parser = _Parser(text, tight)
    try:
        tree = parser.sum(0)
    except _Refused:
        return None
    return tree if parser.peek() == _END and parser.at == len(text) else None


def is_product_of_letters(run: str) -> bool:
    """Whether a run of letters can stand for a product of variables rather than for a word."""
    return len(run) <= 2 or not _VOWEL.search(run) or set(run.lower()) <= set("abcd")


class _Parser:
    def __init__(self, text: str, tight: bool) -> None:
        self.text = text + _END
        self.tight = tight
        self.at = 0
        self.bars = 0  # open | of absolute values
        self.n_operations = 0

    def op(self, name: str, *args: Node) -> Op:
        """An operation; a long sum is a deep tree, so their number is bounded."""
        self.n_operations += 1
        if self.n_operations > MAX_OPERATIONS:
            raise TooLarge("terms")
        return Op(name, args)

    def peek(self) -> str:
        """The next character that is no space; `_END` at the end."""
        while self.text[self.at] == " ":
            self.at += 1
        return self.text[self.at]

    def take(self, wanted: str) -> bool:
        if self.peek() == wanted:
            self.at += 1
            return True
        return False

    def need(self, wanted: str) -> None:
        if not self.take(wanted):
            raise _Refused

    def sum(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise TooLarge("depth")
        left = self.product(depth)
        while (sign := self.peek()) in "+-":
            self.at += 1
            left = self.op("add" if sign == "+" else "sub", left, self.product(depth))
        return left

    def product(self, depth: int) -> Node:
        left = self.signed(depth)
        while True:
            character = self.peek()
            if character in "*×·":
                self.at += 1
                left = self.op("mul", left, self.signed(depth))
            elif character in "/÷":
                self.at += 1
                right = self.signed(depth)
                while self.tight and self.begins_factor():
                    right = self.op("mul", right, self.power(depth))
                left = self.op("div", left, right)
            elif self.begins_factor():
                left = self.op("mul", left, self.power(depth))
            else:
                return left

    def begins_factor(self) -> bool:
        """Whether a factor without a sign of multiplication comes next; never a number."""
        character = self.peek()
        if character == "|" and self.bars:
            return False
        return character in "([{|⌊⌈\\" or character.isalpha() or character == "∞"

    def signed(self, depth: int) -> Node:
        if self.take("-"):
            if depth > MAX_DEPTH:
                raise TooLarge("depth")
            return self.op("neg", self.signed(depth + 1))
        if self.take("+"):
            return self.signed(depth + 1)
        return self.power(depth)

    def power(self, depth: int) -> Node:
        base = self.postfix(depth)
        if not self.take("^"):
            return base
        return self.after(self.op("pow", base, self.exponent(depth + 1)))

    def exponent(self, depth: int) -> Node:
        if self.peek() == "{":
            return self.group("{", depth)
        if depth > MAX_DEPTH:
            raise TooLarge("depth")
        return self.signed(depth)

    def postfix(self, depth: int) -> Node:
        return self.after(self.atom(depth))

    def after(self, node: Node) -> Node:
        """Apply what stands behind an operand: `!`, `°`."""
        while True:
            if self.peek() == "!" and not self.text.startswith("!!", self.at):
                self.at += 1
                node = self.op("fact", node)
            elif self.take("°"):
                node = self.op("deg", node)
            else:
                return node

    def atom(self, depth: int) -> Node:
        character = self.peek()
        if character in "0123456789.":
            literal = read_literal(self.text, self.at)
            if literal is None:
                raise _Refused
            self.at = literal.end
            if self.peek() in "0123456789.":
                raise _Refused  # two numbers side by side
            return Num(literal.value, literal.places, literal.continues)
        if character in _CLOSING:
            inner = self.group(character, depth)
            return {"⌊": self.op("floor", inner), "⌈": self.op("ceil", inner)}.get(character, inner)
        if character == "|":
            self.at += 1
            self.bars += 1
            inner = self.sum(depth + 1)
            self.bars -= 1
            self.need("|")
            return self.op("abs", inner)
        if character == "\\":
            return self.macro(depth)
        if character in _GREEK or character == "∞":
            self.at += 1
            return self.named(character)
        run = _LETTERS.match(self.text, self.at)
        if run is None:
            raise _Refused
        return self.letters(run[0], depth)

    def group(self, opening: str, depth: int) -> Node:
        self.need(opening)
        bars, self.bars = self.bars, 0
        inner = self.sum(depth + 1)
        self.bars = bars
        self.need(_CLOSING[opening])
        return inner

    def letters(self, run: str, depth: int) -> Node:
        """A variable, a known name, or the first factor of a run of letters."""
        if self.text[self.at + len(run) : self.at + len(run) + 1] in (VECTOR, HAT, BAR):
            self.at += len(run) + 1
            return self.named(run + self.text[self.at - 1])
        for length in range(len(run), 1, -1):
            known, rest = run[:length], run[length:]
            if len(rest) > 1 and known != "sqrt":
                continue  # `sinx` and `pir` are two things, `since` is none
            if known in _NAMES:
                self.at += length
                return _NAMES[known]
            if known in _SPELLINGS:
                self.at += length
                return self.function(_SPELLINGS[known], depth)
        if not is_product_of_letters(run):
            raise _Refused
        self.at += 1
        if run[0] in "fg" and self.text.startswith("(", self.at):
            raise _Refused  # a function applied, not a product
        return self.named(run[0])

    def named(self, name: str) -> Node:
        subscript = _SUBSCRIPT.match(self.text, self.at)
        if subscript:
            self.at = subscript.end()
            name += "_" + (subscript[1] or subscript[2])
        if self.text.startswith("'", self.at):
            raise _Refused  # a derivative
        return Sym(name)

    def macro(self, depth: int) -> Node:
        found = _MACRO.match(self.text, self.at)
        if found is None:
            raise _Refused
        self.at = found.end()
        match found[1]:
            case "frac" if not _DERIVATIVE.match(self.text, self.at):
                return self.op("div", self.argument(depth), self.argument(depth))
            case "binom" | "dbinom" | "tbinom":
                return self.op("binom", self.argument(depth), self.argument(depth))
            case name if name in _SPELLINGS:
                return self.function(_SPELLINGS[name], depth)
            case _:
                raise _Refused

    def argument(self, depth: int) -> Node:
        """What a macro takes: a group, or one digit, letter or macro, as TeX does."""
        character = self.peek()
        if character == "{":
            return self.group("{", depth)
        if character.isdigit():
            self.at += 1
            return Num(Fraction(int(character)))
        if character in _GREEK or (character.isascii() and character.isalpha()):
            self.at += 1
            return Sym(character)
        if character == "\\":
            return self.macro(depth)
        raise _Refused

    def function(self, name: str, depth: int) -> Node:
        """A function's argument, with what stands between: an index, a base, a power."""
        if name == "sqrt":
            index: Node = Num(Fraction(2))
            if self.peek() == "[":
                index = self.group("[", depth)
            inner = self.group("(", depth) if self.peek() == "(" else self.argument(depth)
            return self.op("root", inner, index)
        if name == "cbrt":
            return self.op("root", self.operand(depth), Num(Fraction(3)))
        base: Node | None = Num(Fraction(10)) if name == "lg" else None
        if name == "log" and self.take("_"):
            base = self.argument(depth)
        power = self.exponent(depth + 1) if self.take("^") else None
        if power == Op("neg", (Num(Fraction(1)),)) and name in _INVERSES:
            name, power = _INVERSES[name], None
        inner = self.operand(depth)
        applied = self.op("logb", inner, base) if base is not None else self.op(name, inner)
        return applied if power is None else self.op("pow", applied, power)

    def operand(self, depth: int) -> Node:
        """A function's argument: brackets, or the factors up to the next sign or function."""
        if depth > MAX_DEPTH:
            raise TooLarge("depth")
        if self.peek() in "([{|":
            inner = self.atom(depth)
            return self.after(inner)
        factor: Node = (
            self.op("neg", self.power(depth + 1)) if self.take("-") else self.power(depth + 1)
        )
        while self.begins_factor() and self.peek() not in "([|⌊⌈" and not self.at_function():
            factor = self.op("mul", factor, self.power(depth + 1))
        return factor

    def at_function(self) -> bool:
        run = _LETTERS.match(self.text, self.at + self.text.startswith("\\", self.at))
        return run is not None and run[0] in _SPELLINGS
