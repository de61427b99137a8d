"""The configuration of a run: one YAML file, checked once, with near misses suggested.

    name, problems, policy, [completer], [judge], segmenter, solutions, checker, search, label,
    dataset, run

The settings of a part are defined beside the part; here they are only put together, read, and
explained when they are wrong. `gather_part` is what decides the evidence: it is the run's
fingerprint. Labels are views and may change over the same evidence.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import Field, ValidationError, field_validator

from stepmill.annotators.annotate import SearchSettings, SolutionSettings, StepSearchSettings
from stepmill.annotators.judge import JudgeSettings
from stepmill.annotators.judge_reply import GUIDE
from stepmill.engines.base import ENGINES, Engine, Policy
from stepmill.engines.kinds import load_engine_kinds
from stepmill.errors import UserError
from stepmill.pipelines.dataset import DatasetSettings
from stepmill.pipelines.explain import explain
from stepmill.pipelines.labels import HardRule, LabelSettings
from stepmill.pipelines.segmenters import LineSettings, SegmenterSettings
from stepmill.pipelines.sources import SourceSettings
from stepmill.records import SamplingParams, content_id
from stepmill.settings import Settings
from stepmill.verifiers.checkers import CheckerSettings, MathCheckerSettings


class SamplingSettings(Settings):
    """How a policy draws."""

    temperature: float = Field(default=0.7, ge=0, le=2)
    """0 is greedy; rollouts need variety, so stay above 0 for them."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Nucleus of the distribution that is kept."""
    top_k: int = Field(default=0, ge=0)
    """Most likely tokens that are kept; 0 keeps all."""
    max_tokens: int = Field(default=512, ge=1)
    """Tokens of one completion at most; one that reaches it is truncated, its outcome unknown."""
    stop: tuple[str, ...] = ()
    """Texts that end a completion; they are not part of it."""
    logprobs: bool = False
    """Keep the log-probability of every generated token."""

    def params(self) -> SamplingParams:
        """The same as a hot record."""
        return SamplingParams(**self.model_dump())


class PolicySettings(Settings):
    """A model and how it draws."""

    engine: dict[str, Any]
    """`kind` (embedded, vllm, server, replay, simulated, …) and the settings of that kind."""
    sampling: SamplingSettings = SamplingSettings()
    """How it draws."""

    @field_validator("engine")
    @classmethod
    def _known_kind(cls, value: dict[str, Any]) -> dict[str, Any]:
        load_engine_kinds()
        if "kind" not in value:
            raise ValueError(f"needs `kind`, one of: {', '.join(ENGINES)}")
        kind = ENGINES[value["kind"]]
        options = {k: v for k, v in value.items() if k != "kind"}
        try:
            settings = kind.settings.model_validate(options)
        except ValidationError as error:
            raise ValueError(explain(error, kind.settings)) from None
        return {"kind": value["kind"], **settings.model_dump(mode="json")}

    def open_engine(self) -> Engine:
        """Build the engine; `Engine.start` loads it."""
        kind = ENGINES[self.engine["kind"]]
        options = {k: v for k, v in self.engine.items() if k != "kind"}
        return kind.open(kind.settings.model_validate(options))

    def policy(self, engine: Engine, seed: int) -> Policy:
        """The engine with these sampling settings."""
        return Policy(engine, self.sampling.params(), seed)


class JudgePartSettings(PolicySettings, JudgeSettings):
    """A model that judges solutions, and how it is asked."""

    def policy(self, engine: Engine, seed: int) -> Policy:
        """The engine with these sampling settings, and the guide if there is to be one."""
        params = replace(self.sampling.params(), guide=GUIDE if self.guided else "")
        return Policy(engine, params, seed)


class RunSettings(Settings):
    """How the work is cut and driven; none of it changes what is found, but for the seed."""

    seed: int = 0
    """Seed of the run; every draw's own seed is a hash of it."""
    shard_size: int = Field(default=200, ge=1)
    """Problems per shard, the unit of work, retry and distribution: minutes, not seconds."""
    shards_at_once: int = Field(default=2, ge=1)
    """Shards in work at a time: the tail of one does not idle the engine."""
    in_flight: int = Field(default=256, ge=1)
    """Draws asked for and not answered yet, over all shards of a process. Keep it above what the
    engine batches."""
    active_problems: int = Field(default=256, ge=1)
    """Problems of one shard in work at a time."""


