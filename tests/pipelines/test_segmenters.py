import re
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from stepmill.errors import UserError
from stepmill.pipelines.lines import line_cuts, marker_cuts, step_marker
from stepmill.pipelines.protected import protected_spans
from stepmill.pipelines.segmenters import (
    SEGMENTERS,
    BlankLineSettings,
    CutSettings,
    LineSettings,
    PluginSegmenterSettings,
    RegexSettings,
    SegmenterKind,
    SegmenterSettings,
    SentenceSettings,
    StepMarkerSettings,
    build_segmenter,
    steps_at,
)
from stepmill.pipelines.sentences import sentence_cuts

STABLE = [
    LineSettings(),
    LineSettings(min_chars=12),
    BlankLineSettings(),
    BlankLineSettings(max_steps=3),
    StepMarkerSettings(),
    StepMarkerSettings(numbered=True),
    SentenceSettings(),
    SentenceSettings(at_lines=False),
]
ALL = [
    *STABLE,
    RegexSettings(pattern=r"[.;] "),
    RegexSettings(pattern=r"\s"),
    RegexSettings(pattern=r"(?m)^\w", cut="before"),
    RegexSettings(pattern=r"(?=\w)", max_chars=20),
]

FRAGMENTS = [
    "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\u2028", "\u0085", "\x0b", "\x00", " ", "   ", "\t",
    "\u00a0", "\u200b", "$", "$$", "$x$", "$5", "$ 5 $", "$$x$$", "\\(", "\\)", "\\[", "\\]", "\\$",
    "\\\\", "\\", "\\begin{align*}", "\\end{align*}", "\\begin{asy}", "\\end{asy}", "[asy]",
    "[/asy]", "\\boxed{", "\\boxed{5}", "{", "}", "```", "```\n", "```python\n", "````\n", "~~~\n",
    "`", "`a. B`", "| a | b |\n", "|---|---|\n", "|", "3.14", "1,000", "e.g.", "Dr.", "...", "…",
    ".", ". ", "! ", "? ", "。", "。”", "A", "Then", "we have", "so", "5", "x", "Step 1:",
    "\nStep 2: ", "\n**Step 3:** ", "\n### Step 4\n", "\n2. ", "https://a.b/c?d=e.", "é",
    "漢", "🙂",
]  # fmt: skip

texts = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join),
    st.text(st.characters(codec="utf-8"), max_size=60),
)


def name_of(own: CutSettings) -> str:
    return repr(own)


def texts_of(text: str, own: SegmenterSettings) -> list[str]:
    return [step.text for step in build_segmenter(own)(text)]


@pytest.mark.parametrize("own", ALL, ids=name_of)
@settings(max_examples=200)
@given(text=texts)
@example(text="")
@example(text=" \n\n ")
@example(text="\n\n a\n\n\n\nb \n")
def test_steps_join_to_the_text_and_each_has_content(own, text):
    steps = build_segmenter(own)(text)
    assert "".join(step.text for step in steps) == text
    assert [step.index for step in steps] == list(range(len(steps)))
    assert [step.start for step in steps] == [0, *(step.end for step in steps)][: len(steps)]
    assert all(step.text == text[step.start : step.end] for step in steps)
    assert len(steps) == (text != "") or all(step.text.strip() for step in steps)


@pytest.mark.parametrize("own", ALL, ids=name_of)
@settings(max_examples=200)
@given(text=texts)
def test_no_cut_falls_inside_a_protected_span(own, text):
    cuts = [step.start for step in build_segmenter(own)(text)]
    assert not [
        (start, cut, end)
        for start, end in protected_spans(text)
        for cut in cuts
        if start < cut < end
    ]


@pytest.mark.parametrize("own", STABLE, ids=name_of)
@settings(max_examples=400)
@given(text=texts)
@example(text="```. 。````\n")
def test_a_prefix_that_ends_at_a_step_has_the_same_steps(own, text):
    segment = build_segmenter(own)
    steps = segment(text)
    for step in steps:
        assert segment(text[: step.end]) == steps[: step.index + 1]


@settings(max_examples=500)
@given(text=texts)
def test_protected_spans_are_disjoint_and_in_order(text):
    bounds = [offset for span in protected_spans(text) for offset in span]
    assert bounds == sorted(bounds)
    assert all(start < end for start, end in protected_spans(text))


