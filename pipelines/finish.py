"""From gathered evidence to what a user takes away: data set, figures, card. No model is loaded.

`finish` is a function of a run's stored parts: calling it again, with the same rule or another one,
replaces the data set and leaves the evidence alone. With a name for the view, the data set of the
run stays, and the new one goes to `views/NAME/`, which commands read like a run directory.
"""

import datetime as dt
import re
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from stepmill.errors import UserError
from stepmill.pipelines.card import write_card
from stepmill.pipelines.config import Config, check_config
from stepmill.pipelines.dataset import PolicyFacts, Provenance, build_dataset
from stepmill.pipelines.explain import explain
from stepmill.pipelines.figures import collect_figures
from stepmill.pipelines.labels import LABEL_RULES, LabelSettings
from stepmill.pipelines.rundir import RunDir, read_run_yaml

VIEW_OF = "view_of"
"""Key of a view's run.yaml: the run that it was made from."""


def finish(
    root: Path | str, label: LabelSettings | None = None, view: str | None = None
) -> dict[str, Any]:
    """Write the data set, metrics.json and the card of a run whose shards are done.

    Args:
        root: the run directory.
        label: the rule; the configuration's own when it is left out.
        view: name of the view to write, in place of the run's own data set.

    Returns:
        The figures, as in metrics.json: those of `collect_figures` and of the data set's
        `Summary.as_metrics` under `data`, with the rule under `label`.

    Raises:
        UserError: not a run, shards are missing, or the name of the view is none.
    """
    rundir, stored, config = open_finished(root)
    rule = label or config.label
    out = rundir.root if view is None else view_folder(rundir.root, view)
    with rundir.exclusive():
        shards = finished_shards(rundir)
        if out != rundir.root:
            _prepare_view(rundir, out, stored)
        summary = build_dataset(
            rundir, shards, rule, config.dataset, _provenance(rundir, stored, config), out
        )
        metrics = {
            **collect_figures(rundir),
            "label": rule.model_dump(mode="json"),
            "data": summary.as_metrics(),
        }
        rundir.write_json(out / "metrics.json", metrics)
        write_card(rundir, metrics, stored, out)
    return metrics


def open_finished(root: Path | str) -> tuple[RunDir, dict[str, Any], Config]:
    """A run, what its run.yaml says, and its configuration.

    Raises:
        UserError: not a run directory, or one that holds labels and no evidence.
    """
    rundir, stored = RunDir(root), read_run_yaml(root)
    if "config" not in stored or VIEW_OF in stored:
        whole = stored.get(VIEW_OF)
        advice = f"; it is a view of {whole}, which has it" if whole else ""
        raise UserError(f"{root} has labels only, and no evidence to label anew{advice}")
    return rundir, stored, check_config(stored["config"], str(rundir.config_file))


def view_folder(root: Path, name: str) -> Path:
    """Where the view `name` of a run lies.

    Raises:
        UserError: the name cannot be that of a folder.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise UserError(f"--as {name}: use letters, digits, dots, dashes and underscores")
    return root / "views" / name


def _prepare_view(rundir: RunDir, out: Path, stored: dict[str, Any]) -> None:
    """Let a view tell by itself what it comes from."""
    out.mkdir(parents=True, exist_ok=True)
    facts = {**stored, VIEW_OF: str(rundir.root)}
    rundir.write_text(out / "run.yaml", yaml.safe_dump(facts, sort_keys=False, allow_unicode=True))
    rundir.write_json(out / "policy.json", rundir.read_policy())


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


def finished_shards(rundir: RunDir) -> list[int]:
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
