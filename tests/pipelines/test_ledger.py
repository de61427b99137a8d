import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmill.annotators.rollouts import Rollout
from stepmill.engines.base import Prefix
from stepmill.pipelines.ledger import Ledger, LedgerRow
from stepmill.records import Completion, Outcome, Verdict

RIGHT = Outcome(Verdict.CORRECT, "4", "number")
UNKNOWN = Outcome(Verdict.UNKNOWN, None, "truncated")
BARE, TWO_STEPS = Prefix("2 + 2?"), Prefix("2 + 2?", "So\n2 + 2 =")


def drawn(*draws: int) -> list[Completion]:
    return [Completion(f"text {i}", "stop", 3, i) for i in draws]


def row(draw: int, outcome: Outcome | None = None, prefix: Prefix = BARE) -> LedgerRow:
    return LedgerRow("policy", "p", prefix, drawn(draw)[0], outcome)


def rows(ledger: Ledger) -> list[LedgerRow]:
    return sorted(
        ledger.rows(),
        key=lambda r: (r.policy, r.problem_id, r.prefix.text, r.completion.draw),
    )


def reopened(path) -> list[LedgerRow]:
    ledger = Ledger(path)
    ledger.close()
    assert ledger.n_continued == ledger.n_completions == len(rows(ledger))
    return rows(ledger)


COMPLETIONS = st.builds(
    Completion,
    text=st.text(st.characters(), max_size=8),
    finish_reason=st.sampled_from(["stop", "length", "abort"]),
    n_tokens=st.integers(0, 9),
    draw=st.integers(0, 5),
    token_ids=st.none() | st.lists(st.integers(0, 99), max_size=3).map(tuple),
    logprobs=st.none() | st.lists(st.floats(max_value=0), max_size=3).map(tuple),
    cached_tokens=st.none() | st.integers(0, 9),
    prompt_tokens=st.integers(0, 9),
)
OUTCOMES = st.builds(
    Outcome,
    verdict=st.sampled_from(Verdict),
    answer=st.none() | st.text(st.characters(), max_size=4),
    reason=st.text(max_size=4),
)
PLACES = st.tuples(
    st.sampled_from(["policy a", "policy b"]),
    st.sampled_from(["p", "q"]),
    st.builds(Prefix, st.sampled_from(["2 + 2?", "\ud800"]), st.sampled_from(["", "x", "x\n"])),
)
ADDITIONS = st.lists(
    st.tuples(
        PLACES,
        st.lists(COMPLETIONS, max_size=3) | st.dictionaries(st.integers(0, 5), OUTCOMES),
    ),
    max_size=8,
)


@given(sessions=st.lists(ADDITIONS, max_size=3))
def test_a_ledger_read_back_from_its_journal_holds_what_it_held(tmp_path_factory, sessions):
    path = tmp_path_factory.mktemp("l") / "journal"
    held: list[LedgerRow] = []
    for additions in sessions:
        ledger = Ledger(path)
        assert rows(ledger) == held
        for (policy, problem, prefix), new in additions:
            if isinstance(new, dict):
                ledger.add_outcomes(policy, problem, prefix, new)
            else:
                ledger.add(policy, problem, prefix, new)
        held = rows(ledger)
        ledger.close()
    assert reopened(path) == held


def test_only_what_is_not_stored_is_missing(tmp_path):
    ledger = Ledger(tmp_path / "j")
    assert ledger.missing("policy", "p", BARE, 3) == [0, 1, 2]
    ledger.add("policy", "p", BARE, drawn(0, 2))
    assert ledger.missing("policy", "p", BARE, 4) == [1, 3]
    assert ledger.missing("policy", "p", TWO_STEPS, 1) == [0]
    assert ledger.missing("another", "p", BARE, 1) == [0]
    assert ledger.missing("policy", "p", Prefix("3 + 3?"), 1) == [0]
    ledger.close()


