"""A pydantic error in words that a person can act on.

Each wrong field is named by its dotted path; an unknown key comes with the keys that are allowed
there and the nearest of them.
"""

from typing import Any

from pydantic import BaseModel, ValidationError

from stepmill.registry import closest


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """One line over all fields of `model` that are wrong."""
    return "; ".join(_explain_one(dict(item), model) for item in error.errors())


def _explain_one(item: dict[str, Any], model: type[BaseModel]) -> str:
    location = tuple(item["loc"])
    models = _models_at(model, location[:-1])
    path = ".".join(str(part) for part in location if not _is_tag(part, model, location))
    if item["type"] == "extra_forbidden":
        allowed = sorted({name for m in models for name in m.model_fields})
        hint = closest(str(location[-1]), allowed)
        return (
            f"unknown key {path}.{hint}"
            if hint
            else (f"unknown key {path}; allowed here: {', '.join(allowed)}")
        )
    if item["type"] == "missing":
        return f"{path} is missing"
    given = item.get("input")
    shown = "" if isinstance(given, (dict, list)) else f", got {given!r}"
    return f"{path or 'the file'}: {item['msg'].removeprefix('Value error, ')}{shown}"


def _models_at(model: type[BaseModel], location: tuple[Any, ...]) -> list[type[BaseModel]]:
    """Settings models that may stand at `location`; tags of unions are passed over."""
    models = [model]
    for part in location:
        fields = [m.model_fields[part] for m in models if part in m.model_fields]
        if fields:
            models = [found for f in fields for found in _models_in(f.annotation)]
    return models


def _is_tag(part: object, model: type[BaseModel], location: tuple[Any, ...]) -> bool:
    """Whether a part of a location is the tag of a union, which the user never wrote."""
    index = location.index(part)
    if index in (0, len(location) - 1) or isinstance(part, int):
        return False
    models = _models_at(model, location[:index])
    return all(part not in m.model_fields for m in models)


def _models_in(annotation: Any) -> list[type[BaseModel]]:  # noqa: ANN401 - any type expression
    """Models in a type expression, through unions and Annotated."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for arg in getattr(annotation, "__args__", ()) for m in _models_in(arg)]
