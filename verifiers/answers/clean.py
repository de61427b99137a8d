r"""One spelling for what answers write in many: LaTeX, Markdown, Unicode and plain text.

`clean` turns an answer into canonical text, in which a LaTeX symbol is one Unicode character
(`\le` is `≤`, `\{` is `⦃`, `^\circ` is `°`, `\vec{i}` is `i⃗`), text macros and sizes are gone, and
white space is single. Only commands with arguments stay: `\frac`, `\sqrt`, `\binom`, `\overline`,
functions and matrices. It knows nothing of what the text means.
"""

import re
import string
import unicodedata
from functools import lru_cache

VECTOR, HAT, BAR = "\u20d7", "\u0302", "\u0305"
"""Combining marks that follow a name in canonical text."""
ROW_END = "⏎"
"""Stands between the rows of a matrix."""

_GREEK = (
    "alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ vartheta θ iota ι"
    " kappa κ lambda λ mu μ nu ν xi ξ pi π rho ρ sigma σ tau τ upsilon υ phi φ varphi φ chi χ"
    " psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Phi Φ Psi Ψ Omega Ω"
)
_MACROS = (
    _GREEK + " cdot · times × ast * div ÷ le ≤ leq ≤ leqslant ≤ leqq ≤ ge ≥ geq ≥ geqslant ≥"
    " geqq ≥ ne ≠ neq ≠ lt < gt > pm ± mp ∓ infty ∞ cup ∪ cap ∩ setminus ∖ backslash ∖ in ∈"
    " notin ∉ emptyset ∅ varnothing ∅ approx ≈ simeq ≈ doteq ≈ ldots … dots … cdots … dotsc …"
    " langle ⟨ rangle ⟩ vert | lvert | rvert | mid ∣ lbrace ⦃ rbrace ⦄ lbrack [ rbrack ] lfloor ⌊"
    " rfloor ⌋ lceil ⌈ rceil ⌉ colon : degree ° prime ' imath i jmath j to → rightarrow →"
    " land ∧ wedge ∧ lor ∨ vee ∨ angle ∠"
).split()
_SYMBOL = dict(zip(_MACROS[::2], _MACROS[1::2], strict=True))
_SPACES = {"quad", "qquad", "displaystyle", "textstyle", "limits", "nolimits", "newline", "par"}
_FIRST_NAME = {symbol: name for name, symbol in reversed(_SYMBOL.items())}
"""Of several names for a symbol the one that every parser knows."""
_TO_LATEX = {s: f"\\{name} " for s, name in _FIRST_NAME.items() if not s.isascii()} | {
    "⦃": r"\{",
    "⦄": r"\}",
    "°": r"^{\circ}",
    "∣": r"\mid ",
    "ℝ": r"\mathbb{R}",
}

_UNICODE = str.maketrans(
    dict.fromkeys("−–—‒‐‑﹣", "-")
    | dict.fromkeys("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u202f", " ")
    | dict.fromkeys("\u200a\u3000\u205f", " ")
    | dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u2061\u2062", "")
    | dict.fromkeys("∙⋅•", "·")
    | dict.fromkeys("’‘`´′", "'")
    | {"✕": "×", "⩽": "≤", "⩾": "≥", "∕": "/", "⁄": "/", "〈": "⟨", "〉": "⟩", "º": "°", "∶": ":"}
    | {"“": '"', "”": '"', "⋯": "…", "∪": "∪", "∖": "∖", "µ": "μ", "ﬁ": "fi", "，": ",", "：": ":"}
)
_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱ", "0123456789+-()ni", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_RAISED = re.compile(f"[{''.join(_SUPERSCRIPTS)}]+")
_LOWERED = re.compile(f"[{''.join(_SUBSCRIPTS)}]+")
_VULGAR = re.compile(r"(\d?)\s*([¼½¾⅐-⅞↉])")
_ROOT = re.compile(r"([√∛∜])\s*(\d+(?:\.\d+)?|[A-Za-zπ]|(?=[({]))")

