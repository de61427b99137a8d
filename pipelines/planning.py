"""What a run will spend, before it spends it.

Without a pilot the figures are bounds that follow from the configuration alone, for solutions of an
assumed number of steps. A pilot runs a few of the problems for real, in a folder of its own, and
scales what they cost to all of them, with a standard error over problems.
"""

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from stepmill.annotators.changepoint import ChangePointSettings
from stepmill.annotators.omegaprm import OmegaPRMSettings
from stepmill.pipelines.config import Config
from stepmill.pipelines.figures import collect_figures
from stepmill.pipelines.run import prepare, run_here
from stepmill.pipelines.rundir import RunDir
from stepmill.pipelines.sources import load_problems
from stepmill.pipelines.workshop import close_workshop


@dataclass(frozen=True, slots=True)
class Amount:
    """An estimated total."""

    total: float
    error: float | None = None
    """Standard error of `total`; None for a bound."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will spend."""

    problems: int
    set_aside: dict[str, int]
    solutions: Amount
    """Completions drawn from bare problems."""
    rollouts: Amount
    """Completions drawn from prefixes."""
    replies: Amount
    """Replies of the judge."""
    tokens: Amount
    """Generated tokens."""
    seconds: float | None
    """At the pilot's speed; None without a pilot."""
    basis: str
    """What the figures rest on, in words."""


def bound(config: Config, steps: int) -> Plan:
    """The most that a run can spend, if every solution has `steps` steps."""
    problems = load_problems(config.problems)
    n = len(problems.problems)
    drawn = n * config.solutions.n
    rollouts = n * _rollouts_per_problem(config, steps)
    replies = n * _replies_per_problem(config)
    limit = config.policy.sampling.max_tokens
    judge_limit = config.judge.sampling.max_tokens if config.judge else 0
    return Plan(
        problems=n,
        set_aside=problems.counts(),
        solutions=Amount(drawn),
        rollouts=Amount(rollouts),
        replies=Amount(replies),
        tokens=Amount((drawn + rollouts) * limit + replies * judge_limit),
        seconds=None,
        basis=f"upper bounds for solutions of {steps} steps and completions of {limit} tokens;"
        " --pilot 5 measures instead",
    )


def _rollouts_per_problem(config: Config, steps: int) -> int:
    """Draws from prefixes of one problem at most; made-up draws for unknown ones are left out."""
    search, halvings = config.search, math.ceil(math.log2(max(2, steps)))
    if isinstance(search, OmegaPRMSettings):
        # The budget is looked at between searches, so the last one may go over it.
        one_search = search.k * halvings
        return min(search.budget + one_search, search.searches * one_search)
    solutions = config.solutions.max_wrong
    if isinstance(search, ChangePointSettings):
        return min(config.solutions.n, solutions) * search.max_draws
    prefixes = halvings if search.method == "binary" else max(0, steps - 1)
    if search.annotate == "all":
        solutions += config.solutions.max_correct
    return min(config.solutions.n, solutions) * prefixes * search.k


def _replies_per_problem(config: Config) -> int:
    """Draws from the judge for one problem at most."""
    judge, chosen = config.judge, config.solutions
    if judge is None:
        return 0
    kept = min(chosen.n, chosen.max_wrong + chosen.max_correct)
    if isinstance(config.search, OmegaPRMSettings):
        kept = config.search.searches + config.search.keep_correct
    return kept * (judge.votes + judge.retries)


def pilot(config: Config, n: int) -> Plan:
    """Run the first `n` problems for real and scale their cost to all of them."""
    problems = load_problems(config.problems)
    total = len(problems.problems)
    n = min(n, total)
    with tempfile.TemporaryDirectory(prefix="stepmill-pilot-") as folder:
        out = Path(folder) / "run"
        small = config.model_copy(
            update={"problems": config.problems.model_copy(update={"limit": n})}
        )
        try:
            prepared = prepare(small, out)
            run_here(prepared, config.run.shards_at_once)
        finally:
            close_workshop(out)
        cost = _cost_per_problem(out)
        seconds = collect_figures(RunDir(out))["seconds"]
    return Plan(
        problems=total,
        set_aside=problems.counts(),
        solutions=_scaled(cost["solutions"], total),
        rollouts=_scaled(cost["rollouts"], total),
        replies=_scaled(cost["replies"], total),
        tokens=_scaled(cost["tokens"], total),
        seconds=seconds * total / n,
        basis=f"a pilot of {n} problems; ± is one standard error over problems. A longer run"
        " batches better, so the time is an upper estimate",
    )


def _cost_per_problem(out: Path) -> pl.DataFrame:
    ids = pl.scan_parquet(out / "problems" / "*.parquet").select(problem_id="id", asked="question")
    own = pl.col("question") == pl.col("asked")  # a judge is asked another question
    spent = (
        pl.scan_parquet(out / "rollouts" / "*.parquet")
        .join(ids, on="problem_id")
        .group_by("problem_id")
        .agg(
            solutions=(own & (pl.col("prefix") == "")).sum(),
            rollouts=(own & (pl.col("prefix") != "")).sum(),
            replies=(~own).sum(),
            tokens=pl.col("n_tokens").sum(),
        )
    )
    return ids.select("problem_id").join(spent, on="problem_id", how="left").fill_null(0).collect()


def _scaled(per_problem: pl.Series, total: int) -> Amount:
    values = [float(v) for v in per_problem.to_list()]
    mean = sum(values) / len(values)
    if len(values) < 2:
        return Amount(mean * total)
    variance = sum((v - mean) ** 2 for v in values) / (len(values) - 1)
    return Amount(mean * total, total * math.sqrt(variance / len(values)))
