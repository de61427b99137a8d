"""Checkers: what a run makes of a whole solution."""

import asyncio
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from stepmill.errors import UserError
from stepmill.records import Outcome, Problem, Verdict
from stepmill.verifiers.answers.policy import AnswerPolicy
from stepmill.verifiers.checkers import (
    CHECKERS,
    CheckerSettings,
    ChoiceCheckerSettings,
    ExactCheckerSettings,
    MathCheckerSettings,
    NumericCheckerSettings,
    PluginCheckerSettings,
    PythonCheckerSettings,
    build_checker,
)
from stepmill.verifiers.options import listed_options

CORRECT, INCORRECT, UNKNOWN = Verdict.CORRECT, Verdict.INCORRECT, Verdict.UNKNOWN


def problem(answer, question="What is it?"):
    return Problem("p1", question, answer, "made-up")


def check(settings, solution, reference, finish_reason="stop", question="What is it?"):
    checker = build_checker(settings)
    try:
        return asyncio.run(checker.check(solution, problem(reference, question), finish_reason))
    finally:
        checker.close()


FORMS = MathCheckerSettings(algebra=False)


@pytest.mark.parametrize(
    ("solution", "reference", "verdict", "answer", "reason"),
    [
        ("2+2=4\nThe answer is 4.", "4", CORRECT, "4", "number"),
        ("2+2=5\nThe answer is 5.", "4", INCORRECT, "5", "number"),
        (r"so $\boxed{\frac{2}{4}}$", "work\n#### 0.5", CORRECT, r"\frac{2}{4}", "number"),
        ("The answer is clear.", "4", UNKNOWN, None, "no-answer"),
        ("So we are done.", "4", UNKNOWN, None, "no-answer"),
        ("The answer is 9^{9^9}.", "4", UNKNOWN, "9^{9^9}", "too-large"),
        ("The answer is 4.", None, UNKNOWN, None, "no-reference"),
        ("The answer is 4.", " ", UNKNOWN, None, "no-reference"),
    ],
)  # fmt: skip
def test_the_answer_is_found_and_compared(solution, reference, verdict, answer, reason):
    assert check(FORMS, solution, reference) == Outcome(verdict, answer, reason)


@pytest.mark.parametrize(
    ("solution", "verdict"),
    [
        (r"so \boxed{4}, and we could also", CORRECT),
        (r"so \boxed{5}, and we could also", INCORRECT),
        ("The answer is 4\nLet us chec", CORRECT),
        ("The answer is 4. Let us chec", CORRECT),
        ("The answer is 4", UNKNOWN),  # 42?
        ("The answer is 4.", UNKNOWN),  # 4.5?
        (r"so \boxed{4", UNKNOWN),
        ("2 + 2 = 4", UNKNOWN),
        ("so it is **4**", UNKNOWN),
    ],
)
def test_a_cut_solution_is_known_only_when_its_answer_was_finished(solution, verdict):
    outcome = check(FORMS, solution, "4", finish_reason="length")
    assert outcome.verdict is verdict
    assert (outcome.reason == "truncated") == (verdict is UNKNOWN)


def test_an_aborted_solution_is_unknown():
    assert check(FORMS, r"\boxed{4}", "4", "abort") == Outcome(UNKNOWN, None, "aborted")


def test_no_answer_may_count_as_wrong_but_a_cut_one_never_does():
    settings = MathCheckerSettings(algebra=False, no_answer="incorrect")
    assert check(settings, "So we are done.", "4") == Outcome(INCORRECT, None, "no-answer")
    assert check(settings, "So we are", "4", "length") == Outcome(UNKNOWN, None, "truncated")


@pytest.mark.parametrize(
    ("fallback", "answer"), [("none", None), ("last-line", None), ("last-number", "4")]
)
def test_the_fallback_is_a_setting(fallback, answer):
    settings = MathCheckerSettings(algebra=False, fallback=fallback)
    assert check(settings, "She has 4 apples left.", "4").answer == answer


def test_the_policy_is_a_setting():
    strict = MathCheckerSettings(algebra=False, policy=AnswerPolicy(bare_percent=False))
    assert check(FORMS, "The answer is 20", "20%").verdict is CORRECT
    assert check(strict, "The answer is 20", "20%").verdict is INCORRECT


def test_many_checks_share_a_checker_and_its_workers():
    """Integrals need computer algebra; their value n/2 is known."""
    checker = build_checker(MathCheckerSettings())

    async def all_at_once():
        return await asyncio.gather(
            *(
                checker.check(rf"\boxed{{\int_0^1 {n}x\,dx}}", problem(f"{n + n % 2}/2"), "stop")
                for n in range(1, 13)
            )
        )

    verdicts = [o.verdict for o in asyncio.run(all_at_once())]
    checker.close()
    assert verdicts == [CORRECT if n % 2 == 0 else INCORRECT for n in range(1, 13)]


def test_a_check_over_its_time_limit_is_unknown():
    settings = MathCheckerSettings(time_limit_s=0.5)
    outcome = check(settings, r"\boxed{\int_0^\infty e^{-x^{x}} \sin(x^3) dx}", "1")
    assert (outcome.verdict, outcome.reason) == (UNKNOWN, "time-out")


QUESTION = "How many? (A) 10 (B) 12 (C) 14 (D) none of these"


