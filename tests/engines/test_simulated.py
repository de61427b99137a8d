"""The simulated engine: its skill, its self-correction, its prefixes and its draws."""

import asyncio
import math
import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stepmill.engines.base import ENGINES, Prefix
from stepmill.engines.simulated import SimulatedEngine, SimulatedSettings
from stepmill.errors import EngineError
from stepmill.records import Completion, SamplingParams
from stepmill.wordproblems import (
    WordProblem,
    diagnose,
    first_error,
    generate,
    read_answer,
    stream,
)

PROBLEMS = generate(11, 40, 3, 12)


def engine(**settings: object) -> SimulatedEngine:
    return SimulatedEngine(SimulatedSettings.model_validate(settings))


def draw(
    by: SimulatedEngine,
    problem: WordProblem,
    text: str = "",
    draws: Sequence[int] = (0,),
    seed: int = 0,
    **params: int | tuple[str, ...],
) -> list[Completion]:
    wanted = SamplingParams(**params)  # type: ignore[arg-type]
    return asyncio.run(by.complete(Prefix(problem.question, text), draws, wanted, seed))


def is_right(problem: WordProblem, text: str) -> bool:
    return read_answer(text.split("\n")[-1]) == problem.answer


def close(hits: int, of: int, probability: float) -> bool:
    """Within 4.5 standard deviations: a false alarm in 150,000. The draws are seeded anyway."""
    return abs(hits - of * probability) <= 4.5 * math.sqrt(of * probability * (1 - probability))


def beginnings(problem: WordProblem, wrong_at: int | None = None) -> list[str]:
    """Every text that a solution can be cut to, right or with a false result in one line."""
    lines = list(problem.lines)
    if wrong_at is not None:
        lines[wrong_at] = lines[wrong_at].replace(".", "7.")
    text = "\n".join(lines)
    return [text[:end] for end in range(len(text) + 1)]


def test_it_is_registered_and_says_that_it_is_simulated():
    kind = ENGINES["simulated"]
    opened = kind.open(kind.settings.model_validate({"skill": 0.5}))
    assert opened.simulated
    assert opened.identity["simulated"] is True
    assert opened.identity["skill"] == 0.5


def test_speed_is_no_part_of_its_identity():
    assert engine(latency=1, jitter=0.5).identity == engine().identity
    assert engine(skill=0.5).identity != engine().identity


def test_every_step_is_right_with_the_probability_of_skill():
    by, steps, wrong = engine(skill=0.9, self_correction=0), 0, 0
    for problem in PROBLEMS:
        for completion in draw(by, problem, draws=range(100)):
            error = first_error(problem.question, completion.text)
            assert error is not None
            steps += error + 1 if error >= 0 else len(problem.steps)
            wrong += error >= 0
            assert is_right(problem, completion.text) == (error < 0)
    assert close(wrong, steps, 0.1)


def test_skill_of_a_solution_does_not_depend_on_its_length():
    by = engine(skill=0.4, skill_of="solution", self_correction=0)
    for n_steps in (3, 12):
        outcomes = [
            is_right(problem, completion.text)
            for problem in generate(2, 30, n_steps, n_steps)
            for completion in draw(by, problem, draws=range(50))
        ]
        assert close(sum(outcomes), len(outcomes), 0.4)


def test_a_wrong_prefix_ends_right_as_often_as_self_correction_says():
    by, right, total = engine(skill=0.8, self_correction=0.3), 0, 0
    for problem in PROBLEMS:
        lines = [*problem.lines[:1], "Step 2: 1 + 1 = 3."]
        for completion in draw(by, problem, "\n".join(lines) + "\n", draws=range(50)):
            right, total = right + is_right(problem, completion.text), total + 1
    assert close(right, total, 0.3)


@pytest.mark.parametrize("n_lines", [0, 2, 5])
def test_the_stated_value_of_a_prefix_is_the_share_of_right_answers(n_lines):
    by, right, variance, expected = engine(skill=0.85, self_correction=0.2, spread=1), 0, 0.0, 0.0
    for problem in PROBLEMS:
        text = "".join(line + "\n" for line in problem.lines[: min(n_lines, len(problem.steps))])
        value = by.value(Prefix(problem.question, text))
        expected, variance = expected + 100 * value, variance + 100 * value * (1 - value)
        completions = draw(by, problem, text, draws=range(100))
        right += sum(is_right(problem, c.text) for c in completions)
    assert abs(right - expected) <= 4.5 * math.sqrt(variance)


