"""Every completion that was paid for, by policy, problem, prefix and draw; asked before a policy.

A ledger covers the problems of one shard. It is filled from the shard's journal (a run that
continues), from the rollouts of finished shards (a run that grows or reuses another), and from the
policy; what is new goes to the journal before anyone sees it. The verdict on a completion is kept
beside it, so that a rerun follows the same path even where a check was near its time limit. The
problem is part of the key, since two may ask the same with different reference answers.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stepmill.annotators.rollouts import Rollout
from stepmill.engines.base import Prefix
from stepmill.pipelines.journal import Journal, Record
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
    """The draws of one policy at one prefix of one problem."""

    policy: str
    problem_id: str
    prefix: Prefix
    completions: dict[int, Completion] = field(default_factory=dict)
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    number: int | None = None
    """What the journal calls it; None while the journal does not know it."""


class Ledger:
    """The stored completions of one shard.

    Args:
        path: the shard's journal; its sound records are loaded, and new ones appended.

    Raises:
        UserError: another process writes this journal.
    """

    def __init__(self, path: Path) -> None:
        self._entries: dict[tuple[str, str, str, str], _Entry] = {}
        self._numbered: list[_Entry] = []
        self._journal = Journal(path, self._load)
        self.n_continued = self.n_completions
        """Completions found in the journal."""

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

    def missing(self, policy: str, problem_id: str, prefix: Prefix, n: int) -> list[int]:
        """Indices below `n` that are not stored yet, increasing."""
        stored = self._entry(policy, problem_id, prefix).completions
        return [i for i in range(n) if i not in stored]

    def add(
        self, policy: str, problem_id: str, prefix: Prefix, completions: Iterable[Completion]
    ) -> None:
        """Store new completions of `prefix`; they are journalled when this returns.

        Raises:
            OSError: the disk is full; then none of them is stored.
        """
        entry = self._entry(policy, problem_id, prefix)
        new = {completion.draw: completion for completion in completions}
        self._append(entry, map(_completion_record, new.values()))
        entry.completions.update(new)

    def add_outcomes(
        self, policy: str, problem_id: str, prefix: Prefix, outcomes: Mapping[int, Outcome]
    ) -> None:
        """Store verdicts by draw; they are journalled when this returns.

        Raises:
            OSError: the disk is full; then none of them is stored.
        """
        entry = self._entry(policy, problem_id, prefix)
        self._append(entry, (_outcome_record(draw, o) for draw, o in outcomes.items()))
        entry.outcomes.update(outcomes)

    def unchecked(self, policy: str, problem_id: str, prefix: Prefix, n: int) -> list[Completion]:
        """Stored draws below `n` that have no verdict yet, by increasing index."""
        entry = self._entry(policy, problem_id, prefix)
        return [
            entry.completions[i]
            for i in range(n)
            if i in entry.completions and i not in entry.outcomes
        ]

    def rollouts(self, policy: str, problem_id: str, prefix: Prefix, n: int) -> list[Rollout]:
        """The first `n` draws at `prefix`, all stored and checked by now."""
        entry = self._entry(policy, problem_id, prefix)
        return [Rollout(entry.completions[i], entry.outcomes[i]) for i in range(n)]

    def rows(self) -> Iterator[LedgerRow]:
        """Everything stored, in no particular order."""
        for entry in self._entries.values():
            for draw, completion in entry.completions.items():
                yield LedgerRow(
                    entry.policy,
                    entry.problem_id,
                    entry.prefix,
                    completion,
                    entry.outcomes.get(draw),
                )

    def close(self) -> None:
        """Sync and close the journal."""
        self._journal.close()

    def _entry(self, policy: str, problem_id: str, prefix: Prefix) -> _Entry:
        key = policy, problem_id, prefix.question, prefix.text
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(policy, problem_id, prefix)
        return entry

    def _append(self, entry: _Entry, records: Iterable[Record]) -> None:
        """Journal records of one entry, and before the first of them what they speak of."""
        number = len(self._numbered) if entry.number is None else entry.number
        batch = [{**record, "at": number} for record in records]
        if entry.number is None:
            batch.insert(0, _prefix_record(number, entry))
        self._journal.append(batch)
        if entry.number is None:
            entry.number = number
            self._numbered.append(entry)

    def _load(self, record: Record) -> None:
        if record["t"] == "prefix":
            prefix = Prefix(record["question"], record["text"])
            entry = self._entry(record["policy"], record["problem"], prefix)
            entry.number = record["at"]
            self._numbered[entry.number :] = [entry]
            return
        entry = self._numbered[record["at"]]
        if record["t"] == "completion":
            entry.completions[record["draw"]] = _completion(record)
        else:
            entry.outcomes[record["draw"]] = Outcome(
                Verdict(record["verdict"]), record["answer"], record["reason"]
            )


def _prefix_record(number: int, entry: _Entry) -> Record:
    return {
        "t": "prefix",
        "at": number,
        "policy": entry.policy,
        "problem": entry.problem_id,
        "question": entry.prefix.question,
        "text": entry.prefix.text,
    }


def _completion_record(completion: Completion) -> Record:
    record: Record = {
        "t": "completion",
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


def _completion(record: Record) -> Completion:
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


def _outcome_record(draw: int, outcome: Outcome) -> Record:
    return {
        "t": "outcome",
        "draw": draw,
        "verdict": outcome.verdict,
        "answer": outcome.answer,
        "reason": outcome.reason,
    }
