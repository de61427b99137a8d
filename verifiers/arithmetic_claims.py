"""The claims of arithmetic in one step, each with its verdict: equation chains and annotations.

A chain `a = b = c` makes two claims. Names that the solution gave a value are read as that value;
a chain that gives a name its value (`x = 3 * 4 = 12`) is kept for the steps that follow. What
looks like a claim and cannot be read is reported as unknown, with the reason.
"""

import re
from itertools import islice

from stepmill.records import Verdict
from stepmill.verifiers.arithmetic_clauses import Clause, clauses, resolve
from stepmill.verifiers.arithmetic_compare import Comparison, Equation, compare
from stepmill.verifiers.arithmetic_context import excuse, is_taken_back, is_tried, redefines
from stepmill.verifiers.arithmetic_copies import QuestionExpression
from stepmill.verifiers.arithmetic_eval import Unread, evaluate
from stepmill.verifiers.arithmetic_names import Names, only_value, stated_name
from stepmill.verifiers.arithmetic_sides import Refusal, Side, prefix, suffix, whole
from stepmill.verifiers.arithmetic_tokens import (
    NAME,
    NUMBER,
    RELATION,
    WORD,
    Token,
    Value,
    tokenize,
)
from stepmill.verifiers.arithmetic_words import MEASURES
from stepmill.verifiers.claims import Finding, JsonValue

VERIFIER = "arithmetic"
VERSION = "1"

MAX_CHARACTERS = 20_000
"""A longer step is not read."""

MAX_CLAUSE = 2000
"""Nor is a clause with more tokens."""
MAX_CLAIMS = 500
"""Nor what follows so many claims in a step."""

_ANNOTATION = re.compile(r"<<([^<>\n]{1,400})>>")
_MAY_CLAIM = re.compile(r"[≈≅≃≐]|\\approx|\\simeq|\\doteq|\bequals?\b|[\d)}$] is [$€£¥₹\d]")
_REST_OF_STEP = 40
"""A claim with fewer characters after it is what its step ends with."""
_HAS_NO_VALUE = frozenset({"unknown-name", "irrational", "too-large", "division-by-zero"})
_NOTHING = Refusal("")


