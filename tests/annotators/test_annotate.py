"""From one problem to solutions with evidence; a letter is a step."""

import asyncio

import pytest
from pydantic import TypeAdapter, ValidationError
from tests.annotators.conftest import PROBLEM, ScriptedSampler, letters

from stepmill.annotators.annotate import (
    AnnotatedProblem,
    Annotator,
    SearchSettings,
    SolutionSettings,
    StepSearchSettings,
)
from stepmill.annotators.omegaprm import OmegaPRMSettings
from stepmill.annotators.rollouts import AliveSettings, Tally
from stepmill.errors import EngineError, UserError
from stepmill.records import Evidence, Verdict

RIGHT, WRONG, UNKNOWN = Verdict.CORRECT, Verdict.INCORRECT, Verdict.UNKNOWN


def annotated(solver, completer=None, solutions=None, search=None) -> AnnotatedProblem:
    """What comes of the problem when as many solutions are drawn as the solver's script has."""
    if not isinstance(solver, ScriptedSampler):
        solver = ScriptedSampler(solver)
    annotator = Annotator(
        solver=solver,
        completer=completer or solver,
        segment=letters,
        checker="letters 1",
        solutions=SolutionSettings(**{"n": len(solver.script("")), **(solutions or {})}),
        search=search or StepSearchSettings(method="every-step", k=2),
    )
    return asyncio.run(annotator.annotate(PROBLEM))


def texts(found: AnnotatedProblem, verdict: Verdict) -> list[str]:
    return [s.text for s in found.solutions if s.outcome.verdict is verdict]


def probed(found: AnnotatedProblem) -> dict[str, list[int]]:
    """Steps with rollouts, by solution text; the bare problem left out."""
    names = {s.id: s.text for s in found.solutions}
    steps: dict[str, list[int]] = {}
    for row in found.evidence:
        if row.channel == "rollouts" and row.step is not None and row.step >= 0:
            steps.setdefault(names[row.solution_id], []).append(row.step)
    return steps


def test_wrong_solutions_are_searched_and_each_has_its_outcome_and_the_problems_rate():
    found = annotated({"": ["+ ab", "- cd", "t ef", "- gh"], "c": "+-", "g": "--"})
    assert found.root == Tally(c=1, k=3, n_truncated=1, tokens=40)
    assert found.skipped == ""
    assert probed(found) == {"cd": [0], "gh": [0]}
    for solution in found.solutions:
        whole, bare = (e for e in found.evidence[2:] if e.solution_id == solution.id)
        assert whole == Evidence(
            solution.id,
            None,
            "outcome",
            "letters 1",
            verdict=solution.outcome.verdict,
            stop_reason=solution.outcome.reason,
        )
        assert (bare.step, bare.channel, bare.policy) == (-1, "rollouts", "solver")
        assert (bare.c, bare.k, bare.n_truncated, bare.cost_tokens) == (1, 3, 1, 40)
    assert [e.stop_reason for e in found.evidence if e.verdict is UNKNOWN] == ["truncated"]


def test_a_solution_keeps_what_its_completion_was():
    (found,) = annotated({"": ["- ab 7"]}).solutions
    assert (found.text, [s.text for s in found.steps]) == ("ab", ["a", "b"])
    assert (found.problem_id, found.policy, found.origin) == (PROBLEM.id, "solver", "root")
    assert (found.finish_reason, found.n_tokens) == ("stop", 7)


def test_right_solutions_are_searched_only_when_asked_for():
    script = {"": ["+ ab", "- cd"], "a": "+", "c": "-"}
    assert probed(annotated(script)) == {"cd": [0]}
    all_of_them = StepSearchSettings(method="every-step", k=2, annotate="all")
    assert probed(annotated(script, search=all_of_them)) == {"ab": [0], "cd": [0]}


@pytest.mark.parametrize(
    ("root", "reason"),
    [
        (["+ ab", "+ cd", "? ef"], "all-correct"),
        (["- ab", "- cd", "? ef"], "none-correct"),
        (["? ab", "t cd"], "outcomes-unknown"),
    ],
)
@pytest.mark.parametrize("search", [StepSearchSettings(), OmegaPRMSettings()])
def test_a_problem_of_which_rollouts_tell_nothing_is_kept_and_not_searched(root, reason, search):
    solver = ScriptedSampler({"": root})
    found = annotated(solver, search=search)
    assert found.skipped == reason
    assert solver.prefixes == [""]
    assert [s.text for s in found.solutions] == [entry.split()[1] for entry in root]
    assert [e.step for e in found.evidence] == [None, -1] * len(root)


def test_all_problems_are_searched_when_asked_for():
    script = {"": ["- ab", "- cd"], "a": "-", "c": "-"}
    found = annotated(script, solutions={"keep": "all"})
    assert probed(found) == {"ab": [0], "cd": [0]}
    assert found.skipped == "none-correct"


def test_nothing_is_searched_where_no_outcome_of_the_completer_is_known():
    completer = ScriptedSampler({"": "t"}, "completer")
    found = annotated({"": ["- ab", "+ cd"]}, completer, solutions={"keep": "all"})
    assert probed(found) == {}


