"""The words that stand beside numbers, and what they do to an arithmetic claim.

A word after a number is usually its unit and may be skipped. Some words change the number, join it
to what is not shown, or say that a claim is only tried; those are listed here. The lists are closed
classes of English and of measures; no list of nouns is complete, and none is tried.
"""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SCALES = {
    "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "dozen": 12, "dozens": 12,
}  # fmt: skip
"""Words that multiply the number before them."""

_COUNTS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty
    ninety hundred thousand million billion hundreds thousands millions"""
_FRACTIONS = """half halves third thirds fourth fourths quarter quarters fifth fifths sixth sixths
    seventh sevenths eighth eighths ninth ninths tenth tenths hundredth hundredths thousandth
    thousandths twelfth twelfths twentieth fortieth sixtieth"""
_MULTIPLES = "twice thrice double triple quadruple doubled tripled halved times fold"

CHANGES_NEXT = (
    _words(_COUNTS)
    | _words(_FRACTIONS)
    | _words(_MULTIPLES)
    | _words(
        """of plus minus by per over than and or percent percentage divided multiplied added
        subtracted subtract increased decreased reduced less more fewer extra additional another
        mod modulo remainder gcd lcm max min log ln sin cos tan exp sqrt root squared cubed negative
        minus base floor ceil ceiling versus vs from between through until to only all every each
        next first last other rest remaining nd rd th st"""
    )
    - _words("to from only all each every next first last other")
)
"""Before an expression: the value of what is written is not that of the expression alone."""

NUMBERED = _words(
    """day days week weeks month months year years hour hours minute step steps case chapter page
    pages level grade number numbers round phase room table question part equation trip game stage
    line lines row rows column problem example section figure method option group team player
    person bus size age version term item point station choice approach way solution type class
    block floor set test quiz exam lesson unit layer digit digits position place no"""
)
"""Words that a number may follow as a name (`day 1 * 2`)."""

NOT_UNITS = _words(
    """because so since therefore then thus hence which is are was were if when while where who has
    have had gives give makes make leaves leave equals equal with that this these those he she they
    it we i you and or but as than let now will would can could must should get gets costs cost
    spends spent pays paid earns earned at from to until till after before plus minus times divided
    multiplied more less fewer older younger longer taller of by not also both instead between
    altogether remaining gave sold bought ate uses used needs need left"""
)
"""After a number: no unit, so what follows is not part of the expression."""

STATES = _words(
    """is are was were be been being so then therefore thus hence gives give gave get gets got make
    makes made have has had equals equal earn earns earned pay pays paid spend spends spent cost
    costs total totals need needs needed left which that that's it's there's they're he's she's
    calculate compute because since"""
)
"""Directly before an expression: what is stated begins here."""

LINKS = _words("for in on into among across during per each every about using within")
"""After a value: what follows tells more of it, and is not a second part of it."""

ENDS_VALUE_BADLY = (
    _words(_FRACTIONS)
    | _words(_MULTIPLES)
    | _words(
        """r remainder rem of plus minus more less fewer mod modulo out percent pct percentage
        squared cubed divided multiplied percents and-a-half older younger th nd st rd point over
        or"""
    )
)
"""After a right side: the number there is not the whole of what is stated."""

MEASURES: dict[str, str] = {}
"""Unit words, singular and plural, to what they measure."""

for _what, _units in {
    "time": """second seconds sec secs minute minutes min mins hour hours hr hrs day days week weeks
        month months year years yr yrs decade decades century centuries ms""",
    "length": """inch inches foot feet ft yard yards yd mile miles meter meters metre metres
        centimeter centimeters centimetre centimetres cm mm millimeter millimeters km kilometer
        kilometers kilometre kilometres""",
    "mass": """gram grams kg kilogram kilograms kilo kilos mg milligram milligrams ounce ounces oz
        pound pounds lb lbs ton tons tonne tonnes""",
    "volume": """ml milliliter milliliters liter liters litre litres gallon gallons gal quart quarts
        pint pints cup cups tablespoon tablespoons teaspoon teaspoons tbsp tsp""",
    "money": """dollar dollars cent cents penny pennies nickel nickels dime dimes quarter quarters
        euro euros buck bucks usd""",
    "angle": "degree degrees radian radians",
    "data": "byte bytes bit bits kb mb gb tb KB MB GB TB",
    "rate": "mph kph percent kwh kWh kw kW hz Hz MHz GHz",
}.items():
    for _unit in _units.split():
        MEASURES[_unit] = _what

UNIT_LETTERS = frozenset("mgshlLFC")
"""Letters that are units when a space is before them."""

FUNCTIONS = _words("sin cos tan cot sec csc log ln exp sqrt mod gcd lcm arcsin arccos arctan lim")

ROUNDS = re.compile(
    r"\b(?:round\w*|about|approx\w*|roughly|nearly|almost|around|whole|floor|ceil\w*|estimate\w*"
    r"|remainder|left ?over|at (?:least|most)|nearest|up to|decimal|significant|truncat\w*)\b|~"
    r"|[≈≅≃]|\\approx|\\sim",
    re.IGNORECASE,
)
"""The text speaks of rounded values."""

TRIED = re.compile(
    r"\b(?:if|suppos\w+|assum\w+|whether|try|trying|tried|guess\w*|imagine|pretend|hypothe\w+"
    r"|unless|otherwise|check\w*|test\w*|verif\w+|cannot|can't|impossible"
    r"|not (?:equal|true|possible|be|have)|instead of|rather than"
    r"|(?:substitut|plug|put)\w*\b[^.\n]{0,80}\b(?:equation|inequality|condition)s?)\b",
    re.IGNORECASE,
)
"""Before a claim in its sentence: the claim is tried or denied, not stated."""

DENIED = re.compile(
    r"\b(?:not|cannot|can't|isn't|doesn't|don't|false|wrong|incorrect\w*|invalid|contradict\w*"
    r"|impossible|absurd|mistakes?|errors?|no solutions?|never|fails?|untrue|inconsistent|wait|oops"
    r"|hmm|sorry|correction|corrected|actually|extraneous|reject\w*|discard\w*"
    r"|too (?:big|small|large|low|high|much|many|few)|should (?:be|have)|instead)\b"
    r"|≠|\\neq?\b|[✗✘❌?]",
    re.IGNORECASE,
)
"""After a claim, to the end of the next sentence: the claim is denied or taken back."""

TAKEN_BACK = re.compile(
    r"\W*(?:(?:this|that|which|it|so|but|however|thus|these|both|since)\b[^.\n]{0,60}\b(?:not|false"
    r"|wrong|incorrect|contradict\w*|impossible|absurd|untrue|invalid|inconsistent|fails?|cannot)"
    r"|wait|no\b|oops|hmm|actually|contradiction|correction|sorry)\b",
    re.IGNORECASE,
)
"""At the start of the step after a claim: the claim is denied or taken back."""

REDEFINED = re.compile(
    r"(?<!order of )\b(?:operations?|operators?)\b|\bdefined?\b|\bbase[- ]?(?:\d|\$|\\|b\b|two"
    r"|three|four|five|six|seven|eight|nine|ten|twelve|sixteen)|\bbinary\b|\boctal\b|\bhexadecimal\b"
    r"|\bmod(?:ulo|ular|ulus)?\b|\\[bp]?mod\b|≡|\\equiv|\bcongruen\w+|\bclock\b|\bresidue\w*"
    r"|\d_\{?\d|\bcryptarithm\w*|\bdigits? (?:A|B|X|Y)\b|\bo'clock\b|\b[ap]\.?m\.?\b",
    re.IGNORECASE,
)
"""The usual meaning of numbers and signs may not hold: other bases, residues, own operations."""
