import json

import pytest

from stepmill.records import Verdict
from stepmill.verifiers.claims import Finding, first_incorrect, judge_step


def finding(verdict, reason="exact"):
    return Finding("algebra", "3", verdict, "2 = 2", 4, 9, "2", "2", reason, {"at": {"x": "1/2"}})


def judged(*verdicts, entails=False):
    findings = [finding(verdict, f"because-{verdict}") for verdict in verdicts]
    return judge_step(7, "algebra", "3", findings, all_true="algebra-ok", entails=entails)


@pytest.mark.parametrize(
    ("verdicts", "entails", "verdict", "reason"),
    [
        ((), False, "unknown", "no-claim"),
        (("correct",), False, "unknown", "algebra-ok"),
        (("correct", "incorrect"), False, "incorrect", "because-incorrect"),
        (("unknown", "correct"), False, "unknown", "algebra-ok"),
        (("unknown",), True, "unknown", "because-unknown"),
        (("correct", "correct"), True, "correct", "algebra-ok"),
        (("correct", "unknown"), True, "unknown", "algebra-ok"),
        (("correct", "incorrect"), True, "incorrect", "because-incorrect"),
    ],
)
def test_a_step_is_judged_by_its_worst_claim_and_proved_only_by_entailment(
    verdicts, entails, verdict, reason
):
    step = judged(*(Verdict(v) for v in verdicts), entails=entails)
    assert (step.verdict, step.reason) == (verdict, reason)


def test_evidence_keeps_every_finding_as_json():
    evidence = judged(Verdict.INCORRECT).to_evidence("s1")
    assert (evidence.solution_id, evidence.step) == ("s1", 7)
    assert (evidence.channel, evidence.policy) == ("verifier:algebra", "algebra/3")
    assert evidence.verdict is Verdict.INCORRECT
    assert json.loads(evidence.detail) == {
        "reason": "because-incorrect",
        "findings": [
            {
                "verifier": "algebra",
                "version": "3",
                "verdict": "incorrect",
                "claim": "2 = 2",
                "start": 4,
                "end": 9,
                "lhs": "2",
                "rhs": "2",
                "reason": "because-incorrect",
                "detail": {"at": {"x": "1/2"}},
            }
        ],
    }


def test_the_first_incorrect_step_is_named_by_its_own_index():
    assert first_incorrect([judged(Verdict.CORRECT), judged(Verdict.INCORRECT)]) == 7
    assert first_incorrect([judged(Verdict.UNKNOWN)]) is None
