"""What holds for every label rule and all evidence."""

import random
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from pydantic import TypeAdapter, ValidationError
from tests.pipelines.conftest import counts, frames, make_problem, make_solution

from stepmill.pipelines.labels import LABEL_RULES, HardRule, LabelSettings, SoftRule, label
from stepmill.records import Verdict

COMMON = [
    {"after_error": after_error, "monotone": monotone}
    for after_error in ("mask", "zero", "measured")
    for monotone in ("none", "repair")
]
RULES = [SoftRule.model_validate(common) for common in COMMON] + [
    HardRule.model_validate({**common, "alive": {"by": by}})
    for common in COMMON
    for by in ("any", "fraction", "relative")
]
rules = st.sampled_from(RULES)


@st.composite
def gathered(draw):
    """Solutions of any outcome with counts at any of their prefixes."""
    solutions, evidence = [], []
    for i in range(draw(st.integers(0, 3))):
        n_steps = draw(st.integers(0, 6))
        solution = make_solution(
            make_problem(str(i)), ["step\n"] * n_steps, draw(st.sampled_from(Verdict))
        )
        solutions.append(solution)
        for step in draw(st.sets(st.integers(-1, n_steps - 1))):
            k = draw(st.integers(0, 8))
            (row,) = counts(solution, {step: (draw(st.integers(0, k)), k)})
            stop = draw(st.sampled_from(["fixed", "success", "hopeless", "too-few-known"]))
            truncated = draw(st.integers(0, 2))
            evidence.append(replace(row, stop_reason=stop, n_truncated=truncated))
    return solutions, evidence


@given(gathered(), rules)
def test_there_are_as_many_labels_as_steps_in_their_order(found, rule):
    solutions, evidence = found
    labels = label(*frames(solutions, evidence), rule)
    expected = [(s.id, step.index) for s in solutions for step in s.steps]
    assert labels.steps.select("solution_id", "step").rows() == expected
    assert labels.solutions["solution_id"].to_list() == [s.id for s in solutions]


@given(gathered(), rules, st.randoms(use_true_random=False))
def test_the_order_of_the_evidence_makes_no_difference(found, rule, chance: random.Random):
    solutions, evidence = found
    shuffled = chance.sample(evidence, len(evidence))
    labels = label(*frames(solutions, evidence), rule)
    again = label(*frames(solutions, shuffled), rule)
    assert_frame_equal(labels.steps, again.steps)
    assert_frame_equal(labels.solutions, again.solutions)


@given(gathered(), rules)
def test_a_step_has_either_a_label_with_a_source_or_a_reason(found, rule):
    steps = label(*frames(*found), rule).steps
    for hard, soft, source, reason in steps.select("hard", "soft", "source", "reason").rows():
        assert (hard is None) == (rule.rule == "soft" or reason != "")
        assert (soft is None) == (rule.rule == "hard" or reason != "")
        assert bool(source) != bool(reason)


@given(gathered(), rules)
def test_labels_and_confidence_keep_their_ranges(found, rule):
    labels = label(*frames(*found), rule)
    assert set(labels.steps["hard"].drop_nulls()) <= {0, 1}
    for column in ("soft", "confidence"):
        assert labels.steps[column].drop_nulls().is_between(0, 1).all()
    assert labels.steps["kind"].n_unique() <= 1


@given(gathered(), rules.filter(lambda r: r.monotone == "none" and r.after_error != "zero"))
def test_what_is_unknown_never_becomes_a_label(found, rule):
    solutions, evidence = found
    in_vain = {(e.solution_id, e.step) for e in evidence if not e.k and e.n_truncated}
    last = {(s.id, len(s.steps) - 1): s.outcome.verdict for s in solutions}
    for row in label(*frames(solutions, evidence), rule).steps.rows(named=True):
        key = row["solution_id"], row["step"]
        if last.get(key, Verdict.UNKNOWN if key in in_vain else None) is Verdict.UNKNOWN:
            assert row["source"] == ""
            assert row["reason"] != ""


@given(gathered(), rules.filter(lambda r: r.rule == "hard"))
def test_the_first_error_is_the_first_bad_step_after_good_ones_only(found, rule):
    labels = label(*frames(*found), rule)
    for solution_id, first_error in labels.solutions.select("solution_id", "first_error").rows():
        hard = labels.steps.filter(pl.col("solution_id") == solution_id)["hard"].to_list()
        bad = hard.index(0) if 0 in hard else len(hard)
        known = hard and all(value == 1 for value in hard[:bad])
        assert first_error == ((bad if bad < len(hard) else -1) if known else None)


@given(gathered())
def test_repair_leaves_no_good_step_after_a_bad_one(found):
    rule = HardRule(monotone="repair", after_error="measured")
    steps = label(*frames(*found), rule).steps
    for _, group in steps.group_by("solution_id"):
        known = group.sort("step")["hard"].drop_nulls().to_list()
        assert known == sorted(known, reverse=True)


def test_no_solutions_give_no_labels():
    assert label(*frames([], []), HardRule()).steps.is_empty()


@pytest.mark.parametrize("name", list(LABEL_RULES))
def test_a_rule_is_chosen_by_its_name(name):
    settings = TypeAdapter(LabelSettings).validate_python({"rule": name})
    assert type(settings) is LABEL_RULES[name].settings


@pytest.mark.parametrize(
    "content",
    [
        {"rule": "hard", "smooth": "auto"},
        {"rule": "soft", "alive": {"by": "any"}},
        {"rule": "hard", "negligible": 0},
        {"rule": "nothing"},
    ],
)
def test_settings_that_a_rule_does_not_know_are_refused(content):
    with pytest.raises(ValidationError):
        TypeAdapter(LabelSettings).validate_python(content)
