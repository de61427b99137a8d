"""Problems out of whole texts: prose in controlled English, FLD proofs, constraint programs."""

import re
from collections.abc import Sequence

from stepmill.verifiers.logic.english import parse_english
from stepmill.verifiers.logic.problems import Claim, LogicProblem, LogicStep, Premise
from stepmill.verifiers.logic.puzzles import PuzzleProgram
from stepmill.verifiers.logic.reading import ParseError, check_length
from stepmill.verifiers.logic.writing import to_fol

_SENTENCE = re.compile(r"[^\s.!?\n][^.!?\n]*[.!?]?")
_ASKS = re.compile(r"\?|^\s*(?:true or false|prove|query|question|options|hypothesis)\b", re.I)
"""Where a question begins: what stands there, and after it, is asked and not given."""
_FACT = re.compile(r"(fact\d+)\s*:\s*")
_PROOF_STEP = re.compile(
    r"(?P<cites>[^:;>]*?)\s*->\s*(?P<label>int\d+|assump\d+|hypothesis)\s*(?::(?P<formula>.*))?",
    re.S,
)
_CITED = re.compile(r"\[?(\w+)\]?")


def english_problem(
    question: str, steps: Sequence[str], *, closed_world: bool = False
) -> LogicProblem:
    """A question in controlled English, and steps that may rest on all that it states.

    Sentences from the first question on are what is asked, and are no premises. If a sentence of
    the question cannot be read, the premises are incomplete and no step is called `not-entailed`.
    Each sentence of a step is a claim.
    """
    asked = len(question)
    for sentence in _SENTENCE.finditer(question):
        if _ASKS.search(sentence.group()):
            asked = sentence.start()
            break
    given = [sentence.group().strip() for sentence in _SENTENCE.finditer(question[:asked])]
    read = [sentence for sentence in given if _is_read(sentence)]
    return LogicProblem(
        notation="english",
        premises=tuple(Premise(f"sentence{i + 1}", text) for i, text in enumerate(read)),
        steps=tuple(LogicStep(_claims(text)) for text in steps),
        closed_world=closed_world,
        complete=len(read) == len(given),
    )


def fld_problem(facts: str, proof: str, hypothesis: str = "") -> LogicProblem:
    """The facts and the proof of an FLD example.

    Args:
        facts: `fact1: … fact2: …`.
        proof: steps such as `fact3 & int1 -> int2: {B}{a}`, each ended by `;` or a line's end.
        hypothesis: what a last step `int5 -> hypothesis` claims.

    Raises:
        ParseError: a step of the proof has another form.
    """
    labels = list(_FACT.finditer(facts))
    ends = [label.start() for label in labels[1:]] + [len(facts)]
    premises = tuple(
        Premise(label[1], facts[label.end() : end].strip())
        for label, end in zip(labels, ends, strict=True)
    )
    lines = [line for line in re.split(r"[;\n]", proof) if line.strip()]
    steps = tuple(_proof_step(line.strip(), hypothesis) for line in lines)
    return LogicProblem(notation="fld", premises=premises, steps=steps)


def program_problem(program: PuzzleProgram) -> LogicProblem:
    """A constraint program; its steps are the claims of the query, in order.

    The ranges of the variables are premises too, labelled `range1`, …; constraints are
    `constraint1`, ….
    """
    ranges = [Premise(f"range{i + 1}", to_fol(f)) for i, f in enumerate(program.ranges())]
    stated = [Premise(f"constraint{i + 1}", c.text) for i, c in enumerate(program.constraints)]
    return LogicProblem(
        notation="puzzle",
        premises=(*ranges, *stated),
        steps=tuple(
            LogicStep((Claim(claim.text),), label=letter)
            for letter, claim in program.options.items()
        ),
        integers=tuple(program.variables),
    )


def _is_read(sentence: str) -> bool:
    try:
        parse_english(sentence)
    except ParseError:
        return False
    return True


def _claims(text: str) -> tuple[Claim, ...]:
    return tuple(
        Claim(sentence.group().rstrip(), sentence.start()) for sentence in _SENTENCE.finditer(text)
    )


def _proof_step(line: str, hypothesis: str) -> LogicStep:
    check_length(line)
    match = _PROOF_STEP.fullmatch(line)
    if match is None:
        raise ParseError(f"{line!r} is not `premises -> label: formula`")
    formula = (match["formula"] or hypothesis).strip()
    cited = [name.strip() for name in match["cites"].split("&")]
    return LogicStep(
        claims=(Claim(formula, max(line.rfind(formula), 0)),),
        cites=tuple(_CITED.sub(r"\1", name) for name in cited if name and name != "void"),
        label=match["label"],
        # a step that discharges an assumption does not follow from what it cites alone
        assumes=match["label"].startswith("assump") or any("[" in name for name in cited),
    )
