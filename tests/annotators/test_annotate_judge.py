"""A problem with a judge: who is judged, and what the judge's word saves. A letter is a step."""

import asyncio
from dataclasses import dataclass, field

from tests.annotators.conftest import PROBLEM, ScriptedSampler, letters

from stepmill.annotators.annotate import AnnotatedProblem, Annotator, SolutionSettings
from stepmill.annotators.annotate import StepSearchSettings as Steps
from stepmill.annotators.judge import Judge, JudgeSettings
from stepmill.annotators.judge_prompt import load_prompt
from stepmill.annotators.omegaprm import OmegaPRMSettings
from stepmill.annotators.rollouts import Rollout
from stepmill.engines.base import Prefix
from stepmill.records import Completion, Outcome, Problem, Verdict

DRAWN = {"": ["+ az", "- aby", "- acy"], "a": "++", "ab": "--", "ac": "--"}
CLEAN = "Paragraph 0: correct\nParagraph 1: correct\nParagraph 2: correct\n\\boxed{-1}"
SECOND = "Paragraph 0: correct\nParagraph 1: wrong\n\\boxed{1}"


@dataclass
class JudgeOfLetters:
    """Finds the letter c wrong, and nothing else, so that its verdicts are known."""

    policy: str = "judge"
    asked: list[str] = field(default_factory=list)

    async def rollouts(self, problem: Problem, prefix: Prefix, n: int) -> list[Rollout]:
        self.asked.append(prefix.question)
        text = SECOND if "\nc\n" in prefix.question else CLEAN
        return [Rollout(Completion(text, "stop", 5, i), Outcome(Verdict.UNKNOWN)) for i in range(n)]


def annotated(search=None, **settings) -> tuple[AnnotatedProblem, ScriptedSampler]:
    solver = ScriptedSampler(DRAWN)
    annotator = Annotator(
        solver=solver,
        completer=solver,
        segment=letters,
        checker="letters 1",
        solutions=SolutionSettings(n=3),
        search=search or Steps(method="every-step", k=2),
        judge=Judge(
            JudgeOfLetters(), JudgeSettings(votes=1, **settings), load_prompt("first-error-1")
        ),
    )
    return asyncio.run(annotator.annotate(PROBLEM)), solver


def verdicts(found: AnnotatedProblem) -> dict[str, Verdict | None]:
    texts = {s.id: s.text for s in found.solutions}
    return {texts[e.solution_id]: e.verdict for e in found.evidence if e.channel == "judge"}


def searched(found: AnnotatedProblem) -> set[str]:
    texts = {s.id: s.text for s in found.solutions}
    rows = [e for e in found.evidence if e.channel == "rollouts" and e.step != -1]
    return {texts[e.solution_id] for e in rows}


def test_every_solution_is_judged_whatever_its_outcome():
    found, _ = annotated()
    assert set(verdicts(found)) == {"az", "aby", "acy"}
    assert verdicts(found)["acy"] is Verdict.INCORRECT
    assert verdicts(found)["aby"] is Verdict.CORRECT
    assert searched(found) == {"aby", "acy"}
    assert found.spared == 0


def test_a_judge_that_is_asked_first_spares_what_cannot_agree():
    found, solver = annotated(first=True)
    assert searched(found) == {"acy"}
    assert found.spared == 1
    assert "ab" not in solver.prefixes
    assert len(found.solutions) == 3  # nothing is left out of the data set for it


def test_right_solutions_are_not_spared():
    found, _ = annotated(Steps(method="every-step", k=2, annotate="all"), first=True)
    assert searched(found) == {"az", "acy"}


def test_the_solutions_of_a_tree_are_judged_too():
    found, _ = annotated(OmegaPRMSettings(k=2, searches=1))
    assert set(verdicts(found)) == {s.text for s in found.solutions}


def test_a_method_that_probes_nothing_spends_nothing():
    found, solver = annotated(Steps(method="none"))
    assert solver.prefixes == [""]
    assert len(verdicts(found)) == 3
