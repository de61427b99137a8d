import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmill.engines.base import EngineStats, Policy, Prefix
from stepmill.errors import EngineError, Stopped
from stepmill.pipelines.ledger import Ledger, LedgerRow
from stepmill.pipelines.sampling import InFlight, LedgerSampler, Spending, StopFlag, storable
from stepmill.records import Completion, Outcome, Problem, SamplingParams, Verdict

PROBLEM = Problem("p", "2 + 2?", "4", "made-up")
BARE = Prefix(PROBLEM.question)
STARTED = Prefix(PROBLEM.question, "So 2 + ")


def completion(draw: int) -> Completion:
    return Completion(f"answer {draw}", "stop", 3, draw, cached_tokens=4, prompt_tokens=5)


class Turns:
    """An engine whose answer to draw i is `answer i`, after as many turns of the loop as asked.

    It notes every request, and the most draws that it had in work at a time.
    """

    identity: dict[str, Any] = {"kind": "turns"}  # noqa: RUF012
    simulated = True

    def __init__(self, turns: int = 1) -> None:
        self.stats = EngineStats()
        self.turns = turns
        self.requests: list[tuple[str, list[int]]] = []
        self.fails = False
        self.in_work = self.most_in_work = 0

    async def start(self) -> None:
        """Nothing to load."""

    async def complete(
        self, prefix: Prefix, draws: Sequence[int], params: SamplingParams, seed: int
    ) -> list[Completion]:
        self.requests.append((prefix.text, list(draws)))
        self.in_work += len(draws)
        self.most_in_work = max(self.most_in_work, self.in_work)
        try:
            for _ in range(self.turns):
                await asyncio.sleep(0)
        finally:
            self.in_work -= len(draws)
        if self.fails:
            raise EngineError("the server is gone", retryable=True)
        return [completion(i) for i in draws]

    async def close(self) -> None:
        """Nothing to free."""


class Even:
    """Finds the answers of even draws right; notes what it was shown."""

    version = "even 1"

    def __init__(self) -> None:
        self.shown: list[tuple[str, str, str]] = []

    async def check(self, solution: str, problem: Problem, finish_reason: str) -> Outcome:
        self.shown.append((solution, problem.id, finish_reason))
        right = int(solution.split()[-1]) % 2 == 0
        return Outcome(Verdict.CORRECT if right else Verdict.INCORRECT, solution[-1], "number")


class Bench:
    """A sampler with everything around it within reach."""

    def __init__(self, path, limit: int = 8, turns: int = 1) -> None:
        self.engine, self.checker = Turns(turns), Even()
        self.ledger, self.in_flight = Ledger(path), InFlight(limit)
        self.stop, self.spending = StopFlag(), Spending()
        self.sampler = LedgerSampler(
            Policy(self.engine, SamplingParams()),
            self.ledger,
            self.checker,
            self.in_flight,
            self.stop,
            self.spending,
        )

    async def draw(self, n: int, prefix: Prefix = BARE) -> list[int]:
        """Indices of the first `n` draws, each checked to be what it should."""
        rollouts = await self.sampler.rollouts(PROBLEM, prefix, n)
        assert [r.completion for r in rollouts] == [completion(i) for i in range(n)]
        assert [r.outcome.verdict is Verdict.CORRECT for r in rollouts] == [
            i % 2 == 0 for i in range(n)
        ]
        return [r.completion.draw for r in rollouts]


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path / "journal")
    yield made
    made.ledger.close()


def test_draws_come_in_the_order_of_their_index_and_are_journalled_with_their_verdicts(
    bench, tmp_path
):
    assert asyncio.run(bench.draw(3)) == [0, 1, 2]
    bench.ledger.close()
    bench.ledger = Ledger(tmp_path / "journal")
    assert bench.ledger.unchecked(bench.sampler.policy, "p", BARE, 3) == []
    assert bench.ledger.missing(bench.sampler.policy, "p", BARE, 4) == [3]


def test_two_searches_that_want_one_prefix_at_once_send_one_request(bench):
    async def both():
        return await asyncio.gather(bench.draw(3), bench.draw(3), bench.draw(5))

    assert asyncio.run(both()) == [[0, 1, 2], [0, 1, 2], [0, 1, 2, 3, 4]]
    assert bench.engine.requests == [("", [0, 1, 2]), ("", [3, 4])]
    assert bench.spending == Spending(2, 5, 0, 15, 25, 20)


def test_requests_for_different_prefixes_run_at_the_same_time(bench):
    async def both():
        await asyncio.gather(bench.draw(3), bench.draw(2, STARTED))

    asyncio.run(both())
    assert bench.engine.most_in_work == 5


def test_the_answer_check_sees_the_whole_solution(bench):
    asyncio.run(bench.draw(1, STARTED))
    assert bench.checker.shown == [("So 2 + answer 0", "p", "stop")]