def test_a_pattern_that_looks_ahead_may_break_the_promise_about_prefixes():
    segment = build_segmenter(RegexSettings(pattern=r"\n(?=.*\Z)"))
    text = "a\nb\nc"
    assert [s.text for s in segment(text)] == ["a\nb\n", "c"]
    assert [s.text for s in segment("a\nb\n")] == ["a\nb\n"]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a\nb", ["a\n", "b"]),
        ("a\n\n\nb\n", ["a\n\n\n", "b\n"]),
        ("\n\n  a\nb", ["\n\n  a\n", "b"]),
        ("a\r\n\r\nb\rc", ["a\r\n\r\n", "b\r", "c"]),
        ("a\n    b = 1\nc", ["a\n", "    b = 1\n", "c"]),
        ("a\n  \n\t\nb", ["a\n  \n\t\n", "b"]),
        ("a\u2028b\u0085c\x0bd\ne", ["a\u2028b\u0085c\x0bd\n", "e"]),
        ("a\n\u200b\nb", ["a\n", "\u200b\n", "b"]),
        (" \n ", [" \n "]),
        ("", []),
    ],
)
def test_line_kind_cuts_behind_line_breaks(text, steps):
    assert texts_of(text, LineSettings()) == steps


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a\nb\n\nc", ["a\nb\n\n", "c"]),
        ("a\r\nb\r\n\r\nc", ["a\r\nb\r\n\r\n", "c"]),
        ("a\n \t\n\n  c", ["a\n \t\n\n", "  c"]),
        ("a\n\u2028\nb", ["a\n\u2028\n", "b"]),
        ("a\n\n", ["a\n\n"]),
    ],
)
def test_blank_line_kind_cuts_between_paragraphs(text, steps):
    assert texts_of(text, BlankLineSettings()) == steps


@pytest.mark.parametrize(
    "marker",
    [
        "Step 2: ", "STEP 2. ", "step 2) ", "Step 2 - ", "Step 2\n", "**Step 2:** ", "**Step 2** ",
        "### Step 2\n", "## **Step 2: sum**\n", "  Step 2:", "- Step 2: ", "Step 2：", "Step 2.1: ",
    ],
)  # fmt: skip
def test_step_marker_begins_a_step(marker):
    text = f"Let us see.\nStep 1: add.\n{marker}take away."
    assert texts_of(text, StepMarkerSettings()) == [
        "Let us see.\n",
        "Step 1: add.\n",
        f"{marker}take away.",
    ]


@pytest.mark.parametrize(
    "words",
    ["Step 2 is wrong.", "so by Step 2: no.", "Steps 2: no.", "Stepping 2: no.", "2. Take away."],
)
def test_other_words_begin_no_step(words):
    text = f"Step 1: add.\n{words}\n"
    assert texts_of(text, StepMarkerSettings()) == [text]


def test_step_marker_takes_other_words_and_list_numbers():
    text = "1. Add: 2.\n2) Then 3.5 is\n3.5 of it.\nEtappe 3: end."
    assert texts_of(text, StepMarkerSettings(words=("Etappe",), numbered=True)) == [
        "1. Add: 2.\n",
        "2) Then 3.5 is\n3.5 of it.\n",
        "Etappe 3: end.",
    ]


@pytest.mark.parametrize(
    "sentences",
    [
        ["She eats 3 eggs. ", "She sells 9 eggs for $2 each. ", "So she makes 9 * 2 = $18."],
        ["The price is $3.50. ", "With tax it is $4.20! ", "Is it? ", "Yes."],
        ["We have $r = 3.$  ", "Also $x = 2$.\n", "Done."],
        ["So \\(a = 1.\\) ", "Then \\[ b = 2. \\] ", "And c."],
        ["Let O be the centre of circle C. ", "Then $OA = OB.$"],
        ["By Eq. 3 and Fig. 2, e.g. Ann's (cf. Thm. 1), Dr. Lee and Mr. Ray agree. ", "We go on."],
        ["It starts at 5 p.m. ", "The U.S. Open vs. Wimbledon."],
        ["The answer is no. ", "So 5! = 120 and n! (n+1) = (n+1)!. ", "Next."],
        ["1. First add. ", "It is 5.\n", "2. Then stop.\n", "**3.** Rest. ", "End."],
        ["**Step 1.** Add 5 and 6. ", "Step 2. Stop."],
        ["A. The truck is old. ", "B. The van."],
        ["So 1, 2, 3, ... 9 are left... Then 10. ", "Wait… What? ", "Yes."],
        ['He said "stop." ', "(It was late.) ", "**So it ended.** ", "Good."],
        ["See https://a.org/b.c?d=1. ", "Then `x. Y` is code."],
        ["First line\n", "second line\n\n", "- item"],
        ["因此共有三个。", "然后是“五。”", "So 5. ", "好！ ", "完"],
        ["So we have\n\\[ x = 5. \\]\n", "Then\n$$y$$\n", "is it."],
        ["Then x = 5. y = 6 and so on."],
        ["His version is 3.11.7. ", "It costs 1,000.50 dollars."],
        ["The names are J. R. Smith and O. ", "Then B."],
    ],
)
def test_sentence_kind_cuts_where_a_reader_would(sentences):
    assert texts_of("".join(sentences), SentenceSettings()) == sentences