def test_a_finished_text_has_the_value_of_its_answer():
    by, problem = engine(), PROBLEMS[0]
    wrong = problem.solution.replace("The answer is ", "The answer is 1")
    assert by.value(Prefix(problem.question, problem.solution)) == 1
    assert by.value(Prefix(problem.question, wrong)) == 0


def test_spread_gives_each_problem_its_own_skill_and_keeps_it():
    by, again = engine(spread=1), engine(spread=1)
    values = [by.value(Prefix(problem.question)) for problem in generate(3, 30, 5, 5)]
    assert values == [again.value(Prefix(problem.question)) for problem in generate(3, 30, 5, 5)]
    assert max(values) - min(values) > 0.3


@pytest.mark.parametrize("kind", ["arithmetic", "operand", "operation", "skipped"])
def test_errors_are_of_the_wanted_kind_where_the_question_allows_it(kind):
    by, kinds = engine(skill=0.8, self_correction=0, errors={kind: 1}), Counter[str]()
    for problem in PROBLEMS:
        for completion in draw(by, problem, draws=range(20)):
            if mistake := diagnose(problem.question, completion.text):
                kinds[mistake.kind] += 1
    assert kinds[kind] > 0.7 * kinds.total()
    assert set(kinds) <= {kind, "arithmetic"}


def test_all_kinds_of_error_come_with_the_default_settings():
    by = engine(skill=0.7)
    mistakes = [
        diagnose(problem.question, completion.text)
        for problem in PROBLEMS
        for completion in draw(by, problem, draws=range(20))
    ]
    assert {m.kind for m in mistakes if m} == {"arithmetic", "operand", "operation", "skipped"}


@pytest.mark.parametrize("skill", [0, 1])
def test_every_cut_of_a_right_solution_is_continued_rightly_or_wrongly_as_told(skill):
    by = engine(skill=skill, self_correction=0)
    for problem in PROBLEMS[:6]:
        last_step = problem.solution.index("\nThe answer")
        for text in beginnings(problem):
            whole = text + draw(by, problem, text)[0].text
            assert read_answer(whole.split("\n")[-1]) is not None
            assert is_right(problem, whole) == (skill == 1 or len(text) >= last_step)


@pytest.mark.parametrize("self_correction", [0, 1])
def test_every_cut_of_a_wrong_solution_is_continued_to_the_end_that_was_told(self_correction):
    by = engine(skill=1, self_correction=self_correction)
    for problem in PROBLEMS[:6]:
        texts = beginnings(problem, wrong_at=1)
        wrong_from = len("\n".join(texts[-1].split("\n")[:2])) - 2  # the added digit is there
        for text in texts[wrong_from + 1 : -1]:
            whole = text + draw(by, problem, text)[0].text
            assert first_error(problem.question, whole) == 1
            assert is_right(problem, whole) == (self_correction == 1)


def test_self_correction_of_zero_never_ends_right_once_wrong_even_by_luck():
    by, problem = engine(skill=1, self_correction=0), PROBLEMS[0]
    lucky = "\n".join(["Step 1: 1 + 1 = 3.", *problem.lines[1:-1]])
    for completion in draw(by, problem, lucky, draws=range(20)):
        assert not is_right(problem, lucky + completion.text)


@given(st.integers(0, 2**20), st.text(alphabet="Step 1234567890+-*/=.\nThe answer is"), st.data())
def test_any_text_is_continued_to_an_answer(seed, noise, data):
    problem = next(stream(random.Random(seed), 3, 12))
    end = data.draw(st.integers(0, len(problem.solution)))
    text = problem.solution[:end] + noise
    by = engine(skill=0.7, self_correction=0.5)
    completion = draw(by, problem, text, seed=seed)[0]
    lines = (text + completion.text).split("\n")
    assert any(read_answer(line.strip()) is not None for line in lines)
    assert completion.finish_reason == "stop"


