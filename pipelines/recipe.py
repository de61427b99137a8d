"""Recipes: files that name a published method and hold the configuration that reproduces it.

A recipe is a configuration without problems and without a model; a user adds both on the command
line. Each file in recipes/ says its source, its cost and where it differs from the paper.
"""

from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from stepmill.engines.embedded import MODELS
from stepmill.errors import UserError
from stepmill.pipelines.config import Config, apply_change, check_config
from stepmill.pipelines.explain import explain
from stepmill.registry import closest
from stepmill.settings import Settings

_SUFFIX = ".yaml"
_WITHOUT_FILE = ("generated", "sample")
"""Kinds of problems that need no file."""


class Recipe(Settings):
    """What one file says."""

    title: str
    """The method, in a line."""
    source: str
    """Paper or code that it comes from."""
    cost: str
    """What it asks of models, beyond the solutions."""
    differs: str
    """Where it differs from its source."""
    config: dict[str, Any]
    """Parts of a configuration."""


def _folder() -> Traversable:
    return files("stepmill.pipelines").joinpath("recipes")


def recipe_names() -> list[str]:
    """Names of all recipes, sorted."""
    names = (file.name for file in _folder().iterdir() if file.name.endswith(_SUFFIX))
    return sorted(name.removesuffix(_SUFFIX) for name in names)


def load_recipe(name: str) -> Recipe:
    """A recipe by its name.

    Raises:
        UserError: there is none of this name.
    """
    known = recipe_names()
    if name not in known:
        raise UserError(
            f"unknown recipe {name!r}; use one of: {', '.join(known)}.{closest(name, known)}"
        )
    text = _folder().joinpath(name + _SUFFIX).read_text(encoding="utf-8")
    try:
        return Recipe.model_validate(yaml.safe_load(text))
    except ValidationError as error:
        raise UserError(f"recipe {name}: {explain(error, Recipe)}") from None


def engine_of(model: str) -> dict[str, Any]:
    """Settings of the engine that runs `model`.

    Args:
        model: the address of a vLLM server; `simulated`; the name of a small model that comes with
            the package, such as `tiny`; else a folder or a name on the Hub, for vLLM.
    """
    if model.startswith(("http://", "https://")):
        return {"kind": "server", "urls": [model]}
    if model == "simulated":
        return {"kind": "simulated"}
    if model == "smollm2" or (MODELS / model / "config.json").is_file():
        return {"kind": "embedded", "model": model}
    return {"kind": "vllm", "model": model}


def recipe_config(
    name: str,
    questions: str,
    model: str | None,
    judge: str | None,
    changes: Sequence[str],
) -> tuple[Config, list[str]]:
    """The configuration of a run by a recipe.

    Args:
        name: of the recipe.
        questions: a file, pattern or folder as for problems of kind `file`; or `generated` or
            `sample`, which need none.
        model: writes solutions and rollouts, as for `engine_of`; None: the small model `tiny`.
        judge: judges, likewise; None: the same model, or the simulated judge of a simulated one.
        changes: such as `search.k=16`; they win over the recipe and over `model`.

    Returns:
        The configuration, and what a user should be told about what was chosen for them.

    Raises:
        UserError: no such recipe, or the changes do not fit.
    """
    recipe, told = load_recipe(name), []
    kind = questions if questions in _WITHOUT_FILE and not Path(questions).exists() else "file"
    problems = {"kind": kind} if kind != "file" else {"kind": kind, "path": questions}
    content: dict[str, Any] = {"name": name, "problems": problems, **recipe.config}
    if kind == "generated":
        content["segmenter"] = {"kind": "line"}  # their solutions have one line per step
    for change in changes:
        apply_change(content, change)
    policy = content.setdefault("policy", {})
    if "engine" not in policy:
        policy["engine"] = engine_of(model or "tiny")
        if model is None:
            told.append(
                "no model was named: the embedded model `tiny` writes the solutions; it knows the"
                " word problems of `generated` and no others (--model NAME takes another)"
            )
    asking = content.get("judge")
    if asking is not None and "engine" not in asking:
        if judge is not None:
            asking["engine"] = _judge_engine(engine_of(judge))
        else:
            asking["engine"] = _judge_engine(policy["engine"])
            who = asking["engine"].get("model") or asking["engine"]["kind"]
            small = ", too small to judge" if asking["engine"]["kind"] == "embedded" else ""
            told.append(f"no judge was named: it is {who}{small} (--judge NAME takes another)")
    return check_config(content, f"recipe {name}"), told


def _judge_engine(engine: dict[str, Any]) -> dict[str, Any]:
    """The engine of a judge: a simulated policy writes word problems and cannot judge them."""
    return {"kind": "simulated-judge"} if engine.get("kind") == "simulated" else engine
