"""The data set card: README.md of a run, readable by people and by the Hugging Face Hub.

The text is in card.md.jinja; here are its facts. `dataset_info` is left out of the front matter on
purpose: where it is stale, loading fails, and where it is absent, everything loads.
"""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined

from stepmill.pipelines.rundir import RunDir
from stepmill.pipelines.schema import DATASET_SCHEMA, SCHEMA_VERSION, describe

Facts = Mapping[str, Any]

# fmt: off
HUB_LICENSES = frozenset({
    "afl-3.0", "apache-2.0", "bsd-2-clause", "bsd-3-clause", "bsl-1.0", "cc", "cc-by-2.0",
    "cc-by-3.0", "cc-by-4.0", "cc-by-nc-4.0", "cc-by-nc-nd-4.0", "cc-by-nc-sa-4.0",
    "cc-by-nd-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc0-1.0", "gpl-2.0", "gpl-3.0", "lgpl-3.0",
    "mit", "mpl-2.0", "odbl", "odc-by", "openrail", "pddl", "unknown", "unlicense",
})
# fmt: on
"""Licence identifiers that the Hub knows; it refuses a card with any other."""

NOT_SEARCHED = ("all-correct", "none-correct", "outcomes-unknown")
"""Reasons not to search a problem (annotators/annotate.py); its solutions are kept."""

_SIZES = {
    10**3: "n<1K",
    10**4: "1K<n<10K",
    10**5: "10K<n<100K",
    10**6: "100K<n<1M",
    10**7: "1M<n<10M",
    10**8: "10M<n<100M",
    10**9: "100M<n<1B",
}
_ROLES = {"policy": "Solutions by", "completer": "Rollouts by", "judge": "Judged by"}


def write_card(rundir: RunDir, metrics: Facts, run: Facts, out: Path | None = None) -> None:
    """Write README.md of a run whose data set and policy.json are there.

    Args:
        rundir: the run.
        metrics: as in metrics.json.
        run: as in run.yaml.
        out: folder of the card; the run directory itself when left out.
    """
    policy = rundir.read_policy() or {"policies": {}, "checker": "unknown", "simulated": False}
    rundir.write_text((out or rundir.root) / "README.md", render_card(metrics, run, policy))


def render_card(metrics: Facts, run: Facts, policy: Facts) -> str:
    """The card's text; a missing fact raises jinja2.UndefinedError or KeyError.

    Args:
        metrics: `name`, `simulated`, `problems` (`total`, `set_aside`, reasons for no search),
            `surplus`, `completions.total`, `unknown_reasons`, `tokens.generated`, `success_rate`,
            `label` (the rule) and `data` (`Summary.as_metrics`).
        run: `versions.stepmill`, `created`, `fingerprint`, `gather` (settings behind the evidence).
        policy: `policies` by role (`fingerprint`, `engine`, `sampling`) and `checker`.
    """
    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # it is Markdown
    )
    environment.filters.update(thousands=_thousands, cell=_cell)
    environment.globals["table"] = _table
    template = files("stepmill.pipelines").joinpath("card.md.jinja").read_text(encoding="utf-8")
    data = metrics["data"]
    method = {k: run["gather"][k] for k in ("segmenter", "solutions", "checker", "search")}
    policies = {
        role: {"engine": p["engine"], "sampling": p["sampling"]}
        for role, p in policy["policies"].items()
    }
    return environment.from_string(template).render(
        metrics=metrics,
        data=data,
        run=run,
        policy=policy,
        roles=_ROLES,
        front_matter=_yaml(front_matter(metrics)),
        method=_yaml(method),
        policies=_yaml(policies),
        label=_yaml(metrics["label"]),
        licenses={name or "not stated": n for name, n in data["licenses"].items()},
        left_out=_left_out(metrics),
        limits=_limits(metrics),
        columns=describe(DATASET_SCHEMA),
        schema_version=SCHEMA_VERSION,
    )