class StepReader:
    """Reads the claims of the steps of one solution, in their order.

    Args:
        question: the problem's text. Names that it gives a value keep it; where it gives numbers or
            signs another meaning, no claim of the solution is false.
    """

    def __init__(self, question: str) -> None:
        self.names = Names()
        self._expression = QuestionExpression(question)
        self._question = question[:MAX_CHARACTERS]
        self._redefined: bool | None = None  # by the present step; None until it is asked for
        self._supposed: set[tuple[Value, Value]] = set()  # sides of equations tried or denied
        self._following = ""
        self._in_question = True
        self.read(question)
        self._in_question = False

    def read(self, text: str, following: str = "") -> list[Finding]:
        """Findings on the claims of the next step.

        Args:
            text: the step.
            following: the step after it, which may take back how this one ends.
        """
        if len(text) > MAX_CHARACTERS:
            return [_finding(text, 0, 0, Comparison(Verdict.UNKNOWN, "too-large"))]
        if "=" not in text and not _MAY_CLAIM.search(text):
            return []
        self._redefined = None
        self._following = following
        findings = self._annotations(text) if "<<" in text else []
        for clause in clauses(resolve(tokenize(text))):
            if len(findings) > MAX_CLAIMS:
                result = Comparison(Verdict.UNKNOWN, "too-large")
                findings.append(_finding(text, clause.tokens[0].start, len(text), result))
                break
            findings += self._chain(text, clause)
        return findings

    def _annotations(self, text: str) -> list[Finding]:
        """The claims of `<<48/2=24>>`."""
        findings: list[Finding] = []
        for match in islice(_ANNOTATION.finditer(text), MAX_CLAIMS):
            stated, relation, _ = match[1].rpartition("=")
            if not relation:
                continue
            middle = match.start(1) + len(stated)
            left = whole(tokenize(text, match.start(1), middle))
            right = whole(tokenize(text, middle + 1, match.end(1)))
            if isinstance(left, Side) and isinstance(right, Side):
                result = self._judge(Equation(text, left, right))
                findings.append(_finding(text, match.start(1), match.end(1), result))
        return findings

    def _chain(self, text: str, clause: Clause) -> list[Finding]:
        tokens = clause.tokens
        if len(tokens) > MAX_CLAUSE:
            result = Comparison(Verdict.UNKNOWN, "too-large")
            return [_finding(text, tokens[0].start, tokens[-1].end, result)]
        units = [t.text for t in tokens if t.kind == WORD and t.text in MEASURES]
        parts, relations = _split(tokens)
        lefts, rights = _sides(parts, clause.before)
        findings: list[Finding] = []
        for j, relation in enumerate(relations):
            left, right = lefts[j], rights[j + 1]
            if isinstance(left, Refusal) or isinstance(right, Refusal):
                reason = left.reason if isinstance(left, Refusal) else ""
                reason = reason or (right.reason if isinstance(right, Refusal) else "")
                if reason not in _NO_CLAIM:
                    result = Comparison(Verdict.UNKNOWN, f"not-read:{reason}")
                    findings.append(_finding(text, relation.start, relation.end, result))
                continue
            if not (left.operators or right.operators) or _is_name(left) or _is_name(right):
                continue  # no arithmetic, or a definition, which is kept below
            used: dict[str, JsonValue] = {}
            if not left.operators and any(unit[0].isalpha() for unit in left.units):
                result = Comparison(Verdict.UNKNOWN, "bare-quantity")
            else:
                ahead = [t for t in parts[0] if t.end <= left.start] if j == 0 else []
                equation = Equation(
                    text=text,
                    left=left,
                    right=right,
                    approximate=relation.text == "≈",
                    in_words=relation.prose,
                    clause_units=units,
                    ahead=ahead,
                    listed=clause.listed if j == 0 and not ahead else (),
                    chained=j > 0,
                    before_exclamation=j == len(relations) - 1 and _exclaims(clause.after),
                )
                result = self._judge(equation)
                if left.has_names != right.has_names:
                    used = self._values_used(left, right)
            findings.append(_finding(text, left.start, right.end, result, used))
        start = 0
        for j in range(1, len(parts)):
            if j == len(relations) or lefts[j] is not rights[j]:  # another chain starts in part j
                findings += self._copied(text, parts[start], rights[start + 1])
                self._keep_name(text, parts[start : j + 1], relations[start:j], rights[j])
                start = j
        return findings

    def _judge(self, equation: Equation) -> Comparison:
        left, right = equation.left, equation.right
        names = self.names
        if left.has_names or right.has_names:
            if (left.has_names and right.has_names) or not names.values:
                return Comparison(Verdict.UNKNOWN, "unknown-name")
            result = compare(equation, names.values, names.inexact)
        else:
            result = compare(equation, {})
        if result.verdict is not Verdict.INCORRECT:
            return result
        x, y = result.left, result.right
        if self._is_redefined(equation.text):
            return Comparison(Verdict.UNKNOWN, "redefined-signs", x, y)
        if x is not None and y is not None and (reason := self._excuse(equation, x, y)):
            return Comparison(Verdict.UNKNOWN, reason, x, y)
        if left.has_names or right.has_names:
            if names.decides(equation.text, left, right):
                return Comparison(Verdict.INCORRECT, "named-values", x, y)
            return Comparison(Verdict.UNKNOWN, "solved-name", x, y)
        return result

    def _excuse(self, equation: Equation, x: Value, y: Value) -> str | None:
        """Why a false equation is no false statement; None when it is one."""
        if (x, y) in self._supposed:
            return "tried"  # the same equation in other words: simplified, say
        reason = excuse(equation, x, y)
        at_end = len(equation.text) - equation.right.end < _REST_OF_STEP
        if reason is None and at_end and is_taken_back(self._following):
            reason = "denied"
        if reason in ("tried", "denied"):
            self._supposed.add((x, y))
        return reason

    def _is_redefined(self, text: str) -> bool:
        """Whether the question or this step uses numbers or signs in another meaning."""
        if self._redefined is None:
            self._redefined = redefines(text) or redefines(self._question)
        return self._redefined

    def _values_used(self, left: Side, right: Side) -> dict[str, JsonValue]:
        values = self.names.values
        tokens = [*left.tokens, *right.tokens]
        used = {t.text: str(values[t.text]) for t in tokens if t.text in values and t.kind == NAME}
        return {"names": used} if used else {}

    def _copied(self, text: str, part: list[Token], side: Side | Refusal) -> list[Finding]:
        """Whether `A = (2 + 3 - 4)` takes its expression wrongly from the question."""
        if isinstance(side, Refusal) or side.has_names or stated_name(part) is None:
            return []
        wrong = self._expression.wrong_copy(side.tokens)
        if wrong is None:
            return []
        result = Comparison(Verdict.INCORRECT, "copied-wrongly", wrong.value, wrong.part.value)
        detail: dict[str, JsonValue] = {"question": " ".join(wrong.part.shape)}
        return [_finding(text, side.start, side.end, result, detail)]

    def _keep_name(
        self,
        text: str,
        parts: list[list[Token]],
        relations: list[Token],
        last: Side | Refusal,
    ) -> None:
        """Takes the value that a chain such as `so x = 3 * 4 = 12` gives to its name."""
        stated = stated_name(parts[0], question=self._in_question)
        if stated is None:
            for part in parts:
                self.names.meet(part)
            return
        name, outright = stated
        for part in parts[1:-1]:
            self.names.meet(part)
        if isinstance(last, Side) and last.has_names:
            self.names.meet([*parts[0], *parts[-1]])
            return
        if isinstance(last, Refusal):
            self.names.doubt(name)
            return
        try:
            value = evaluate(last.tokens).value
        except Unread:
            self.names.doubt(name)
            return
        certain = (
            outright
            and all(relation.text == "=" and not relation.prose for relation in relations)
            and only_value(text, last.end, name)
            and (self._in_question or not is_tried(text, parts[0][0].start))
        )
        if certain:
            exact = not any(t.places or t.percent for t in last.tokens if t.kind == NUMBER)
            self.names.state(name, value, exact=exact)
        elif self.names.values.get(name) != value:
            self.names.doubt(name)