def test_what_is_left_out_is_counted_by_its_reason():
    found = annotated(
        {"": ["+ a", "+ a", "+ b", "+ c", "- d", "- e", "- d", "? f", "? g"]},
        solutions={"max_correct": 2, "max_wrong": 1},
    )
    assert [s.text for s in found.solutions] == ["a", "b", "d", "f", "g"]
    assert found.surplus == {"duplicate": 2, "enough-correct": 1, "enough-incorrect": 1}


def test_solutions_left_out_are_not_searched():
    solver = ScriptedSampler({"": ["+ ab", "- cd", "- ef"], "c": "-"})
    annotated(solver, solutions={"max_wrong": 1})
    assert solver.prefixes == ["", "c"]


def test_a_separate_completer_measures_the_problem_and_the_prefixes():
    solver = ScriptedSampler({"": ["+ ab", "- cd"]})
    completer = ScriptedSampler({"": "+++-", "c": "-"}, "completer")
    relative = StepSearchSettings(
        method="every-step", k=4, alive=AliveSettings(by="relative", threshold=0.5)
    )
    found = annotated(solver, completer, search=relative)
    assert found.root == Tally(c=1, k=2, tokens=20)
    assert solver.asked == [("", 2)]
    assert completer.asked == [("", 4), ("c", 4)]
    assert {e.policy for e in found.evidence if e.channel == "rollouts"} == {"completer"}
    assert {(e.c, e.k) for e in found.evidence if e.step == -1} == {(3, 4)}


@pytest.mark.parametrize(
    ("solver", "completer", "skipped"),
    [
        (["- ab", "- cd"], "+", ""),  # too hard for the solver only
        (["- ab", "+ cd"], "+", ""),  # a completer that always succeeds shows most of all
        (["- ab", "+ cd"], "-", "none-correct"),
        (["+ ab", "+ cd"], "+-", "all-correct"),
        (["- ab", "+ cd"], "t", "outcomes-unknown"),
        (["? ab", "t cd"], "+-", "outcomes-unknown"),
    ],
)
def test_a_problem_is_worth_a_search_if_the_solver_errs_and_the_completer_can_solve_it(
    solver, completer, skipped
):
    completing = ScriptedSampler({"": completer, "a": "-", "c": "-"}, "completer")
    found = annotated({"": solver}, completing)
    assert found.skipped == skipped
    assert (probed(found) == {}) == bool(skipped)


def test_a_tree_takes_the_solutions_that_it_searched():
    found = annotated(
        {"": ["+ ab", "- cd", "- ce", "+ ab"], "c": ["+ x", "- y"]},
        search=OmegaPRMSettings(k=2, searches=1, keep_correct=1),
    )
    assert texts(found, WRONG) == ["cd"]
    assert texts(found, RIGHT) == ["ab"]
    assert probed(found) == {"cd": [0]}
    assert +found.surplus == {"not-searched": 2, "enough-correct": 1, "duplicate": 1}
    assert [e.step for e in found.evidence] == [0, None, -1, None, -1]


def test_a_tree_of_a_separate_completer_starts_from_the_solvers_solutions():
    solver = ScriptedSampler({"": ["- ab", "- cd"]})
    completer = ScriptedSampler({"": "+", "a": "-", "c": "-"}, "completer")
    found = annotated(solver, completer, search=OmegaPRMSettings(k=2))
    assert texts(found, WRONG) == ["ab", "cd"]
    assert solver.prefixes == [""]
    assert completer.prefixes == ["", "a", "c"]


def test_a_search_that_fails_is_raised_when_the_others_have_ended():
    class Refusing(ScriptedSampler):
        """Refuses one prefix at once; answers for the others a little later."""

        async def rollouts(self, problem, prefix, n):
            if prefix.text == "a":
                raise EngineError("prompt too long")
            for _ in range(5):
                await asyncio.sleep(0)
            return await super().rollouts(problem, prefix, n)

    solver = Refusing({"": ["- ab", "- cde", "+ f"], "cd": "-", "c": "-"})
    with pytest.raises(EngineError, match="too long"):
        annotated(solver, search=StepSearchSettings(method="binary", k=2))
    assert solver.prefixes == ["", "c"]


def test_the_method_decides_the_settings_of_a_search():
    search = TypeAdapter(SearchSettings)
    assert search.validate_python({"method": "omegaprm", "beta": 1}) == OmegaPRMSettings(beta=1)
    assert search.validate_python({"method": "scan"}) == StepSearchSettings(method="scan")
    assert search.validate_python({}) == StepSearchSettings()
    assert search.validate_python(OmegaPRMSettings()) == OmegaPRMSettings()
    with pytest.raises(ValidationError, match="beta"):
        search.validate_python({"method": "scan", "beta": 1})
    with pytest.raises(UserError, match=r"use one of: binary, .*Did you mean .scan"):
        search.validate_python({"method": "scann"})