def test_sentence_kind_reads_over_wrapped_lines_when_told():
    text = "She has 3 eggs and\nbuys 4 more.\nSo she has 7.\n\nanswer: 7"
    assert texts_of(text, SentenceSettings(at_lines=False)) == [
        "She has 3 eggs and\nbuys 4 more.\n",
        "So she has 7.\n\n",
        "answer: 7",
    ]


WHOLE = [
    "$a +\nb$",
    "$ a + b. C $",
    "$$\na = b\n$$",
    "$$\na = b\n\nc = d\n$$",
    "$$ Total. Cost = 5 \\text{ if it is so. Then} $$",
    "\\(a.\nB\\)",
    "\\[\na = b. C\n\nd = e\n\\]",
    "\\begin{align*}\na &= b \\\\[2pt]\n\n\\begin{align*}c\\end{align*}\n&= d. E\n\\end{align*}",
    "\\begin{asy}\ndraw(a);\n\n// A. B\n\\end{asy}",
    '[asy]\nlabel("$A$", a);\n\nlabel("$B", b);\n[/asy]',
    "\\boxed{\\frac{1}{2}. A\n\n\\text{or} \\{ 3 \\}}",
    "\\fbox{so. A}",
    "```python\na = 1\n\n$x = '```'\n```",
    "````\n```\na. B\n\n```\n````",
    "~~~\n```\n\na\n~~~",
    "  ```\n  a\n\n  b\n  ```",
    "| a | b |\n|---|:-:|\n| 1. A | $2 |\n| 3 | 4 |",
    "a | b\n--- | ---\n1 | 2",
    "`a. B`",
    "``a. B``",
    "https://a.b/c.d",
]


@pytest.mark.parametrize("whole", WHOLE)
@pytest.mark.parametrize("pattern", [r"[\s\S]", r"[.\n]\s*"], ids=["anywhere", "at signs"])
def test_what_belongs_together_is_never_cut(whole, pattern):
    text = f"Before it.\n\n{whole}\n\nBehind it. End"
    steps = build_segmenter(RegexSettings(pattern=pattern))(text)
    inside = range(text.index(whole) + 1, text.index(whole) + len(whole))
    assert not [step.start for step in steps if step.start in inside]


@pytest.mark.parametrize("whole", [w for w in WHOLE if "\n" in w])
def test_what_belongs_together_leaves_its_neighbours_alone(whole):
    text = f"Before it.\n\n{whole}\n\nBehind it."
    assert texts_of(text, LineSettings()) == ["Before it.\n\n", f"{whole}\n\n", "Behind it."]


