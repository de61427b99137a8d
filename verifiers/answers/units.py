"""Units of measurement with exact factors, and phrases made of them.

A table of our own instead of a library: factors are exact fractions, the words are those of school
problems, and nothing is evaluated. A word that is no unit ("apples") is kept as what is counted.
Sources of factors: the SI brochure and the international yard and pound agreement.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

Dimensions = tuple[tuple[str, int], ...]
"""Base units with their powers, sorted: `(("m", 1), ("s", -1))`."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What a number counts."""

    factor: Fraction
    """Size in base units."""
    dimensions: Dimensions
    counted: frozenset[str]
    """Words that are no unit, in the singular."""


_TABLE: dict[str, tuple[Fraction, Dimensions]] = {}


def _add(base: str, *rows: tuple[str, str | int | Fraction]) -> None:
    """File names under sizes in a base unit; `base` is such as `m` or `kg m^2 s^-2`."""
    dimensions = tuple(
        sorted(
            (name, int(power or 1)) for name, _, power in (w.partition("^") for w in base.split())
        )
    )
    for names, factor in rows:
        for name in names.split():
            _TABLE[name] = (Fraction(factor), dimensions)


_add(
    "m",
    ("m meter meters metre metres", 1),
    ("km kilometer kilometers kilometre kilometres kms", 1000),
    ("dm decimeter decimeters decimetre decimetres", "0.1"),
    ("cm centimeter centimeters centimetre centimetres cms", "0.01"),
    ("mm millimeter millimeters millimetre millimetres", "0.001"),
    ("μm micrometer micrometers micron microns", "1e-6"),
    ("nm nanometer nanometers nanometre nanometres", "1e-9"),
    ('in inch inches "', "0.0254"),
    ("ft foot feet", "0.3048"),
    ("yd yds yard yards", "0.9144"),
    ("mi mile miles", "1609.344"),
    ("lightyear lightyears", 9460730472580800),
)
_add(
    "kg",
    ("kg kgs kilogram kilograms kilo kilos", 1),
    ("g gram grams gm gms", "0.001"),
    ("mg milligram milligrams", "1e-6"),
    ("μg microgram micrograms", "1e-9"),
    ("t ton tons tonne tonnes", 1000),
    ("lb lbs pound pounds", "0.45359237"),
    ("oz ounce ounces", "0.028349523125"),
)
_add(
    "s",
    ("s sec secs second seconds", 1),
    ("ms millisecond milliseconds", "0.001"),
    ("min mins minute minutes", 60),
    ("h hr hrs hour hours", 3600),
    ("day days", 86400),
    ("week weeks wk wks", 604800),
    ("fortnight fortnights", 1209600),
)
_add(
    "month",
    ("month months", 1),
    ("year years yr yrs", 12),
    ("decade decades", 120),
    ("century centuries", 1200),
)
_add(
    "m^3",
    ("l L liter liters litre litres", "0.001"),
    ("ml mL milliliter milliliters millilitre millilitres cc", "1e-6"),
    ("dl dL deciliter deciliters", "1e-4"),
    ("cl cL centiliter centiliters", "1e-5"),
    ("gal gallon gallons", "0.003785411784"),
    ("qt quart quarts", "0.000946352946"),
    ("pt pint pints", "0.000473176473"),
    ("cup cups", "0.0002365882365"),
    ("tbsp tablespoon tablespoons", "0.00001478676478125"),
    ("tsp teaspoon teaspoons", "0.00000492892159375"),
)
_add("m^2", ("hectare hectares ha", 10000), ("acre acres", "4046.8564224"))
_add(
    "m s^-1",
    ("mph", "0.44704"),
    ("kmh kph kmph", Fraction(5, 18)),
    ("knot knots", Fraction(463, 900)),
)
_add("kg m s^-2", ("N newton newtons", 1), ("kN kilonewton kilonewtons", 1000))
_add(
    "kg m^2 s^-2",
    ("J joule joules", 1),
    ("kJ kilojoule kilojoules", 1000),
    ("cal calorie calories", "4.184"),
    ("kcal kilocalorie kilocalories", 4184),
    ("kWh", 3600000),
    ("eV", "1.602176634e-19"),
)
_add("kg m^2 s^-3", ("W watt watts", 1), ("kW kilowatt kilowatts", 1000), ("MW", 1000000))
_add("kg m^-1 s^-2", ("Pa pascal pascals", 1), ("kPa", 1000), ("atm", 101325), ("bar bars", 100000))
_add("s^-1", ("Hz hertz", 1), ("kHz", 1000), ("MHz", 1000000), ("rpm", Fraction(1, 60)))
_add("A", ("A amp amps ampere amperes", 1), ("mA", "0.001"))
_add("kg m^2 s^-3 A^-1", ("V volt volts", 1))
_add("kg m^2 s^-3 A^-2", ("Ω ohm ohms", 1))
_add("s A", ("C coulomb coulombs", 1))
_add("K", ("K kelvin kelvins", 1))
_add("celsius", ("°C celsius", 1))
_add("fahrenheit", ("°F fahrenheit", 1))
_add("mol", ("mol mole moles", 1))
_add(
    "bit",
    ("bit bits", 1),
    ("byte bytes B", 8),
    ("kB KB kilobyte kilobytes", 8000),
    ("MB", 8 * 10**6),
)
_add("bit", ("GB gigabyte gigabytes", 8 * 10**9), ("TB", 8 * 10**12))
_add("degree", ("° deg degs degree degrees", 1), ("revolution revolutions", 360))
_add("USD", ("$ dollar dollars buck bucks USD usd", 1), ("cent cents ¢ penny pennies", "0.01"))
_add("USD", ("nickel nickels", "0.05"), ("dime dimes", "0.1"))
_add("EUR", ("€ euro euros EUR", 1))
_add("GBP", ("£ GBP quid", 1), ("pence p", "0.01"))
_add("JPY", ("¥ yen JPY", 1))
_add("INR", ("₹ rupee rupees INR Rs Rs.", 1), ("paise", "0.01"))
_add("CNY", ("yuan CNY RMB", 1))

