"""What a step verifier says: a finding per claim, and what the findings together say of the step.

Shared by every verifier of steps (arithmetic, algebra, Python, Z3, proof assistants). A finding
speaks of one claim only. That a claim is true says nothing about the rest of its step, so the
verdict on a step is made by `judge_step`, and a step becomes evidence as a whole.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stepmill.records import Evidence, Verdict

JsonValue = str | int | float | bool | None | Sequence["JsonValue"] | Mapping[str, "JsonValue"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one claim inside a step."""

    verifier: str
    """Name of the checker, such as `arithmetic`."""
    version: str
    verdict: Verdict
    """On the claim alone: a `correct` claim does not make its step correct."""
    claim: str
    """The claim as it stands in the step: `step.text[start:end]`."""
    start: int
    """Half-open character span [start, end) within the step's text."""
    end: int
    lhs: str | None
    """What the left side comes to, exactly (`27/2`); None where the claim has no sides or the
    side has no value."""
    rhs: str | None
    reason: str
    """What decided, or why nothing did; never empty: `exact`, `mismatch`, `time-out`, …"""
    detail: Mapping[str, JsonValue] = field(default_factory=dict)
    """Anything else that shows the verdict is right: values used, a counter-model, a core."""

    def as_dict(self) -> dict[str, JsonValue]:
        """Plain JSON values, without the empty ones."""
        shown: dict[str, JsonValue] = {
            "verifier": self.verifier,
            "version": self.version,
            "verdict": self.verdict.value,
            "claim": self.claim,
            "start": self.start,
            "end": self.end,
            "reason": self.reason,
        }
        if self.lhs is not None:
            shown["lhs"] = self.lhs
        if self.rhs is not None:
            shown["rhs"] = self.rhs
        if self.detail:
            shown["detail"] = dict(self.detail)
        return shown


@dataclass(frozen=True, slots=True)
class StepFindings:
    """What one verifier says of one step, and the findings it rests on."""

    step: int
    """Index of the step in its solution, from 0."""
    verifier: str
    version: str
    verdict: Verdict
    """On the step as a whole."""
    reason: str
    findings: tuple[Finding, ...] = ()

    def as_dict(self) -> dict[str, JsonValue]:
        """Plain JSON values."""
        return {
            "step": self.step,
            "verifier": self.verifier,
            "version": self.version,
            "verdict": self.verdict.value,
            "reason": self.reason,
            "findings": [finding.as_dict() for finding in self.findings],
        }

    def to_evidence(self, solution_id: str) -> Evidence:
        """The record that a run stores, in the channel `verifier:<name>`."""
        detail = {
            "reason": self.reason,
            "findings": [finding.as_dict() for finding in self.findings],
        }
        return Evidence(
            solution_id=solution_id,
            step=self.step,
            channel=f"verifier:{self.verifier}",
            policy=f"{self.verifier}/{self.version}",
            verdict=self.verdict,
            detail=json.dumps(detail, ensure_ascii=False, separators=(",", ":")),
        )


def judge_step(
    step: int,
    verifier: str,
    version: str,
    findings: Sequence[Finding],
    *,
    all_true: str,
    entails: bool = False,
) -> StepFindings:
    """The verdict on a step from the findings in it.

    One false claim makes the step incorrect. Without one, the step is unknown, unless the verifier
    shows that the whole step follows (`entails`) and every claim is true.

    Args:
        step: index of the step, from 0.
        verifier: name of the verifier, for a step without findings too.
        version: its version.
        findings: all findings in the step, in their order.
        all_true: reason to give when some claim is true and none is false (`arithmetic-ok`).
        entails: whether true claims prove the step; only proofs, entailment and tests do.
    """
    verdicts = {finding.verdict for finding in findings}
    if Verdict.INCORRECT in verdicts:
        verdict = Verdict.INCORRECT
        reason = next(f.reason for f in findings if f.verdict is Verdict.INCORRECT)
    elif Verdict.CORRECT in verdicts:
        proved = entails and Verdict.UNKNOWN not in verdicts
        verdict, reason = (Verdict.CORRECT if proved else Verdict.UNKNOWN), all_true
    else:
        verdict = Verdict.UNKNOWN
        reason = findings[0].reason if findings else "no-claim"
    return StepFindings(step, verifier, version, verdict, reason, tuple(findings))


def first_incorrect(steps: Sequence[StepFindings]) -> int | None:
    """Index of the first step that is proved wrong; None when no step is."""
    return next((s.step for s in steps if s.verdict is Verdict.INCORRECT), None)