def test_what_has_no_verdict_is_unchecked(tmp_path):
    ledger = Ledger(tmp_path / "j")
    ledger.add("policy", "p", BARE, drawn(0, 1, 3))
    assert ledger.unchecked("policy", "p", BARE, 3) == drawn(0, 1)
    ledger.add_outcomes("policy", "p", BARE, {1: UNKNOWN})
    assert ledger.unchecked("policy", "p", BARE, 4) == drawn(0, 3)
    ledger.add_outcomes("policy", "p", BARE, {0: RIGHT})
    assert ledger.rollouts("policy", "p", BARE, 2) == [
        Rollout(drawn(0)[0], RIGHT),
        Rollout(drawn(1)[0], UNKNOWN),
    ]
    ledger.close()


def test_token_ids_of_a_prefix_are_no_part_of_its_identity(tmp_path):
    ledger = Ledger(tmp_path / "j")
    ledger.add("policy", "p", Prefix("2 + 2?", "So", (1, 2)), drawn(0))
    assert ledger.missing("policy", "p", Prefix("2 + 2?", "So"), 1) == []
    ledger.close()


def test_two_problems_with_one_question_and_two_answers_are_kept_apart(tmp_path):
    ledger = Ledger(tmp_path / "j")
    ledger.add("policy", "answer 4", BARE, drawn(0))
    ledger.add_outcomes("policy", "answer 4", BARE, {0: RIGHT})
    assert ledger.missing("policy", "answer 5", BARE, 1) == [0]
    ledger.close()


def test_stored_rows_are_served_and_not_journalled(tmp_path):
    ledger = Ledger(tmp_path / "j")
    ledger.add_stored([row(0, RIGHT), row(1, prefix=TWO_STEPS)])
    assert ledger.n_completions == 2
    assert ledger.missing("policy", "p", BARE, 2) == [1]
    assert ledger.unchecked("policy", "p", TWO_STEPS, 2) == drawn(1)
    ledger.close()
    assert (tmp_path / "j").read_bytes() == b""


def test_draws_at_a_prefix_that_came_stored_survive_a_kill_of_the_run_that_went_on_from_it(
    tmp_path,
):
    stored = [row(0)]
    ledger = Ledger(tmp_path / "j")
    ledger.add_stored(stored)
    ledger.add("policy", "p", BARE, drawn(1))
    ledger.add_outcomes("policy", "p", BARE, {0: RIGHT, 1: UNKNOWN})
    ledger.close()

    assert reopened(tmp_path / "j") == [row(1, UNKNOWN)]
    again = Ledger(tmp_path / "j")
    again.add_stored(stored)
    assert again.rollouts("policy", "p", BARE, 2) == ledger.rollouts("policy", "p", BARE, 2)
    again.close()


def test_what_the_journal_says_goes_before_what_is_stored_elsewhere(tmp_path):
    ledger = Ledger(tmp_path / "j")
    ledger.add("policy", "p", BARE, drawn(0))
    ledger.add_outcomes("policy", "p", BARE, {0: RIGHT})
    other = LedgerRow("policy", "p", BARE, Completion("other", "stop", 1, 0), UNKNOWN)
    ledger.add_stored([other])
    assert rows(ledger) == [row(0, RIGHT)]
    ledger.close()


@pytest.mark.parametrize("first_prefix_known", [True, False])
def test_a_full_disk_leaves_the_ledger_no_further_than_its_journal(
    tmp_path, monkeypatch, first_prefix_known
):
    def full(fd, data):
        raise OSError(errno.ENOSPC, "no space")

    ledger = Ledger(tmp_path / "j")
    if first_prefix_known:
        ledger.add("policy", "p", BARE, drawn(0))
    before = rows(ledger)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="no space"):
            ledger.add("policy", "p", BARE, drawn(1))
        with pytest.raises(OSError, match="no space"):
            ledger.add_outcomes("policy", "p", BARE, {0: RIGHT})
    assert rows(ledger) == before
    ledger.add("policy", "p", TWO_STEPS, drawn(0))
    ledger.add("policy", "p", BARE, drawn(1))
    held = rows(ledger)
    ledger.close()
    assert reopened(tmp_path / "j") == held
