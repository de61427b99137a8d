"""Every completion that was paid for, by policy, prefix and draw; a search asks here first.

A ledger covers the problems of one shard. It is filled from the shard's journal (a run that
continues), from the rollouts of finished shards (a run that grows or reuses another), and from the
policy; what is new goes to the journal before anyone sees it. The verdict on a completion is kept
beside it, so that a rerun follows the same path even where a check was near its time limit.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stepmill.annotators.rollouts import Rollout
from stepmill.engines.base import Prefix
from stepmill.pipelines import journal
from stepmill.records import Completion, Outcome, Verdict


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One stored completion with its key; `outcome` is None while it is not checked."""

    policy: str
    problem_id: str
    prefix: Prefix
    completion: Completion
    outcome: Outcome | None


@dataclass(slots=True)
class _Entry:
    """The draws at one prefix."""

    problem_id: str
    prefix: Prefix
    completions: dict[int, Completion]
    outcomes: dict[int, Outcome]


class Ledger:
    """The stored completions of one shard.

    Args:
        path: the shard's journal; its sound records are loaded, and new ones appended.
    """

    def __init__(self, path: Path) -> None:
        self._entries: dict[tuple[str, str], _Entry] = {}
        end = 0
        for record, end in journal.read(path):  # noqa: B007 - the last end is needed below
            self._load(record)
        self.n_continued = self.n_completions
        """Completions found in the journal."""
        self._journal = journal.Journal(path, end)

    @property
    def n_completions(self) -> int:
        """Completions stored, from whatever source."""
        return sum(len(entry.completions) for entry in self._entries.values())

    def add_stored(self, rows: Iterable[LedgerRow]) -> None:
        """Take in completions that are safe elsewhere; they are not written to the journal."""
        for row in rows:
            entry = self._entry(row.policy, row.problem_id, row.prefix)
            draw = row.completion.draw
            entry.completions.setdefault(draw, row.completion)
            if row.outcome is not None:
                entry.outcomes.setdefault(draw, row.outcome)

    def missing(self, policy: str, prefix: Prefix, n: int) -> list[int]:
        """Indices below `n` that are not stored yet, increasing."""
        entry = self._entries.get((policy, prefix.key))
        return [i for i in range(n) if entry is None or i not in entry.completions]

    def add(
        self, policy: str, problem_id: str, prefix: Prefix, completions: Iterable[Completion]
    ) -> None:
        """Store new completions of `prefix`; they are journalled when this returns."""
        known = (policy, prefix.key) in self._entries
        entry = self._entry(policy, problem_id, prefix)
        records: list[journal.Record] = []
        if not known:
            records.append(_prefix_record(policy, problem_id, prefix))
        for completion in completions:
            entry.completions[completion.draw] = completion
            records.append(_completion_record(policy, prefix.key, completion))
        self._journal.append(records)

    def add_outcomes(self, policy: str, prefix: Prefix, outcomes: dict[int, Outcome]) -> None:
        """Store verdicts by draw; they are journalled when this returns."""
        self._entries[policy, prefix.key].outcomes.update(outcomes)
        self._journal.append(
            [_outcome_record(policy, prefix.key, draw, o) for draw, o in outcomes.items()]
        )

    def completion(self, policy: str, prefix: Prefix, draw: int) -> Completion:
        """A stored completion; KeyError when it is not stored."""
        return self._entries[policy, prefix.key].completions[draw]

    def unchecked(self, policy: str, prefix: Prefix, n: int) -> list[int]:
        """Stored draws below `n` that have no verdict yet."""
        entry = self._entries[policy, prefix.key]
        return [i for i in range(n) if i in entry.completions and i not in entry.outcomes]

    def rollouts(self, policy: str, prefix: Prefix, n: int) -> list[Rollout]:
        """The first `n` draws at `prefix`, all stored and checked by now."""
        entry = self._entries[policy, prefix.key]
        return [Rollout(entry.completions[i], entry.outcomes[i]) for i in range(n)]

    def rows(self) -> Iterator[LedgerRow]:
        """Everything stored, in no particular order."""
        for (policy, _), entry in self._entries.items():
            for draw, completion in entry.completions.items():
                yield LedgerRow(
                    policy, entry.problem_id, entry.prefix, completion, entry.outcomes.get(draw)
                )

    def close(self) -> None:
        """Sync and close the journal."""
        self._journal.close()

    def _entry(self, policy: str, problem_id: str, prefix: Prefix) -> _Entry:
        key = policy, prefix.key
        if key not in self._entries:
            self._entries[key] = _Entry(problem_id, prefix, {}, {})
        return self._entries[key]

    def _load(self, record: journal.Record) -> None:
        match record["t"]:
            case "prefix":
                self._entry(
                    record["policy"],
                    record["problem"],
                    Prefix(record["question"], record["text"]),
                )
            case "completion":
                entry = self._entries[record["policy"], record["key"]]
                entry.completions[record["draw"]] = _completion(record)
            case "outcome":
                entry = self._entries[record["policy"], record["key"]]
                entry.outcomes[record["draw"]] = Outcome(
                    Verdict(record["verdict"]), record["answer"], record["reason"]
                )


def _prefix_record(policy: str, problem_id: str, prefix: Prefix) -> journal.Record:
    return {
        "t": "prefix",
        "policy": policy,
        "problem": problem_id,
        "question": prefix.question,
        "text": prefix.text,
    }


def _completion_record(policy: str, key: str, completion: Completion) -> journal.Record:
    record: journal.Record = {
        "t": "completion",
        "policy": policy,
        "key": key,
        "draw": completion.draw,
        "text": completion.text,
        "finish": completion.finish_reason,
        "n": completion.n_tokens,
        "prompt": completion.prompt_tokens,
        "cached": completion.cached_tokens,
    }
    if completion.token_ids is not None:
        record["ids"] = completion.token_ids
    if completion.logprobs is not None:
        record["logprobs"] = completion.logprobs
    return record


def _completion(record: journal.Record) -> Completion:
    ids, logprobs = record.get("ids"), record.get("logprobs")
    return Completion(
        text=record["text"],
        finish_reason=record["finish"],
        n_tokens=record["n"],
        draw=record["draw"],
        token_ids=None if ids is None else tuple(ids),
        logprobs=None if logprobs is None else tuple(logprobs),
        cached_tokens=record["cached"],
        prompt_tokens=record["prompt"],
    )


def _outcome_record(policy: str, key: str, draw: int, outcome: Outcome) -> journal.Record:
    return {
        "t": "outcome",
        "policy": policy,
        "key": key,
        "draw": draw,
        "verdict": outcome.verdict,
        "answer": outcome.answer,
        "reason": outcome.reason,
    }