@given(st.sets(st.integers(0, 60), min_size=1), st.integers(0, 2**40), st.integers(0, 11))
def test_a_draw_does_not_depend_on_the_draws_asked_for_with_it(wanted, seed, at):
    by, draws, problem = engine(skill=0.6, truncate=0.2), sorted(wanted), PROBLEMS[at]
    text = problem.lines[0] + "\n"
    together = draw(by, problem, text, draws, seed)
    assert [c.draw for c in together] == draws
    assert together == [draw(by, problem, text, [index], seed)[0] for index in draws]


def test_draws_differ_by_index_seed_prefix_and_settings():
    by, problem = engine(skill=0.5), generate(1, 1, 12, 12)[0]
    base = [c.text for c in draw(by, problem, draws=range(20))]
    assert len(set(base)) > 10
    assert base != [c.text for c in draw(by, problem, draws=range(20), seed=1)]
    assert base != [c.text for c in draw(by, problem, draws=range(20, 40))]
    assert base != [c.text for c in draw(engine(skill=0.51), problem, draws=range(20))]


def test_a_completion_at_the_token_limit_is_truncated():
    by, problem = engine(skill=1), PROBLEMS[0]
    whole = draw(by, problem)[0]
    assert whole.text == problem.solution
    assert whole.n_tokens == math.ceil(len(problem.solution) / 4) + 1
    cut = draw(by, problem, max_tokens=5)[0]
    assert (cut.text, cut.finish_reason, cut.n_tokens) == (whole.text[:20], "length", 5)
    assert draw(by, problem, max_tokens=whole.n_tokens)[0] == whole


def test_a_stop_text_ends_a_completion_and_is_not_part_of_it():
    completion = draw(engine(skill=1), PROBLEMS[0], stop=("The", "\nStep 3"))[0]
    assert completion.text == "\n".join(PROBLEMS[0].lines[:2])
    assert completion.finish_reason == "stop"


def test_a_text_with_its_answer_is_continued_with_nothing():
    completion = draw(engine(), PROBLEMS[0], PROBLEMS[0].solution)[0]
    assert (completion.text, completion.n_tokens, completion.finish_reason) == ("", 1, "stop")


def test_truncation_comes_with_its_probability():
    by = engine(truncate=0.3)
    reasons = [c.finish_reason for p in PROBLEMS for c in draw(by, p, draws=range(50))]
    assert close(reasons.count("length"), len(reasons), 0.3)
    assert set(reasons) == {"length", "stop"}


def test_a_question_of_another_world_is_refused_and_named():
    with pytest.raises(EngineError, match=r"What is 2 \+ 2.*word problems") as caught:
        asyncio.run(engine().complete(Prefix("What is 2 + 2?"), [0], SamplingParams(), 0))
    assert not caught.value.retryable


def test_counters_add_up_and_in_flight_returns_to_zero():
    by = engine()
    completions = draw(by, PROBLEMS[0], draws=range(7)) + draw(by, PROBLEMS[1], draws=range(3))
    assert by.stats.requests == 2
    assert by.stats.completions == 10
    assert by.stats.generated_tokens == sum(c.n_tokens for c in completions)
    assert by.stats.in_flight == 0


def test_latency_is_slept_once_per_call_within_its_jitter(monkeypatch):
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    by = engine(latency=2, jitter=0.5)
    for problem in PROBLEMS:
        draw(by, problem, draws=range(3))
    assert len(slept) == len(PROBLEMS)
    assert 1 <= min(slept) < 1.5 < 2.5 < max(slept) <= 3


def test_many_calls_run_at_once():
    by = engine(latency=0.05)

    async def both() -> int:
        async with asyncio.TaskGroup() as group:
            for problem in PROBLEMS:
                prefix = Prefix(problem.question)
                group.create_task(by.complete(prefix, [0, 1], SamplingParams(), 0))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            return by.stats.in_flight

    assert asyncio.run(both()) == 2 * len(PROBLEMS)


@pytest.mark.parametrize(
    "settings",
    [{"skill": 1.2}, {"errors": {}}, {"errors": {"operand": 0}}, {"errors": {"typo": 1}}],
)
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ValidationError):
        SimulatedSettings.model_validate(settings)
