"""A judge: a policy that is asked, several times, for the first wrong step of a solution.

The question comes from a template (judge_prompt.py), the draws from a `Sampler` like any rollouts,
so they are stored, reused and paid for once. What a reply says is read by judge_reply.py. All
replies are kept in one row of evidence per solution; majorities and agreement with other channels
are label rules and are decided later, with no model.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field, field_validator

from stepmill.annotators.judge_prompt import JudgePrompt, load_prompt
from stepmill.annotators.judge_reply import Vote, read_vote
from stepmill.annotators.rollouts import Rollout, Sampler
from stepmill.engines.base import Prefix, draw_seed
from stepmill.errors import EngineDead, EngineError
from stepmill.records import Evidence, Outcome, Problem, Solution, Verdict
from stepmill.settings import Settings

JUDGE = "judge"
"""Channel of evidence that rests on the votes of a judge."""


class JudgeSettings(Settings):
    """How a judge is asked."""

    votes: int = Field(default=5, ge=1, le=256)
    """Replies that count wanted for each solution."""
    retries: int = Field(default=3, ge=0, le=256)
    """Further draws, for all votes of a solution together, in place of replies that do not count:
    cut, off the form, or contradictory. After these the vote stays unknown."""
    reference: bool = False
    """Show the judge the reference answer (reverse verification, as AURORA has it)."""
    template: str = "first-error-1"
    """Name of a template that comes with the package, or the path of your own `.jinja` file. It has
    the variables `problem`, `paragraphs` and `reference`, and must ask for the same form of
    reply."""
    guided: bool = False
    """Let vLLM draw only replies of the form that is asked for, after at most 2,000 characters of
    reasoning (structured outputs). Other engines pass over it. For small models; a large one keeps
    to the form by itself."""
    first: bool = False
    """Ask before searching, and search no wrong solution in which the judge finds no error or which
    it leaves undecided: it cannot agree with rollouts there. Saves rollouts where only consensus is
    kept; what is not searched has no rollouts for any other rule."""

    @field_validator("template")
    @classmethod
    def _known(cls, name: str) -> str:
        load_prompt(name)  # a UserError with the allowed names
        return name


class NoAnswerCheck:
    """Stands where rollouts have an answer check: a judge's reply has no answer to be checked."""

    version = "judge-reply"

    async def check(self, solution: str, problem: Problem, finish_reason: str) -> Outcome:
        """Unknown, whatever the reply says; `Judge` reads it."""
        return Outcome(Verdict.UNKNOWN, None, self.version)


@dataclass(frozen=True, slots=True)
class Judge:
    """Asks for votes.

    Args:
        sampler: where replies come from.
        settings: how to ask.
        prompt: the template of the settings.
        seed: of the run; only noted.
    """

    sampler: Sampler
    settings: JudgeSettings
    prompt: JudgePrompt
    seed: int = 0

    async def evidence(self, problem: Problem, solution: Solution) -> Evidence:
        """Ask for the votes on one solution; it must have steps.

        Returns:
            Evidence on the whole solution. `verdict` is that of more than half of the votes, as far
            as they tell right from wrong; `n_truncated` and `n_unknown` count replies that do not
            count; `detail` holds every reply. `stop_reason`: `fixed`, `too-few-votes`, or `refused`
            when the engine cannot take the question (too long, say).

        Raises:
            EngineError: the engine failed; asking again may help, or it is gone.
            Stopped: the run is to end.
        """
        settings, n_steps = self.settings, len(solution.steps)
        reference = problem.answer if settings.reference else None
        prefix = Prefix(
            self.prompt.render(problem.question, [s.text for s in solution.steps], reference)
        )
        asked, limit, refusal = settings.votes, settings.votes + settings.retries, ""
        drawn: Sequence[Rollout] = ()
        votes: list[Vote] = []
        while True:
            try:
                drawn = await self.sampler.rollouts(problem, prefix, asked)
            except EngineError as error:
                if error.retryable or isinstance(error, EngineDead):
                    raise
                refusal = str(error)
                break
            votes = [
                read_vote(r.completion.text, n_steps, r.completion.finish_reason) for r in drawn
            ]
            missing = settings.votes - sum(vote.first_error is not None for vote in votes)
            if not missing or asked == limit:
                break
            asked = min(limit, asked + missing)
        return self._row(solution, reference is not None, prefix, drawn, votes, refusal)

    def _row(
        self,
        solution: Solution,
        with_reference: bool,
        prefix: Prefix,
        drawn: Sequence[Rollout],
        votes: Sequence[Vote],
        refusal: str,
    ) -> Evidence:
        counted = [v.first_error for v in votes if v.first_error is not None]
        lost = [v for v in votes if v.first_error is None]
        n_cut = sum(v.reason == "cut" for v in lost)
        replies = [
            self._reply(prefix, rollout, vote) for rollout, vote in zip(drawn, votes, strict=True)
        ]
        detail = {
            "template": self.prompt.name,
            "prompt_hash": self.prompt.digest,
            "reference": with_reference,
            "question": prefix.key,
            "replies": replies,
            **({"refusal": refusal} if refusal else {}),
        }
        enough = len(counted) >= self.settings.votes
        return Evidence(
            solution_id=solution.id,
            step=None,
            channel=JUDGE,
            policy=self.sampler.policy,
            verdict=_verdict(counted),
            n_truncated=n_cut,
            n_unknown=len(lost) - n_cut,
            detail=json.dumps(detail, ensure_ascii=False),
            cost_tokens=sum(r.completion.n_tokens for r in drawn),
            stop_reason="refused" if refusal else "fixed" if enough else "too-few-votes",
        )

    def _reply(self, prefix: Prefix, rollout: Rollout, vote: Vote) -> dict[str, Any]:
        completion = rollout.completion
        return {
            "draw": completion.draw,
            "seed": draw_seed(self.seed, self.sampler.policy, prefix.key, completion.draw),
            "first_error": vote.first_error,
            "reason": vote.reason,
            "tokens": completion.n_tokens,
            "text": completion.text,
        }


def judged_place(row: Evidence) -> int | None:
    """The step that most replies in a judge's evidence name, from 0; the earlier one of equals.

    None when no reply names a step.
    """
    named = [reply["first_error"] for reply in json.loads(row.detail)["replies"]]
    places = sorted(place for place in named if place is not None and place >= 0)
    return max(places, key=places.count, default=None)


def _verdict(first_errors: Sequence[int]) -> Verdict:
    """What more than half of the votes say of the whole solution."""
    without = sum(e == -1 for e in first_errors)
    if 2 * without > len(first_errors):
        return Verdict.CORRECT
    if 2 * (len(first_errors) - without) > len(first_errors):
        return Verdict.INCORRECT
    return Verdict.UNKNOWN