@pytest.mark.parametrize(
    "number", ["3.14", "1,000.50", "12:30", "e.g.", "...", "…", "U.S.", "\\$", "\\\\"]
)
def test_numbers_and_short_forms_are_whole(number):
    if number.startswith("\\"):
        assert protected_spans(f"a {number} b") == []
    else:
        assert protected_spans(f"a {number} b") == [(2, 2 + len(number))]


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 today.\nThen it costs $6.\n",
        "He pays 5$ now.\nShe pays (6$).\n",
        "From $20-$10 = $10 we get\n$10 more.\n",
        "9 * 2 = $<<9*2=18>>18 a day.\nAnd $<<3*5=15>>15 more.\n",
        "A sum of $5 and a set $x$ are here.\nSo $y$ is $6.\n",
        "She paid $ 5 for it.\nHe paid $ 6 for it.\n",
        "An open $x = 5 is left.\nThen we see that $y$ is 6.\n",
        "Only one $ here\nand one $ there.\n",
        "An open \\( here.\nAnd \\(x\\) there.\n",
        "An open \\[ here.\nAnd \\[x\\] there.\n",
        "A closing \\) and \\] and }\nand \\end{a} here.\n",
        "An open \\begin{align} here.\nAnd \\begin{cases} x \\end{cases}.\n",
        "An open \\boxed{5 here.\nAnd \\boxed{6}.\n",
        "An open [asy] here.\nAnd [asy] x [/asy].\n",
        "An open ` here.\nAnd ` there.\n",
        "Price: $5 | $6\nand | there.\n",
        "A rule\n---\nand |x| + |y|\n",
    ],
)
def test_what_is_never_closed_and_money_swallow_no_line(text):
    lines = [line for line in re.findall(r".*\n", text)]
    assert texts_of(text, LineSettings()) == lines


def test_a_missing_display_sign_does_not_turn_the_text_inside_out():
    text = "So $$x = 1\n\nThen we have\n\n$$\ny = 2\n$$\n\nIt ends."
    assert texts_of(text, BlankLineSettings()) == [
        "So $$x = 1\n\n",
        "Then we have\n\n",
        "$$\ny = 2\n$$\n\n",
        "It ends.",
    ]
    assert texts_of(text, LineSettings())[2] == "$$\ny = 2\n$$\n\n"


def test_a_fence_that_is_never_closed_holds_its_paragraph_only():
    text = "So:\n```python\na = 1\nb = 2\n\nThe sum is 3.\nIt ends."
    assert texts_of(text, LineSettings()) == [
        "So:\n",
        "```python\na = 1\nb = 2\n\n",
        "The sum is 3.\n",
        "It ends.",
    ]


def test_a_line_that_begins_with_inline_code_is_no_fence():
    text = "```x``` is code.\nSo is `y`.\n\n```\nz\n\n```\n"
    assert texts_of(text, LineSettings()) == [
        "```x``` is code.\n",
        "So is `y`.\n\n",
        "```\nz\n\n```\n",
    ]


def test_neighbouring_inline_maths_is_read_as_two():
    assert protected_spans("$a$$b. C$ and $c$") == [(0, 3), (3, 9), (14, 17)]


def test_a_worked_solution_is_cut_into_its_lines():
    text = (
        "We solve for the price.\n\n"
        "\\begin{align*}\n3p + e &= 124, \\\\\n5p + e &= 182.\n\\end{align*}\n\n"
        "Taking one from the other gives $2p = 58$, so $p = 29$.\n"
        "```python\nprint(58 / 2)\n```\n"
        "The pencil costs $\\boxed{29}$ cents.\n"
    )
    assert texts_of(text, LineSettings()) == [
        "We solve for the price.\n\n",
        "\\begin{align*}\n3p + e &= 124, \\\\\n5p + e &= 182.\n\\end{align*}\n\n",
        "Taking one from the other gives $2p = 58$, so $p = 29$.\n",
        "```python\nprint(58 / 2)\n```\n",
        "The pencil costs $\\boxed{29}$ cents.\n",
    ]


def test_short_steps_join_the_next_one():
    text = "So\nwe add 3 and 4.\nIt is 7.\nOk"
    assert texts_of(text, LineSettings(min_chars=9)) == [
        "So\nwe add 3 and 4.\n",
        "It is 7.\n",
        "Ok",
    ]


def test_the_last_of_the_allowed_steps_holds_the_rest():
    assert texts_of("a\nb\nc\nd", LineSettings(max_steps=3)) == ["a\n", "b\n", "c\nd"]
    assert texts_of("a\nb\nc\nd", LineSettings(max_steps=1)) == ["a\nb\nc\nd"]


def test_a_pattern_cuts_behind_or_before_its_matches():
    text = "<s>a</s><s>b</s> end"
    assert texts_of(text, RegexSettings(pattern="</s>")) == ["<s>a</s>", "<s>b</s>", " end"]
    assert texts_of(text, RegexSettings(pattern="<s>", cut="before")) == [
        "<s>a</s>",
        "<s>b</s> end",
    ]