@pytest.mark.parametrize(
    ("solution", "reference", "question", "verdict", "reason"),
    [
        ("The answer is (B).", "B", QUESTION, CORRECT, "choice"),
        ("The answer is (C).", "B", QUESTION, INCORRECT, "choice"),
        ("The answer is 12.", "B", QUESTION, CORRECT, "choice"),
        ("The answer is 14.", "B", QUESTION, INCORRECT, "choice"),
        ("The answer is B.", "12", QUESTION, CORRECT, "choice"),
        ("The answer is 99.", "B", QUESTION, INCORRECT, "choice"),
        (r"\boxed{\textbf{(B)}\ 12}", "(B)", QUESTION, CORRECT, "choice"),
        (r"\boxed{\textbf{(B)}\ 14}", "B", QUESTION, UNKNOWN, "choice-or-value"),
        ("The answer is B.", "B", "How many?", CORRECT, "choice"),
        ("The answer is 12.", "B", "How many?", UNKNOWN, "choice-or-value"),
        ("The answer is B.", "99", QUESTION, UNKNOWN, "no-such-option"),
    ],
)
def test_an_option_is_meant_by_letter_or_by_text(solution, reference, question, verdict, reason):
    outcome = check(ChoiceCheckerSettings(), solution, reference, question=question)
    assert (outcome.verdict, outcome.reason) == (verdict, reason)


@pytest.mark.parametrize(
    ("question", "options"),
    [
        (QUESTION, {"A": "10", "B": "12", "C": "14", "D": "none of these"}),
        ("Which?\nA) red\nB) blue\n\nExplain.", {"A": "red", "B": "blue"}),
        ("A)21 ,B)21.5 ,C)22", {"A": "21", "B": "21.5", "C": "22"}),
        ("A. b? Yes.\nA. one\nB. two", {"A": "one", "B": "two"}),
        ("Is A) here?", {}),
        ("What is it?", {}),
    ],
)
def test_a_question_lists_its_options(question, options):
    assert listed_options(question) == options


def test_exact_text_apart_from_white_space():
    assert check(ExactCheckerSettings(), "The answer is x  y", "x y").verdict is CORRECT
    assert check(ExactCheckerSettings(), "The answer is 5.0", "5").verdict is INCORRECT
    assert check(ExactCheckerSettings(), "The answer is Paris", "paris").verdict is INCORRECT
    loose = ExactCheckerSettings(ignore_case=True)
    assert check(loose, "The answer is Paris", "paris").verdict is CORRECT


def test_a_number_within_a_tolerance():
    settings = NumericCheckerSettings(relative_tolerance=0.01)
    assert check(settings, "The answer is 3.15 m", r"\pi").verdict is CORRECT
    assert check(settings, "The answer is 3.3", r"\pi").verdict is INCORRECT
    assert check(settings, "The answer is red", "5").reason == "not-a-number"


@pytest.fixture
def own_checks(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def test_a_users_function_decides_in_a_worker(own_checks):
    settings = PythonCheckerSettings(entry="user_checks:even", time_limit_s=3.0)
    assert check(settings, "The answer is 4", "even").verdict is CORRECT
    assert check(settings, "The answer is 5", "even").verdict is INCORRECT
    assert check(settings, "The answer is open", "even").reason == "undecided"
    assert check(settings, "The answer is red", "even").reason == "error:ValueError"
    assert check(settings, "The answer is forever", "even").reason == "time-out"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("even", "module:function"),
        ("user_checks:odd", "cannot import"),
        ("no_such_module_at_all:even", "cannot import"),
        ("user_checks:NOT_A_FUNCTION", "int, not a function"),
    ],
)
def test_a_wrong_entry_is_found_before_the_run(own_checks, entry, message):
    with pytest.raises(UserError, match=message):
        build_checker(PythonCheckerSettings(entry=entry))


def test_a_package_brings_its_own_checker(monkeypatch):
    class Always:
        def __init__(self, options):
            self.version = f"always {options['verdict']}"
            self.verdict = Verdict(options["verdict"])

        async def check(self, solution, problem, finish_reason):
            return Outcome(self.verdict, None, "always")

        def close(self):
            pass

    monkeypatch.setitem(CHECKERS._items, "always", Always)
    settings = PluginCheckerSettings(name="always", options={"verdict": "correct"})
    assert check(settings, "", "4").verdict is CORRECT


def test_an_unknown_checker_is_refused_with_the_names_there_are():
    with pytest.raises(UserError, match="choice, exact, math, numeric, python"):
        build_checker(PluginCheckerSettings(name="nothing-like-it"))


def test_settings_are_chosen_by_kind_and_refuse_what_they_do_not_know():
    read = TypeAdapter(CheckerSettings).validate_python
    assert read({"kind": "math", "no_answer": "incorrect"}) == MathCheckerSettings(
        no_answer="incorrect"
    )
    assert isinstance(read({"kind": "choice"}), ChoiceCheckerSettings)
    for wrong in ({"kind": "maths"}, {"kind": "math", "no_anser": "unknown"}, {"kind": "python"}):
        with pytest.raises(ValidationError):
            read(wrong)


def test_the_version_changes_with_whatever_changes_verdicts():
    made = [
        build_checker(s)
        for s in (
            FORMS,
            MathCheckerSettings(algebra=False, no_answer="incorrect"),
            MathCheckerSettings(algebra=False, policy=AnswerPolicy(list_order="given")),
            MathCheckerSettings(),
            ExactCheckerSettings(),
        )
    ]
    versions = [c.version for c in made]
    assert len(set(versions)) == len(versions)
    assert build_checker(FORMS).version == versions[0]
    for checker in made:
        checker.close()