def front_matter(metrics: Facts) -> dict[str, Any]:
    """What the Hub reads; arguments as for `render_card`."""
    data = metrics["data"]
    tags = ["process-reward-model", "step-labels", f"label-{data['label_kind']}"]
    return {
        **_license(data["licenses"]),
        "pretty_name": metrics["name"],
        "size_categories": [size_category(data["rows"])],
        "tags": [*tags, "simulated"] if metrics["simulated"] else tags,
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": "train", "path": "data/train-*"}],
            }
        ],
    }


def size_category(rows: int) -> str:
    """The Hub's name for a number of rows."""
    for limit, name in _SIZES.items():
        if rows < limit:
            return name
    return "n>1B"


def _license(names: Iterable[str]) -> dict[str, Any]:
    """`license`, and its name where the Hub has no identifier for it."""
    known = sorted({name.lower() if name else "unknown" for name in names}) or ["unknown"]
    if not HUB_LICENSES.issuperset(known):
        return {"license": "other", "license_name": " and ".join(known)}
    return {"license": known[0] if len(known) == 1 else known}


def _left_out(metrics: Facts) -> list[tuple[str, str, int]]:
    """(what, reason, count) of everything that is not there, or has no label."""
    problems = metrics["problems"]
    not_searched = {k: problems.get(k, 0) for k in NOT_SEARCHED}
    groups = [
        ("record of the source set aside", problems["set_aside"]),
        ("problem refused by the engine", {"refused": problems.get("refused", 0)}),
        ("problem not searched for errors", not_searched),
        ("solution not kept", metrics["surplus"]),
        ("solution dropped by a filter", metrics["data"]["dropped"]),
        ("step without a label", metrics["data"]["unlabelled"]),
        ("completion of unknown outcome", metrics["unknown_reasons"]),
    ]
    return [(what, reason, n) for what, counts in groups for reason, n in counts.items() if n]


def _limits(metrics: Facts) -> list[str]:
    data, inferred = metrics["data"], metrics["data"]["sources"].get("inferred", 0)
    limits = [
        "The evidence says what the rollout policy could still do, not what an expert would say:"
        " a policy may recover from a wrong step, and fail after a right one.",
        "A right final answer may be reached by wrong steps.",
    ]
    if data["label_kind"] == "value":
        limits.append(
            "Values hold for the policy that drew the rollouts. Their standard error is about"
            " sqrt(p(1 - p) / k); `mc_low` and `mc_high` give a 95% interval."
        )
    else:
        limits.append(
            "A step from which the policy succeeds with probability p shows no success in k"
            " rollouts with probability (1 - p)^k. `confidence` weighs this per step; `n_correct`"
            " and `n_rollouts` allow any other rule."
        )
    if data["sources"].keys() & {"judge", "consensus"}:
        limits.append(
            "A judge's vote is the opinion of a model. Where the judge is kin to the policy, both"
            " may miss the same errors, and their agreement proves less."
        )
    if inferred:
        limits.append(
            f"{inferred:,} of {sum(data['sources'].values()):,} labels are inferred, not measured:"
            " a success further on, or an error before, was taken as proof. Filter on"
            " `label_source` to leave them out."
        )
    if metrics["simulated"]:
        limits.append("The policy is simulated: nothing here tells of any language model.")
    return limits


def _thousands(n: int) -> str:
    return f"{int(n):,}"  # int() lets a missing fact fail as what it is


def _yaml(value: object) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=96)


def _table(header: tuple[str, str], counts: Mapping[str, int]) -> str:
    """A Markdown table of names and counts."""
    lines = [f"| {header[0]} | {header[1]} |", "|---|---:|"]
    lines += [f"| {_cell(name)} | {n:,} |" for name, n in counts.items()]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Text that cannot break out of a table's cell."""
    return " ".join(text.split()).replace("|", "\\|")