_DOUBLED = re.compile(r"\\\\(?=[A-Za-z])")
_SIZES = re.compile(r"\\(?:left|right|middle|[bB]igg?[lrm]?)(?![A-Za-z])\s*\.?")
_NOTHING = re.compile(r"\\!\s*")
_THIN = re.compile(r"\\[,;: >]|(?<!\\)~")
_DEGREE = re.compile(r"\s*\^\s*(?:\{\s*\\circ\s*\}|\\circ(?![A-Za-z]))")
_FRACTION = re.compile(r"\\[dtc]frac(?![A-Za-z])")
_MARKED = re.compile(
    r"\\(vec|hat|mathbf|bm|boldsymbol|overrightarrow|bar|overline|widehat)\s*"
    r"(?:\{\s*\\?([A-Za-z]{1,5})\s*\}|([A-Za-z])(?![A-Za-z]))"
)
_MARKS = {"hat": HAT, "widehat": HAT, "bar": BAR, "overline": BAR}
_TEXT = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal|up)?|math(?:rm|bf|it|sf|tt|normal)|mbox|hbox|emph|rm|bf"
    r"|operatorname\*?|underline|bm|boldsymbol)\s*\{([^{}]*)\}"
)
_REALS = re.compile(r"\\(?:mathbb|mathbf|Bbb)\s*(?:\{\s*R\s*\}|R(?![A-Za-z]))|\\R(?![A-Za-z])")
_MACRO = re.compile(r"\\([A-Za-z]+)\s?")
_INLINE = re.compile(r"(?<!\\)\$(?!\s)([^$]+?)(?<![\s\\])\$(?!\d)")
_WRAPPED = {
    "$": (
        re.compile(r"\$\$(?P<x>.*)\$\$", re.S),
        re.compile(r"\$(?P<x>(?:[^$\\]|\\.)*)\$", re.S),
    ),
    "\\": (
        re.compile(r"\\\[(?P<x>.*)\\\]", re.S),
        re.compile(r"\\\((?P<x>(?:(?!\\\().)*)\\\)", re.S),
    ),
    "*": (re.compile(r"\*\*(?P<x>.*?)\*\*", re.S), re.compile(r"\*(?P<x>[^*]*)\*")),
    "_": (re.compile(r"__(?P<x>.*?)__", re.S),),
    "`": (re.compile(r"`+(?P<x>[^`]*)`+"),),
    '"': (re.compile(r'"(?P<x>[^"]*)"'),),
    "“": (re.compile(r"“(?P<x>[^”]*)”"),),
    "{": (),
}
"""Delimiters around the whole, by their first character."""
_WRAPPERS = frozenset('$\\*_`"“{')
_BOX = re.compile(r"\\f?box(?:ed)?\s*\{")
_PLAIN_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?\.?", re.ASCII)
_LETTERS_AND_DIGITS = frozenset(string.ascii_letters + string.digits + " ,()$%")
_TIMES_TEN = re.compile(r"(?<=[\d.]) ?[xX] ?(?=10 ?\^)")


@lru_cache(maxsize=16384)
def clean(text: str) -> str:
    """Canonical text of an answer; empty when it says nothing. Never raises."""
    text = text.strip()
    if _PLAIN_NUMBER.fullmatch(text):
        return text.rstrip(".")
    text = _unwrap(text)
    if not text.isascii():
        text = _plain_unicode(text)
    if "\\" in text or "$" in text or "~" in text:
        text = _plain_latex(text)
    if not _LETTERS_AND_DIGITS.issuperset(text):
        text = text.replace("...", "…").replace("**", "^").replace("{,}", ",")
        text = text.replace("<=", "≤").replace(">=", "≥").replace("!=", "≠")
        text = _TIMES_TEN.sub("×", text)
    text = " ".join(text.split())
    return text.rstrip(" .,;:") if text[-1:] in ".,;:" else text


def to_latex(canonical: str) -> str:
    """LaTeX for the parser of math-verify, from canonical text."""
    return "".join(_TO_LATEX.get(c, c) for c in canonical)