def test_the_ledger_is_asked_before_the_engine(bench):
    stored = [LedgerRow(bench.sampler.policy, "p", BARE, completion(i), None) for i in (0, 2)]
    bench.ledger.add_stored(stored)
    asyncio.run(bench.draw(4))
    assert bench.engine.requests == [("", [1, 3])]
    assert len(bench.checker.shown) == 4
    assert bench.spending == Spending(1, 2, 2, 6, 10, 8)


def test_a_stored_draw_is_counted_as_reused_once(bench):
    stored = [LedgerRow(bench.sampler.policy, "p", BARE, completion(i), None) for i in range(5)]
    bench.ledger.add_stored(stored)

    async def waves():
        return [(await bench.draw(n), bench.spending.reused)[1] for n in (2, 4, 4, 3, 8, 8)]

    assert asyncio.run(waves()) == [2, 4, 4, 4, 5, 5]
    assert bench.spending.completions == 3


def test_a_draw_of_another_policy_is_not_taken(bench):
    bench.ledger.add_stored([LedgerRow("another policy", "p", BARE, completion(0), None)])
    asyncio.run(bench.draw(1))
    assert bench.engine.requests == [("", [0])]


def test_an_engine_error_leaves_stored_what_was_stored_and_frees_the_slots(bench):
    asyncio.run(bench.draw(2))
    bench.engine.fails = True
    with pytest.raises(EngineError, match="gone"):
        asyncio.run(bench.draw(4))
    assert bench.ledger.missing(bench.sampler.policy, "p", BARE, 4) == [2, 3]
    assert bench.in_flight.level == 0
    bench.engine.fails = False
    asyncio.run(bench.draw(4))
    assert [draws for _, draws in bench.engine.requests] == [[0, 1], [2, 3], [2, 3]]
    assert bench.spending.completions == 4


def test_a_failed_check_leaves_the_completions_stored(bench, monkeypatch):
    async def broken(*_):
        raise OSError("pool is gone")

    with monkeypatch.context() as patch:
        patch.setattr(bench.checker, "check", broken)
        with pytest.raises(OSError, match="pool"):
            asyncio.run(bench.draw(2))
    assert asyncio.run(bench.draw(2)) == [0, 1]
    assert len(bench.engine.requests) == 1


def test_an_engine_that_answers_for_other_draws_is_caught(bench, monkeypatch):
    async def backwards(prefix, draws, params, seed):
        return [completion(i) for i in reversed(draws)]

    monkeypatch.setattr(bench.engine, "complete", backwards)
    with pytest.raises(ValueError, match=r"answered draws \[1, 0\] of problem 'p' where \[0, 1\]"):
        asyncio.run(bench.draw(2))
    assert bench.ledger.n_completions == 0


def test_nothing_is_sent_once_a_run_is_stopped_and_what_is_stored_is_still_served(bench):
    asyncio.run(bench.draw(2))
    bench.stop.reason = "interrupted"
    assert asyncio.run(bench.draw(2)) == [0, 1]
    with pytest.raises(Stopped, match="interrupted"):
        asyncio.run(bench.draw(3))
    assert len(bench.engine.requests) == 1


def test_what_is_in_flight_when_a_run_is_stopped_is_stored_and_what_waits_is_not_sent(tmp_path):
    bench = Bench(tmp_path / "journal", limit=2, turns=5)

    async def stop_meanwhile():
        sent = asyncio.create_task(bench.draw(2))
        waiting = asyncio.create_task(bench.draw(2, STARTED))
        await asyncio.sleep(0)
        bench.stop.reason = "interrupted"
        with pytest.raises(Stopped):  # at once: it does not queue for slots first
            await bench.draw(1, Prefix(PROBLEM.question, "Now "))
        assert bench.engine.in_work == 2
        return await asyncio.gather(sent, waiting, return_exceptions=True)

    sent, waiting = asyncio.run(stop_meanwhile())
    assert sent == [0, 1]
    assert isinstance(waiting, Stopped)
    assert bench.engine.requests == [("", [0, 1])]
    assert bench.in_flight.level == 0
    bench.ledger.close()


def test_a_shard_stops_with_its_run_and_a_run_not_with_its_shard():
    run = StopFlag()
    shard = StopFlag(run)
    shard.check()
    shard.reason = "another problem failed"
    run.check()
    with pytest.raises(Stopped, match="another problem"):
        shard.check()
    run.reason = "interrupted"
    with pytest.raises(Stopped, match="interrupted"):
        StopFlag(run).check()


