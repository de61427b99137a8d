"""From gathered evidence to what a user takes away: data set, figures, card. No model is loaded.

`finish` is a view over a run's stored parts: calling it again, with the same rule or another one,
replaces the data set and leaves the evidence alone.
"""

import datetime as dt
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from stepmill.errors import UserError
from stepmill.pipelines.card import write_card
from stepmill.pipelines.config import Config, check_config
from stepmill.pipelines.dataset import PolicyFacts, Provenance, build_dataset
from stepmill.pipelines.explain import explain
from stepmill.pipelines.figures import collect_figures
from stepmill.pipelines.labels import LABEL_RULES, LabelSettings
from stepmill.pipelines.rundir import RunDir, read_run_yaml


def finish(root: Path | str, label: LabelSettings | None = None) -> dict[str, Any]:
    """Write the data set, metrics.json and the card of a run whose shards are done.

    Args:
        root: the run directory.
        label: the rule; the configuration's own when it is left out.

    Returns:
        The figures, as in metrics.json: those of `collect_figures` and of the data set's
        `Summary.as_metrics` under `data`, with the rule under `label`.

    Raises:
        UserError: not a run, or shards are missing.
    """
    rundir = RunDir(root)
    stored = read_run_yaml(root)
    config = check_config(stored["config"], str(rundir.config_file))
    rule = label or config.label
    with rundir.exclusive():
        shards = _finished_shards(rundir)
        summary = build_dataset(
            rundir, shards, rule, config.dataset, _provenance(rundir, stored, config)
        )
        metrics = {
            **collect_figures(rundir),
            "label": rule.model_dump(mode="json"),
            "data": summary.as_metrics(),
        }
        rundir.write_json(rundir.root / "metrics.json", metrics)
        write_card(rundir, metrics, stored)
    return metrics


def label_rule(label: dict[str, Any]) -> LabelSettings:
    """Settings of a label rule from plain values with the key `rule`.

    Raises:
        UserError: no such rule, or a setting that does not fit.
    """
    settings = LABEL_RULES[label["rule"]].settings
    try:
        found: LabelSettings = TypeAdapter(LabelSettings).validate_python(label)
    except ValidationError:
        try:
            settings.model_validate(label)
        except ValidationError as error:
            raise UserError(f"label rule {label['rule']}: {explain(error, settings)}") from None
        raise
    return found


def _finished_shards(rundir: RunDir) -> list[int]:
    """All planned shards, when each is finished."""
    planned = len(list((rundir.root / "problems").glob("part-*.parquet")))
    missing = [i for i in range(planned) if rundir.read_manifest(i) is None]
    if missing or not planned:
        raise UserError(
            f"{rundir.root}: {len(missing)} of {planned} shards are not done; run it again with"
            " the same command to continue"
        )
    return list(range(planned))


def _provenance(rundir: RunDir, stored: dict[str, Any], config: Config) -> Provenance:
    facts = rundir.read_policy()
    if facts is None:
        raise UserError(f"{rundir.root} has no policy.json: run it again with the same command")
    return Provenance(
        policies=[
            PolicyFacts(p["fingerprint"], p["engine"], p["sampling"])
            for p in facts["policies"].values()
        ],
        simulated=facts["simulated"],
        seed=config.run.seed,
        segmenter=config.segmenter.model_dump_json(),
        config_hash=stored["fingerprint"],
        code_version=stored["versions"]["stepmill"],
        created_at=dt.datetime.fromisoformat(stored["created"]),
    )