class Config(Settings):
    """A whole run."""

    name: str = Field(default="run", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Name of the data set on its card and in Prefect."""
    problems: SourceSettings
    """Where the problems come from."""
    policy: PolicySettings
    """Writes the solutions."""
    completer: PolicySettings | None = None
    """Draws the rollouts; the policy itself when it is left out."""
    judge: JudgePartSettings | None = None
    """Asked for the first wrong step of each solution; nobody is asked when it is left out."""
    segmenter: SegmenterSettings = LineSettings()
    """Cuts solutions into steps."""
    solutions: SolutionSettings = SolutionSettings()
    """How many solutions, and which problems are worth a search."""
    checker: CheckerSettings = MathCheckerSettings()
    """Decides whether a final answer is right."""
    search: SearchSettings = StepSearchSettings()
    """Which prefixes rollouts are spent on."""
    label: LabelSettings = HardRule()
    """How evidence becomes labels; change it later with no model."""
    dataset: DatasetSettings = DatasetSettings()
    """What is left out of the data set."""
    run: RunSettings = RunSettings()
    """How the work is cut and driven."""

    def gather_part(self) -> dict[str, Any]:
        """Plain values of everything that decides the evidence of a problem."""
        dumped = self.model_dump(
            mode="json",
            include={
                "policy",
                "completer",
                "judge",
                "segmenter",
                "solutions",
                "checker",
                "search",
            },
        )
        for role in ("policy", "completer", "judge"):
            if dumped[role] is not None:
                engine = dumped[role]["engine"]
                operational = ENGINES[engine["kind"]].operational
                dumped[role]["engine"] = {k: v for k, v in engine.items() if k not in operational}
        return {**dumped, "seed": self.run.seed}

    @property
    def fingerprint(self) -> str:
        """Hash of `gather_part`."""
        return content_id("gather", self.gather_part())


_NOT_YAML = (yaml.YAMLError, ValueError, RecursionError)
"""What PyYAML raises: its own error, and those of too large a number and too deep a nesting."""


class _Loader(yaml.SafeLoader):
    """Plain values without dates: nothing here is one, and `name: 2026-12-01` is a text.

    It has its own table of resolvers, since libraries change the one of yaml.SafeLoader.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own attribute
        first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def load_config(path: Path | str, changes: list[str] | None = None) -> Config:
    """Read a configuration file, apply `key=value` changes, check it.

    Args:
        path: YAML file. Relative paths inside it start at the working directory.
        changes: such as `search.k=16`; values are read as YAML.

    Raises:
        UserError: the file is missing, is not YAML, or does not fit; one message for all of it.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"there is no configuration file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"configuration file {path} cannot be read: {error}") from None
    try:
        content = yaml.load(text, _Loader)
    except _NOT_YAML as error:
        where = getattr(error, "problem_mark", None)
        place = f", line {where.line + 1}, column {where.column + 1}" if where else ""
        what = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise UserError(f"{path}{place}: not valid YAML: {what}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: expected keys and values, such as `problems:`, at the top level")
    for change in changes or []:
        apply_change(content, change)
    return check_config(content, str(path))


def check_config(content: dict[str, Any], origin: str) -> Config:
    """Check plain values against the schema.

    Raises:
        UserError: says every field that is wrong, with what is allowed.
    """
    try:
        return Config.model_validate(content)
    except ValidationError as error:
        raise UserError(f"{origin}: {explain(error, Config)}") from None


def apply_change(content: dict[str, Any], change: str) -> None:
    """Set one value of nested mappings, from words such as `search.k=16`.

    Raises:
        UserError: the words are off, or a key lies inside of a plain value.
    """
    key, sign, value = change.partition("=")
    if not sign or not key:
        raise UserError(f"--set {change}: write it as key=value, such as search.k=16")
    try:
        parsed = yaml.load(value, _Loader)
    except _NOT_YAML:
        raise UserError(f"--set {change}: the value is not valid YAML") from None
    *parents, last = key.split(".")
    for name in parents:
        child = content.setdefault(name, {})
        if not isinstance(child, dict):
            raise UserError(f"--set {change}: {name} holds {child!r}, which has no keys")
        content = child
    content[last] = parsed


S = TypeVar("S", bound=Settings)


def settings_from(model: type[S], changes: list[str]) -> S:
    """Settings of one part from `key=value` words of a command line.

    Raises:
        UserError: a word is off, or a value does not fit.
    """
    content: dict[str, Any] = {}
    for change in changes:
        apply_change(content, change)
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise UserError(f"--set: {explain(error, model)}") from None


def schema() -> dict[str, Any]:
    """JSON schema of the configuration, with the settings of every known engine."""
    load_engine_kinds()
    found = Config.model_json_schema()
    kinds: dict[str, Any] = {}
    for name in ENGINES:
        kind = ENGINES[name].settings.model_json_schema(ref_template="#/$defs/{model}")
        found["$defs"].update(kind.pop("$defs", {}))
        kind["properties"] = {"kind": {"const": name}, **kind.get("properties", {})}
        kind["required"] = ["kind", *kind.get("required", [])]
        kinds[f"engine-{name}"] = kind
    found["$defs"].update(kinds)
    for part in ("PolicySettings", "JudgePartSettings"):
        found["$defs"][part]["properties"]["engine"] = {
            "description": "`kind` and the settings of that kind.",
            "oneOf": [{"$ref": f"#/$defs/{name}"} for name in kinds],
        }
    return found