def test_a_cancelled_search_hands_its_prefix_to_the_one_that_waits(bench):
    async def cancel_first():
        first = asyncio.create_task(bench.draw(2))
        second = asyncio.create_task(bench.draw(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        return await second

    assert asyncio.run(cancel_first()) == [0, 1]
    assert len(bench.engine.requests) == 2
    assert bench.in_flight.level == 0


def test_a_search_cancelled_while_it_waits_for_a_prefix_disturbs_nobody(bench):
    async def cancel_second():
        tasks = [asyncio.create_task(bench.draw(2)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, second, third = asyncio.run(cancel_second())
    assert first == third == [0, 1]
    assert isinstance(second, asyncio.CancelledError)
    assert len(bench.engine.requests) == 1


@given(
    limit=st.integers(1, 6),
    turns=st.integers(0, 3),
    wanted=st.lists(st.integers(1, 8), max_size=12),
)
def test_an_engine_never_has_more_draws_in_work_than_the_bound(
    tmp_path_factory, limit, turns, wanted
):
    bench = Bench(tmp_path_factory.mktemp("s") / "journal", limit, turns)

    async def all_at_once():
        prefixes = [Prefix(PROBLEM.question, f"{i} ") for i in range(len(wanted))]
        return await asyncio.gather(*map(bench.draw, wanted, prefixes))

    assert asyncio.run(all_at_once()) == [list(range(n)) for n in wanted]
    largest = max(wanted, default=0)  # a request above the bound goes alone
    assert bench.engine.most_in_work <= max(limit, largest)
    if largest <= limit:
        assert bench.engine.most_in_work <= limit
    assert bench.in_flight.level == 0
    bench.ledger.close()


class Holder:
    """Takes slots, keeps them for some turns of the loop, and notes who was let in."""

    def __init__(self, in_flight: InFlight) -> None:
        self.in_flight = in_flight
        self.let_in: list[int] = []
        self.held: dict[int, int] = {}

    async def hold(self, name: int, n: int, turns: int) -> None:
        async with self.in_flight.slots(n):
            self.let_in.append(name)
            self.held[name] = min(n, self.in_flight.limit)
            assert sum(self.held.values()) <= self.in_flight.limit
            try:
                for _ in range(turns):
                    await asyncio.sleep(0)
            finally:
                del self.held[name]


@given(
    limit=st.integers(1, 5),
    requests=st.lists(
        st.tuples(st.integers(1, 7), st.integers(0, 4), st.none() | st.integers(0, 9)), max_size=12
    ),
)
def test_slots_are_bounded_first_come_first_served_and_never_lost(limit, requests):
    """A request has a size, the turns that it holds, and the turn at which it is cancelled."""
    holder = Holder(InFlight(limit))

    async def run():
        tasks = [
            asyncio.create_task(holder.hold(name, n, turns))
            for name, (n, turns, _) in enumerate(requests)
        ]
        for turn in range(10):
            for task, (_, _, cancelled_at) in zip(tasks, requests, strict=True):
                if cancelled_at == turn:
                    task.cancel()
            await asyncio.sleep(0)
        return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)

    results = asyncio.run(run())
    for name, (result, (_, _, cancelled_at)) in enumerate(zip(results, requests, strict=True)):
        if cancelled_at is None:
            assert result is None
            assert name in holder.let_in
        else:
            assert result is None or isinstance(result, asyncio.CancelledError)
    assert holder.let_in == sorted(holder.let_in)
    assert holder.in_flight.level == 0
    assert asyncio.run(holder.hold(99, limit, 0)) is None  # all slots are free again


def test_a_cancelled_waiter_no_longer_blocks_those_behind_it():
    holder = Holder(InFlight(2))

    async def run():
        first = asyncio.create_task(holder.hold(0, 1, 50))
        large = asyncio.create_task(holder.hold(1, 2, 0))
        small = asyncio.create_task(holder.hold(2, 1, 0))
        await asyncio.sleep(0)
        large.cancel()
        await asyncio.wait([small])
        assert not first.done()
        await first

    asyncio.run(run())
    assert holder.let_in == [0, 2]


def test_slots_given_to_a_waiter_that_is_cancelled_before_it_wakes_go_to_the_next():
    holder = Holder(InFlight(1))

    async def run():
        async def leave_and_cancel():
            await holder.hold(0, 1, 2)
            second.cancel()  # its slot is given, and it has not run since

        first = asyncio.create_task(leave_and_cancel())
        second = asyncio.create_task(holder.hold(1, 1, 0))
        third = asyncio.create_task(holder.hold(2, 1, 0))
        await asyncio.wait([first, second, third])
        assert second.cancelled()

    asyncio.run(run())
    assert holder.let_in == [0, 2]
    assert holder.in_flight.level == 0


def test_a_lone_surrogate_is_replaced_before_it_is_stored():
    kept = Completion("naïve 😀", "stop", 3)
    assert storable(kept) is kept
    assert storable(Completion("a\ud800b", "stop", 3)).text == "a?b"