_GENERIC = frozenset(("unit", "units"))
"""Words that say only that there is a unit."""
_LOOSE = frozenset(((("celsius", 1),), (("fahrenheit", 1),), (("month", 1),), (("s", 1),)))
"""Dimensions that are not one another's multiples, and not different things either."""
_FILLERS = frozenset((
    "of", "the", "a", "an", "in", "total", "left", "each", "more", "away", "old", "long", "tall",
    "wide", "high", "altogether", "remaining", "rad", "rads", "radian", "radians",
))  # fmt: skip
"""Words that change nothing; an angle in radians is a bare number."""
_POWER_WORDS = {"square": 2, "sq": 2, "sq.": 2, "cubic": 3, "cu": 3, "cu.": 3}
_CONNECTIVES = frozenset(("and", "or", "to", "is", "are", "plus", "minus", "times"))
_POWERED = {"squared": 2, "cubed": 3}
_TOKEN = re.compile(
    r"(?P<slash>/|per(?![a-z]))|(?P<times>[*·×-])"
    r"|(?P<word>°[CF]?(?![A-Za-z])|[A-Za-zμΩ][A-Za-z'μΩ]*\.?|[$€£¥₹¢\"])"
    r"(?: ?\^ ?\{? ?(?P<power>-?\d) ?\}?|(?P<digit>[23])(?!\d))?"
)


@lru_cache(maxsize=4096)
def read_unit(text: str) -> Unit | None:
    """The unit that a whole phrase names: `km/h`, `square feet`, `dollars per hour`, `red apples`.

    None when the phrase is not one, or says only "units".
    """
    factor, powers, counted = Fraction(1), dict[str, int](), set[str]()
    sign, pending, position = 1, 1, 0
    last: tuple[Fraction, Dimensions] | None = None
    while position < len(text):
        if text[position] == " ":
            position += 1
            continue
        token = _TOKEN.match(text, position)
        if token is None:
            return None
        position = token.end()
        if token["slash"]:
            sign = -1
        elif token["times"]:
            continue
        else:
            word = token["word"]
            if word.lower() in _CONNECTIVES:
                return None
            if word.lower() in _POWER_WORDS:
                pending = _POWER_WORDS[word.lower()]
                continue
            if word.lower() in _POWERED and last is not None:
                times = _POWERED[word.lower()] - 1
                factor = _include(last, times, factor, powers)
                continue
            power = sign * pending * int(token["power"] or token["digit"] or 1)
            known = _look_up(word)
            if known is not None:
                factor = _include(known, power, factor, powers)
                last = (
                    known[0] ** (1 if power > 0 else -1),
                    tuple((d, p if power > 0 else -p) for d, p in known[1]),
                )
            elif word.lower() not in _GENERIC | _FILLERS:
                counted.add(_singular(word.lower().rstrip(".")))
            sign = pending = 1
    dimensions = tuple(sorted((d, p) for d, p in powers.items() if p))
    if not dimensions and not counted:
        return None
    return Unit(factor, dimensions, frozenset(counted))


def is_unit_word(word: str) -> bool:
    """Whether a word is in the table."""
    return _look_up(word) is not None


def same_unit(a: Unit | None, b: Unit | None, missing_ok: bool) -> bool | None:
    """Whether two units measure the same; None when they count things of different names.

    A side without a unit is None; it goes with any unit when `missing_ok`.
    """
    if a is None or b is None:
        return a is b or missing_ok
    if a.dimensions != b.dimensions:
        loose = a.dimensions in _LOOSE and b.dimensions in _LOOSE
        return False if a.dimensions and b.dimensions and not loose else None
    if a.counted and b.counted and a.counted.isdisjoint(b.counted):
        return None
    return True


def _include(
    unit: tuple[Fraction, Dimensions], power: int, factor: Fraction, powers: dict[str, int]
) -> Fraction:
    for dimension, own in unit[1]:
        powers[dimension] = powers.get(dimension, 0) + own * power
    return factor * unit[0] ** power


def _look_up(word: str) -> tuple[Fraction, Dimensions] | None:
    for spelling in (word, word.rstrip("."), word.lower().rstrip(".")):
        # `l` and `L`, but `C` is not `c` and `A` is not `a`: one letter keeps its case
        if spelling in _TABLE and (len(spelling) > 1 or spelling == word.rstrip(".")):
            return _TABLE[spelling]
    return None


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes", "oes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