_NO_CLAIM = frozenset({"", "bare-number", "no-expression", "word"})
"""Refusals of what makes no claim of arithmetic at all, such as `total cost = 12`."""


def _split(clause: list[Token]) -> tuple[list[list[Token]], list[Token]]:
    parts: list[list[Token]] = [[]]
    relations: list[Token] = []
    for token in clause:
        if token.kind == RELATION:
            relations.append(token)
            parts.append([])
        else:
            parts[-1].append(token)
    return parts, relations


def _sides(
    parts: list[list[Token]], before: Token | None
) -> tuple[list[Side | Refusal], list[Side | Refusal]]:
    """Each part as the left and as the right side of its relations.

    A part in the middle is both, unless text inside it separates two claims
    (`= 12 so 3 * 12 =`).
    """
    last = len(parts) - 1
    lefts: list[Side | Refusal] = [suffix(parts[0], before, chained=False)]
    rights: list[Side | Refusal] = [_NOTHING]
    for part in parts[1:last]:
        both = whole(part)
        if isinstance(both, Side) and _is_expression(both):
            lefts.append(both)
            rights.append(both)
        else:
            lefts.append(suffix(part, None, chained=True))
            rights.append(prefix(part))
    rights.append(prefix(parts[last]))
    return lefts, rights


def _is_expression(side: Side) -> bool:
    try:
        evaluate(side.tokens)
    except Unread as refusal:
        return str(refusal) in _HAS_NO_VALUE
    return True


def _exclaims(after: Token | None) -> bool:
    return after is not None and after.text == "!" and after.glued


def _is_name(side: Side) -> bool:
    return len(side.tokens) == 1 and side.has_names


def _finding(
    text: str,
    start: int,
    end: int,
    result: Comparison,
    detail: dict[str, JsonValue] | None = None,
) -> Finding:
    return Finding(
        VERIFIER,
        VERSION,
        result.verdict,
        text[start:end],
        start,
        end,
        None if result.left is None else str(result.left),
        None if result.right is None else str(result.right),
        result.reason,
        detail or {},
    )
