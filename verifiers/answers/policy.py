"""The disputable cases of answer equality, one setting each.

Whether `20` is `20 %` is not a matter of mathematics. Each setting's default follows what most
data sets mean; where a data set means something else, its configuration says so here.
"""

from typing import Literal

from pydantic import Field

from stepmill.settings import Settings

DateOrder = Literal["mdy", "dmy"]


class AnswerPolicy(Settings):
    """How two answers are compared where mathematics leaves a choice."""

    bare_percent: bool = True
    """`20` equals `20%`, besides `0.2`; false: only `0.2` does."""
    missing_unit: bool = True
    """`5` equals `5 cm`, `$5` and `5 apples`: the question names the unit. Units that are written
    on both sides are always compared."""
    degrees_are_radians: bool = True
    r"""`90^\circ` equals `\frac{\pi}{2}`."""
    rounded_digits: int = Field(default=8, ge=0)
    r"""A decimal with at least so many significant digits equals the exact value that it rounds or
    cuts off (`1.41421356` and `\sqrt2`); 0: never. Two decimals are always compared exactly."""
    relative_tolerance: float = Field(default=0.0, ge=0, lt=1)
    """Two numbers that differ by at most this share of the larger one are equal; 0: exactly."""
    list_order: Literal["any", "given"] = "any"
    """`1, 2` equals `2, 1` when neither is in brackets. Tuples always keep their order, sets in
    braces never do."""
    bare_list_is_tuple: bool = True
    """`1, 2` equals `(1, 2)`, in the order given."""
    vector_is_tuple: bool = True
    r"""A row, a column and `\langle 1, 2\rangle` equal `(1, 2)`."""
    ratio_is_fraction: bool = True
    """`2:3` equals `2/3`."""
    variable_names: Literal["match", "ignore"] = "match"
    """`match`: `x = 5` differs from `y = 5`. A bare `5` equals both."""
    ordinal_is_number: bool = True
    """`third` equals `3`."""
    letter_and_value: Literal["unknown", "different"] = "unknown"
    """What the letter of an option is beside a value (`B` and `12`): the option's text is not
    known here. The `choice` checker knows it where the question lists the options."""
    yes_is_true: bool = True
    """`yes` equals `true`, and `no` equals `false`."""
    empty_set_is_no_solution: bool = True
    r"""`\emptyset` equals `no solution`."""
    bare_base: Literal["either", "digits", "value", "never"] = "either"
    """What a number without a base must match of `1011_2`: its digits `1011` or its value `11`."""
    date_order: DateOrder = "mdy"
    """How `7/4/1776` is read."""
    ignore_case: bool = True
    """`Paris` equals `paris`."""
