"""Compares two answers form by form, and says which form decided.

Every pair of readings that can be compared gives an opinion: equal, different, or not known. One
`equal` decides; otherwise one `not known` leaves it open; otherwise it is different. Answers of
kinds that have nothing in common (a number and a name) are different. The comparison is symmetric:
there is no first and second argument to mix up.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from stepmill.verifiers.answers.decisions import (
    NEEDS_ALGEBRA,
    Decision,
    all_same,
    distinct,
    first_opinion,
    matched,
)
from stepmill.verifiers.answers.expressions import parse
from stepmill.verifiers.answers.groups import Group, Matrix, components, vector_entries
from stepmill.verifiers.answers.limits import MAX_DEPTH, MAX_EVALUATIONS, TooLarge
from stepmill.verifiers.answers.numberwords import Based
from stepmill.verifiers.answers.policy import AnswerPolicy
from stepmill.verifiers.answers.quantities import (
    Quantity,
    comparable,
    same_based,
    same_based_and_bare,
    same_quantity,
)
from stepmill.verifiers.answers.reading import Form, Formula, read
from stepmill.verifiers.answers.regions import Region, Span, as_region, merged
from stepmill.verifiers.answers.relations import (
    Equation,
    Inequality,
    Labelled,
    same_inequality,
    same_label,
    same_zero_set,
)
from stepmill.verifiers.answers.sameness import same_value
from stepmill.verifiers.answers.times import Colon, Date, same_colon, same_date
from stepmill.verifiers.answers.trees import Node, Num, Sym, substituted
from stepmill.verifiers.answers.words import (
    Choice,
    Nothing,
    Prose,
    Words,
    YesNo,
    same_nothing,
    same_words,
    same_yes_no,
)

Algebra = Callable[[str, str], Decision]
"""Compares two formulas by computer algebra; it may take long."""


class Comparer:
    """Compares canonical texts under one policy.

    Args:
        policy: the disputable cases.
        algebra: computer algebra; without it what needs it stays open with the reason
            `NEEDS_ALGEBRA`.
    """

    def __init__(self, policy: AnswerPolicy, algebra: Algebra | None = None) -> None:
        self.policy = policy
        self._date_order = policy.date_order
        self._algebra = algebra
        self._work = 0

    def compare(self, a: str, b: str, depth: int = 0) -> Decision:
        """Whether two canonical texts say the same.

        Raises:
            TooLarge: they are beyond the limits.
        """
        if not a or not b:
            return Decision(None, "", "unparsed")
        if depth == 0:
            self._work = 0
        elif depth > MAX_DEPTH:
            raise TooLarge("depth")
        left, right = read(a, self._date_order), read(b, self._date_order)
        if a == b or a.replace(" ", "") == b.replace(" ", ""):
            number = isinstance(left[0], Quantity) and isinstance(left[0].value, Num)
            return Decision(left[0] != Nothing("declined"), "number" if number else "text")
        found = first_opinion(self._opinions(a, b, left, right, depth)) or _unrelated(left, right)
        if found.same is None and found.reason in ("", NEEDS_ALGEBRA):
            return self._by_algebra(a, b)
        return found

    def _by_algebra(self, a: str, b: str) -> Decision:
        if self._algebra is None:
            return Decision(None, "", NEEDS_ALGEBRA)
        return self._algebra(a, b)

    def _opinions(
        self, a: str, b: str, left: Sequence[Form], right: Sequence[Form], depth: int
    ) -> Iterator[Decision]:
        choices = [f for side in (left, right) for f in side if isinstance(f, Choice)]
        if len(choices) == 2:
            yield self._choices(choices[0], choices[1], depth)
            return
        for x in left:
            for y in right:
                found = self._pair(x, y, depth)
                if found is not None:
                    yield found
        for forms, others, other_text in ((left, right, b), (right, left, a)):
            for inner in _inner_texts(forms, others):
                yield self.compare(inner, other_text, depth + 1)

    def _pair(self, x: Form, y: Form, depth: int) -> Decision | None:
        """The opinion of the comparison that fits two readings; None when none does."""
        method = _METHODS.get((type(x), type(y)))
        if method is not None:
            return method(self, x, y, depth)
        method = _METHODS.get((type(y), type(x)))
        return method(self, y, x, depth) if method is not None else None

    def _quantities(self, x: Quantity, y: Quantity, _: int) -> Decision | None:
        if not comparable(x, y):
            return None
        form = "unit" if x.unit and y.unit else "percent" if "percent" in (x.kind, y.kind) else ""
        plain = isinstance(x.value, Num) and isinstance(y.value, Num)
        if not plain:
            self._work += 1
            if self._work > MAX_EVALUATIONS:
                raise TooLarge("comparisons")
        form = form or ("number" if plain else "expression")
        same = same_quantity(x, y, self.policy)
        named = x.unit and y.unit and x.unit.counted != y.unit.counted
        return Decision(same, form, "units" if same is None and named else "")

    def _choices(self, x: Choice, y: Choice, depth: int) -> Decision:
        if x.letter == y.letter and x.rest and y.rest:
            rest = self.compare(x.rest, y.rest, depth + 1)
            if rest.same is False:  # one letter with two texts: at least one of them is no option
                return Decision(None, "", "choice")
        return Decision(x.letter == y.letter, "choice")

    def _choice_and_value(self, x: Choice, _y: Form, _: int) -> Decision | None:
        if x.rest:
            return None
        if self.policy.letter_and_value == "different":
            return Decision(False, "choice")
        return Decision(None, "", "choice-or-value")

    def _labelled(self, x: Labelled, y: Labelled, depth: int) -> Decision:
        if x.bound and y.bound and x.bound != y.bound:
            trees = parse(x.value), parse(y.value)
            if trees[0] is not None and trees[1] is not None:
                mine = substituted(trees[0], {x.bound: Sym(y.bound)})
                return Decision(same_value(mine, trees[1], self.policy), "function")
        found = self.compare(x.value, y.value, depth + 1)
        if (
            found.same
            and self.policy.variable_names == "match"
            and not same_label(x.label, y.label)
        ):
            return Decision(False, "variable")
        return found

    def _ratio_and_quantity(self, x: Colon, y: Quantity, _: int) -> Decision | None:
        if len(x.ratio) != 2 or not x.ratio[1] or x.clock is not None or y.unit is not None:
            return None
        if not self.policy.ratio_is_fraction:
            return Decision(False, "ratio")
        return Decision(same_value(Num(1 / x.ratio[1]), y.value, self.policy), "ratio")

    def _groups(self, x: Group, y: Group, depth: int) -> Decision:
        kinds = {x.kind, y.kind}
        if "set" in kinds:
            if not kinds <= {"set", "list"}:
                return Decision(False, "kind")
            return self._in_any_order(x.items, y.items, "set", depth, as_set=True)
        if kinds == {"list"}:
            if self.policy.list_order == "any":
                return self._in_any_order(x.items, y.items, "list", depth)
            return self._in_order(x.items, y.items, "list", depth)
        if "list" in kinds and not self.policy.bare_list_is_tuple:
            return Decision(False, "kind")
        if "vector" in kinds and kinds != {"vector"} and not self.policy.vector_is_tuple:
            return Decision(False, "kind")
        if len(x.items) == len(y.items) == 2 and "list" not in kinds and x.closed != y.closed:
            return Decision(False, "interval")
        return self._in_order(
            x.items, y.items, "interval" if "interval" in kinds else "tuple", depth
        )

    def _group_and_quantity(self, x: Group, y: Quantity, _: int) -> Decision | None:
        entries = components(y.value, len(x.items)) if x.kind in ("tuple", "vector") else None
        if entries is not None:
            return self._vectors(entries, x.items)
        if x.kind == "list" and len(x.items) == 2 and all(i.isdigit() for i in x.items):
            decimal = Num(Fraction(".".join(x.items)))
            if same_value(decimal, y.value, self.policy):
                return Decision(None, "", "decimal-comma")
        return None

    def _vectors(self, entries: Sequence[Node], items: Sequence[str]) -> Decision | None:
        trees = [parse(item) for item in items]
        known = [t for t in trees if t is not None]
        if len(known) != len(entries):
            return None
        same = [same_value(a, b, self.policy) for a, b in zip(entries, known, strict=True)]
        return Decision(False if False in same else None if None in same else True, "vector")

    def _matrices(self, x: Matrix, y: Matrix, depth: int) -> Decision:
        shapes = [(len(m.rows), len(m.rows[0])) for m in (x, y)]
        if shapes[0] != shapes[1]:
            turned = shapes[0] == shapes[1][::-1] and 1 in shapes[0]
            return Decision(None if turned else False, "matrix", "row-or-column" if turned else "")
        flat = [tuple(entry for row in m.rows for entry in row) for m in (x, y)]
        return self._in_order(flat[0], flat[1], "matrix", depth)

    def _matrix_and_group(self, x: Matrix, y: Group, depth: int) -> Decision | None:
        entries = vector_entries(x)
        if entries is None or y.kind not in ("tuple", "vector", "list"):
            return None
        if not self.policy.vector_is_tuple:
            return Decision(False, "kind")
        return self._in_order(entries, y.items, "vector", depth)

    def _matrix_and_quantity(self, x: Matrix, y: Quantity, _: int) -> Decision | None:
        items = vector_entries(x)
        entries = components(y.value, len(items)) if items else None
        return self._vectors(entries, items) if items and entries else None

    def _regions(self, x: Region, y: Region, depth: int) -> Decision:
        x, y = merged(x), merged(y)
        return matched(x.spans, y.spans, "interval", lambda s, t: self._spans(s, t, depth))

    def _region_and_group(self, x: Region, y: Group, depth: int) -> Decision | None:
        if y.kind == "list":  # `x < 1, x > 3` may mean the one or the other, or both at once
            parts = [f for item in y.items for f in read(item, self._date_order)]
            regions = [f for f in parts if isinstance(f, Region)]
            if len(regions) != len(parts):
                return None
            whole = Region(tuple(span for region in regions for span in region.spans))
            same = self._regions(x, whole, depth).same
            return Decision(same or None, "interval", "" if same else "interval")
        region = as_region(y)
        return None if region is None else self._regions(x, region, depth)

    def _spans(self, x: Span, y: Span, depth: int) -> Decision:
        if x.closed != y.closed:
            return Decision(False, "interval")
        return self._in_order((x.low, x.high), (y.low, y.high), "interval", depth)

    def _in_order(self, x: Sequence[str], y: Sequence[str], form: str, depth: int) -> Decision:
        if len(x) != len(y):
            return Decision(False, form)
        return all_same((self.compare(a, b, depth + 1) for a, b in zip(x, y, strict=True)), form)

    def _in_any_order(
        self, x: Sequence[str], y: Sequence[str], form: str, depth: int, as_set: bool = False
    ) -> Decision:
        def same(a: str, b: str) -> Decision:
            return self.compare(a, b, depth + 1)

        if as_set:
            x, y = distinct(x, same), distinct(y, same)
        return matched(x, y, form, same)


def _inner_texts(forms: Sequence[Form], others: Sequence[Form]) -> Iterator[str]:
    """Texts inside `forms` that stand for the whole beside `others`.

    They are the value without its name, where the others have none, and a set's only member.
    """
    kinds = {type(o) for o in others}
    for form in forms:
        if isinstance(form, Labelled) and kinds.isdisjoint((Labelled, Equation, Prose)):
            yield form.value
        elif isinstance(form, Group) and len(form.items) == 1 and Group not in kinds:
            yield form.items[0]


def _unrelated(left: Sequence[Form], right: Sequence[Form]) -> Decision:
    """What to say of answers that no comparison fits."""
    kinds = {type(f) for f in (left[0], right[0])}
    if Prose in kinds:
        return Decision(None, "", "unparsed")
    if Formula in kinds:
        textual = kinds & {Words, YesNo, Nothing, Choice, Date}
        return Decision(None, "", "unparsed" if textual else NEEDS_ALGEBRA)
    if Inequality in kinds and kinds & {Region, Group}:
        return Decision(None, "", NEEDS_ALGEBRA)
    if Equation in kinds and kinds & {Quantity, Group, Region, Labelled}:
        return Decision(None, "", "equation")  # `x^2 = 4` and `±2`, or `x + y = 5` and `5`
    return Decision(False, "kind")


def _simple(same: Callable[[Any, Any, AnswerPolicy], bool | None], form: str) -> Any:  # noqa: ANN401
    """A comparison that needs the policy and nothing else."""

    def compare(comparer: Comparer, x: Form, y: Form, _: int) -> Decision:
        found = same(x, y, comparer.policy)
        return Decision(found, form, form.replace(" ", "-") if found is None else "")

    return compare


_METHODS: dict[tuple[type, type], Callable[[Comparer, Any, Any, int], Decision | None]] = {
    (Quantity, Quantity): Comparer._quantities,
    (Labelled, Labelled): Comparer._labelled,
    (Group, Group): Comparer._groups,
    (Group, Quantity): Comparer._group_and_quantity,
    (Matrix, Matrix): Comparer._matrices,
    (Matrix, Group): Comparer._matrix_and_group,
    (Matrix, Quantity): Comparer._matrix_and_quantity,
    (Region, Region): Comparer._regions,
    (Region, Group): Comparer._region_and_group,
    (Colon, Quantity): Comparer._ratio_and_quantity,
    (Choice, Quantity): Comparer._choice_and_value,
    (Choice, Words): Comparer._choice_and_value,
    (Choice, Group): Comparer._choice_and_value,
    (Equation, Equation): lambda _c, x, y, _d: Decision(same_zero_set(x, y), "equation"),
    (Inequality, Inequality): lambda _c, x, y, _d: Decision(same_inequality(x, y), "inequality"),
    (Based, Based): lambda _c, x, y, _d: Decision(same_based(x, y), "numeral", "base"),
    (Based, Quantity): _simple(same_based_and_bare, "numeral"),
    (Colon, Colon): _simple(same_colon, "time or ratio"),
    (Date, Date): _simple(same_date, "date"),
    (YesNo, YesNo): _simple(same_yes_no, "yes or no"),
    (Nothing, Nothing): _simple(same_nothing, "no answer"),
    (Words, Words): _simple(same_words, "words"),
}
"""Which readings can be compared, and by what; either order."""
