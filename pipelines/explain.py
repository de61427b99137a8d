"""A pydantic error in words that a person can act on.

Each wrong field is named by its dotted path; an unknown key comes with the keys that are allowed
there and the nearest of them. Pydantic's own location also names the branch of a union that it
took; the user never wrote that, so it is left out of the path and used to choose the branch.
"""

import re
from collections.abc import Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

from stepmill.registry import closest


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """One line over all fields of `model` that are wrong."""
    return "; ".join(_explain_one(dict(item), model) for item in error.errors())


def _explain_one(item: dict[str, Any], model: type[BaseModel]) -> str:
    location = item["loc"]
    parts, branches = _follow(location, model)
    path = ".".join(parts)
    if item["type"] == "extra_forbidden":
        _, around = _follow(location[:-1], model)
        allowed = sorted({name for branch in around for name in _fields(branch)})
        hint = closest(str(location[-1]), allowed)
        return f"unknown key {path}.{hint} Allowed here: {', '.join(allowed)}"
    if item["type"] == "missing":
        return f"{path} is missing"
    if item["type"] == "union_tag_not_found":
        field = item["ctx"]["discriminator"].strip("'")
        kinds = [kind for b in branches for kind in get_args(_fields(b)[field].annotation)]
        return f"{path}.{field} is missing; use one of: {', '.join(kinds)}"
    if item["type"] == "union_tag_invalid":
        kinds = re.findall(r"'([^']*)'", item["ctx"]["expected_tags"])
        return f"{path}: {item['msg']}.{closest(item['ctx']['tag'], kinds)}"
    given = item.get("input")
    if item["type"] in ("model_type", "model_attributes_type"):
        return f"{path or 'the file'}: expected keys and values, got {given!r}"
    shown = "" if isinstance(given, (dict, list)) else f", got {given!r}"
    return f"{path or 'the file'}: {item['msg'].removeprefix('Value error, ')}{shown}"


def _follow(location: Sequence[int | str], model: type[BaseModel]) -> tuple[list[str], list[Any]]:
    """Walk along a location: the parts that the user wrote, and the types allowed at its end."""
    path: list[str] = []
    branches: list[Any] = [model]
    for part in location:
        if len(branches) > 1:
            branches = [b for b in branches if _is_called(b, part)]
        else:
            path.append(str(part))
            branches = [b for branch in branches for b in _branches(_inside(branch, part))]
    return path, branches


def _branches(annotation: Any) -> list[Any]:  # noqa: ANN401 - any type expression
    """What a union may be, apart from None; anything else is its own only branch."""
    bare = _bare(annotation)
    if get_origin(bare) in (Union, UnionType):
        return [b for arg in get_args(bare) if arg is not NoneType for b in _branches(arg)]
    return [annotation]


def _is_called(branch: Any, label: int | str) -> bool:  # noqa: ANN401
    """Whether pydantic calls a branch of a union `label`.

    It calls it by its tag, by the one value of the field that tells the branches apart, or by name.
    """
    if get_origin(branch) is Annotated and Tag(str(label)) in get_args(branch)[1:]:
        return True
    values = [get_args(f.annotation) for f in _fields(branch).values()]
    return (label,) in values or getattr(_bare(branch), "__name__", "") == label


def _inside(annotation: Any, part: int | str) -> Any:  # noqa: ANN401
    """The type of a model's field, a mapping's values or a sequence's items."""
    arguments = [arg for arg in get_args(_bare(annotation)) if arg is not ...]
    if isinstance(part, int) and arguments:
        return arguments[min(part, len(arguments) - 1)]
    field = _fields(annotation).get(str(part))
    return arguments[-1] if field is None and arguments else getattr(field, "annotation", None)


def _fields(annotation: Any) -> dict[str, Any]:  # noqa: ANN401
    """Fields of a model; none of anything else."""
    bare = _bare(annotation)
    is_model = isinstance(bare, type) and issubclass(bare, BaseModel)
    return dict(bare.model_fields) if is_model else {}


def _bare(annotation: Any) -> Any:  # noqa: ANN401
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