def matching_brace(text: str, start: int) -> int:
    r"""Index of the `}` that closes the `{` at `start`, or -1; `\{` and `\}` are not braces."""
    depth = 0
    position = start
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 1
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return position
        position += 1
    return -1


def _unwrap(text: str) -> str:
    """Take off delimiters around the whole: math mode, boxes, Markdown, quotation marks."""
    for _ in range(8):
        before = text
        text = text.strip()
        if text[:1] not in _WRAPPED:
            return text
        box = _BOX.match(text)
        if box and matching_brace(text, box.end() - 1) == len(text.rstrip(".$ ")) - 1:
            text = text.rstrip(".$ ")[box.end() : -1]
        if text.startswith("{") and matching_brace(text, 0) == len(text) - 1:
            text = text[1:-1]
        for wrapper in _WRAPPED.get(text[:1], ()):
            found = wrapper.fullmatch(text) or wrapper.fullmatch(text.rstrip(".,; "))
            if found:
                text = found["x"]
        if text == before:
            break
    return text.removeprefix("**").removesuffix("**").strip()


def _plain_unicode(text: str) -> str:
    text = text.translate(_UNICODE)
    text = _VULGAR.sub(_spell_fraction, text)
    text = _RAISED.sub(lambda m: f"^{{{''.join(_SUPERSCRIPTS[c] for c in m[0])}}}", text)
    text = _LOWERED.sub(lambda m: f"_{{{''.join(_SUBSCRIPTS[c] for c in m[0])}}}", text)
    text = _ROOT.sub(_spell_root, text)
    return "".join(_ascii_twin(c) for c in text) if not text.isascii() else text


def _spell_fraction(match: re.Match[str]) -> str:
    ratio = unicodedata.normalize("NFKC", match[2]).replace("⁄", "/")
    return f"{match[1]} {ratio}" if match[1] else ratio


def _spell_root(match: re.Match[str]) -> str:
    index = {"√": "", "∛": "[3]", "∜": "[4]"}[match[1]]
    return rf"\sqrt{index}{{{match[2]}}}" if match[2] else rf"\sqrt{index}"


def _ascii_twin(character: str) -> str:
    """The ASCII letter or digit that a fullwidth or mathematical one stands for."""
    if character < "\uff00" and not "\U0001d400" <= character <= "\U0001d7ff":
        return character
    twin = unicodedata.normalize("NFKC", character)
    return twin if twin.isascii() else character


def _plain_latex(text: str) -> str:
    if "$" in text:
        text = text.replace(r"\$", "﹩")  # a sign of money, not a delimiter
        text = _INLINE.sub(r"\1", text).replace("﹩", "$")
    if "\\" not in text:
        return text.replace("~", " ")
    if "matrix" in text or "array" in text:
        text = text.replace("\\\\", ROW_END)
    else:
        text = _DOUBLED.sub(r"\\", text)
    text = _NOTHING.sub("", _SIZES.sub("", text))
    text = _THIN.sub(" ", text).replace(r"\%", "%").replace(r"\#", "#")
    text = text.replace(r"\{", "⦃").replace(r"\}", "⦄")
    text = _FRACTION.sub(r"\\frac", _DEGREE.sub("°", text))
    text = _REALS.sub("ℝ", text)
    for _ in range(3):  # text within text
        changed = _TEXT.sub(r" \1 ", _MARKED.sub(_mark, text))
        if changed == text:
            break
        text = changed
    return _MACRO.sub(_spell_macro, text)


def _mark(match: re.Match[str]) -> str:
    macro, name = match[1], match[2] or match[3]
    name = {"imath": "i", "jmath": "j"}.get(name, name)
    if macro in ("mathbf", "bm", "boldsymbol") and len(name) > 1:
        return f" {name} "  # bold text
    mark = _MARKS.get(macro, VECTOR)
    if name in ("i", "j", "k") and mark == HAT:
        mark = VECTOR
    return f" {name}{mark} "


def _spell_macro(match: re.Match[str]) -> str:
    name = match[1]
    if name in _SYMBOL:
        return _SYMBOL[name]
    return " " if name in _SPACES else match[0]
