"""Step arithmetic: every claim in a solution that exact rational arithmetic can decide.

A step is incorrect only if a claim in it is false. A true claim proves nothing of its step, which
is then unknown with the reason `arithmetic-ok`; a step without a claim is unknown too. No text of a
model is evaluated by Python or sympy, and all work is bounded by the length of the text.
"""

from collections.abc import Sequence

from stepmill.verifiers.arithmetic_claims import VERIFIER, VERSION, StepReader
from stepmill.verifiers.claims import StepFindings, judge_step


def check_steps(question: str, steps: Sequence[str]) -> list[StepFindings]:
    """Findings on each step of a solution, in order.

    Names and their values are carried from step to step.

    Args:
        question: the problem's text; it may be empty.
        steps: the texts of the steps.

    Returns:
        As many items as steps, none of them `correct`. An item whose verdict is `incorrect` has
        the false claims among its findings.
    """
    reader = StepReader(question)
    followed = zip(steps, [*steps[1:], ""], strict=True)
    return [
        judge_step(i, VERIFIER, VERSION, reader.read(text, following), all_true="arithmetic-ok")
        for i, (text, following) in enumerate(followed)
    ]