def test_a_pattern_is_tried_on_a_bounded_part_of_the_text():
    assert texts_of("a;b;c;d", RegexSettings(pattern=";", max_chars=4)) == ["a;", "b;", "c;d"]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a", "not a regular expression"),
        ("a{99999999999}", "not a regular expression"),
        ("x*", "empty text"),
        ("", "at least 1 character"),
        ("a" * 501, "at most 500 characters"),
        ("(a+)*b", "repeats a repeat"),
        (r"((\d{2,})x?)+y", "repeats a repeat"),
        ("(?:a|b*c){3}d", "repeats a repeat"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_the_reason(pattern, reason):
    with pytest.raises(ValidationError, match=reason):
        RegexSettings(pattern=pattern)


@pytest.mark.parametrize("pattern", [r"(\d{4})+", r"[(a+)*]+", r"\(a+\)*b", "(a+)?b", "(?=a+)b*c"])
def test_a_pattern_without_a_repeat_in_a_repeat_is_taken(pattern):
    assert RegexSettings(pattern=pattern).pattern == pattern


def test_settings_are_chosen_by_kind():
    adapter: TypeAdapter[SegmenterSettings] = TypeAdapter(SegmenterSettings)
    assert adapter.validate_python({"kind": "line", "min_chars": 3}) == LineSettings(min_chars=3)
    assert {"sentence", "regex"} <= set(SEGMENTERS)
    with pytest.raises(UserError, match="Did you mean 'sentence'"):
        adapter.validate_python({"kind": "sentense"})
    with pytest.raises(ValidationError, match="needs `kind`, one of: blank-line, line"):
        adapter.validate_python({})


def test_a_plug_in_brings_a_segmenter_with_settings_of_its_own(monkeypatch):
    class HalvesSettings(CutSettings):
        kind: str = "halves"
        at: float = 0.5

    def build(own: HalvesSettings):
        return lambda text: steps_at(text, [int(len(text) * own.at)])

    monkeypatch.setitem(SEGMENTERS._items, "halves", SegmenterKind(HalvesSettings, build))
    adapter: TypeAdapter[SegmenterSettings] = TypeAdapter(SegmenterSettings)
    own = adapter.validate_python({"kind": "halves", "at": 0.25})
    assert isinstance(own, PluginSegmenterSettings)
    assert own.model_dump() == {"kind": "halves", "at": 0.25}
    assert texts_of("abcd", own) == ["a", "bcd"]
    with pytest.raises(ValidationError, match="unknown key att"):
        adapter.validate_python({"kind": "halves", "att": 0.25})


HOSTILE = [
    ".", "7", "a", "`", "$", "$ ", "$a b c ", "$$\n\nx ", "\\begin{a} ", "\\end{a}", "{", "}",
    "\\boxed{", "\\( ", "\\[ \n\n", "[asy] ", "```a\n", "````a\n```\n", "~~~\n```\n\n", "|", "|a\n",
    "|a\n|-|\n", " ", "\n", "\r\n", " \n", "A. ", "。", ".)", "Step 1:\n", "a.", "1.", "$5 ", "aa ",
]  # fmt: skip


class Lines:
    """Counts executed lines of Python, which do not depend on the speed of the machine."""

    def __init__(self):
        self.count = 0

    def trace(self, _frame, event, _arg):
        self.count += event == "line"
        return self.trace

    def run(self, function, text):
        self.count, before = 0, sys.gettrace()
        sys.settrace(self.trace)
        try:
            function(text)
        finally:
            sys.settrace(before)
        return self.count


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("own", [LineSettings(), SentenceSettings()], ids=["line", "sentence"])
def test_twice_the_text_takes_twice_the_work(own, unit):
    segment, lines = build_segmenter(own), Lines()
    once = lines.run(segment, unit * 300)
    twice = lines.run(segment, unit * 600)
    assert twice <= 2.2 * once + 200


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_megabyte_of_hostile_text_ends(unit):
    """With one quadratic regular expression this would take hours, and hit the suite's limit."""
    text = (unit * (1_000_000 // len(unit) + 1))[:1_000_000]
    protected_spans(text)
    marker = step_marker(["Step"], numbered=True)
    for cuts in (
        line_cuts(text, 1),
        sentence_cuts(text, at_lines=False),
        marker_cuts(text, marker),
    ):
        assert all(0 <= cut <= len(text) for cut in cuts)
