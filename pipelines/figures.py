"""The figures of a run, added up from its finished shards, and in words.

Every shard's manifest has counts that add up; what was paid for counts completions that are stored
once each, however often the run was interrupted.
"""

import json
from collections import Counter
from typing import Any

from stepmill.pipelines.rundir import RunDir, read_run_yaml

Figures = dict[str, Any]


def collect_figures(rundir: RunDir) -> Figures:
    """Add up the manifests of a run.

    Keys: `name`, `simulated`, `shards`, `problems` (total, set_aside by reason, searched, refused,
    and the reasons why others were not searched), `solutions` (by outcome, `surplus` by reason),
    `completions` (total, from_problem, from_prefix, and by verdict), `unknown_reasons`, `tokens`
    (generated, prompt, prompt_cached of prompt_cache_known), `success_rate` of the policy on bare
    problems, `seconds` of work, `paid` (what the engine was asked for in the sessions that finished
    a shard) and `tokens_per_second` over them.
    """
    manifests = _manifests(rundir)
    total: Figures = {}
    for manifest in manifests:
        _add(total, manifest["figures"])
    paid: Figures = {}
    for manifest in manifests:
        _add(paid, manifest["spending"])
    set_aside = json.loads((rundir.root / "set_aside.json").read_text(encoding="utf-8"))
    policy = rundir.read_policy() or {}
    root = total.pop("root", {"correct": 0, "known": 0})
    seconds = _union_seconds([(m["began"], m["ended"]) for m in manifests])
    return {
        "name": read_run_yaml(rundir.root)["name"],
        "simulated": policy.get("simulated", False),
        "shards": len(manifests),
        **total,
        "problems": {
            "total": sum(m["rows"]["problems"] for m in manifests),
            "set_aside": dict(Counter(s["reason"] for s in set_aside)),
            **total.get("problems", {}),
        },
        "success_rate": root["correct"] / root["known"] if root["known"] else None,
        "seconds": round(seconds, 3),
        "paid": paid,
        "tokens_per_second": round(paid.get("generated_tokens", 0) / seconds, 1)
        if seconds
        else None,
    }


def _manifests(rundir: RunDir) -> list[Figures]:
    found = []
    for path in sorted((rundir.root / "manifest").glob("*.json")):
        found.append(json.loads(path.read_text(encoding="utf-8")))
    return found


def _add(total: Figures, part: Figures) -> None:
    """Add the numbers of `part` into `total`, key by key."""
    for key, value in part.items():
        if isinstance(value, dict):
            _add(total.setdefault(key, {}), value)
        else:
            total[key] = total.get(key, 0) + value


def _union_seconds(intervals: list[tuple[float, float]]) -> float:
    """Length of the union of intervals: shards overlap, and sessions have gaps between them."""
    seconds, reached = 0.0, float("-inf")
    for began, ended in sorted(intervals):
        seconds += max(0.0, ended - max(began, reached))
        reached = max(reached, ended)
    return seconds


def summary_lines(metrics: Figures) -> list[str]:
    """What a run made and what it cost, a line for each matter."""
    problems, tokens = metrics["problems"], metrics["tokens"]
    completions, data = metrics["completions"], metrics["data"]
    rate, hard, found = metrics["success_rate"], data["hard"], data["first_error"]
    not_searched = {
        reason: problems[reason]
        for reason in ("all-correct", "none-correct", "outcomes-unknown", "refused")
        if problems.get(reason)
    }
    speed = metrics["tokens_per_second"]
    soft = sum(data["sources"].values()) - sum(hard.values())
    lines = [
        f"{metrics['name']}: {data['rows']:,} solutions with {data['steps']:,} steps"
        + (" (SIMULATED: no language model)" if metrics["simulated"] else ""),
        f"  problems     {problems['total']:,}, {problems.get('searched', 0):,} searched"
        + _reasons("; not searched:", not_searched)
        + _reasons("; set aside:", problems["set_aside"]),
        "  success rate "
        + ("unknown" if rate is None else f"{rate:.1%} of the policy's solutions"),
        f"  step labels  {hard.get('good', 0):,} good, {hard.get('bad', 0):,} bad"
        + (f", {soft:,} soft" if soft else "")
        + _reasons("; none:", data["unlabelled"]),
        f"  first error  found in {found.get('found', 0):,}, none in {found.get('none', 0):,},"
        f" unknown in {found.get('unknown', 0):,}",
        f"  completions  {completions['total']:,}: {completions['from_problem']:,} solutions,"
        f" {completions['from_prefix']:,} rollouts"
        + _reasons("; outcome unknown:", metrics["unknown_reasons"]),
        f"  tokens       {tokens['generated']:,} generated, {_cached(tokens)}",
        f"  time         {metrics['seconds']:,.0f} s of work"
        + (f", {speed:,.0f} tokens/s" if speed else ""),
    ]
    judge = metrics.get("judge", {})
    if judge.get("solutions"):
        lines.append(
            f"  judge        {judge['replies']:,} replies on {judge['solutions']:,} solutions,"
            f" {judge['unread']:,} of them no vote"
            + (
                f"; {judge['refused']:,} solutions refused by its engine"
                if judge["refused"]
                else ""
            )
            + (f"; {judge['spared']:,} solutions spared rollouts" if judge["spared"] else "")
        )
    dropped = {reason: n for reason, n in data["dropped"].items() if n}
    if dropped:
        lines.append("  dropped     " + _reasons("", dropped))
    return lines


def _cached(tokens: Figures) -> str:
    if not tokens["prompt"]:
        return "prompt tokens unknown"
    text = f"{tokens['prompt']:,} of prompts"
    if not tokens["prompt_cache_known"]:
        return text
    share = tokens["prompt_cached"] / tokens["prompt_cache_known"]
    return f"{text} ({share:.0%} from the prefix cache)"


def _reasons(before: str, counts: dict[str, int]) -> str:
    """`before` and the counts by reason; empty when there are none."""
    if not counts:
        return ""
    return f"{before} " + ", ".join(f"{n:,} {reason}" for reason, n in counts.items())


def markdown_summary(metrics: Figures) -> str:
    """The same for a page: a title and a code block."""
    title, *rest = summary_lines(metrics)
    return "\n".join([f"# {title}", "", "```", *rest, "```"])
