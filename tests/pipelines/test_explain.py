"""A small tree of settings with every kind of type that our configurations have."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import Discriminator, Field, Tag, ValidationError, field_validator

from stepmill.pipelines.explain import explain
from stepmill.settings import Settings


class Rule(Settings):
    by: Literal["any", "share"] = "any"
    threshold: float = Field(default=0.5, gt=0, le=1)


class File(Settings):
    kind: Literal["file"] = "file"
    path: str
    columns: dict[str, int] = Field(default_factory=dict)


class Hub(Settings):
    kind: Literal["hub"] = "hub"
    name: str
    split: str = "train"


class Tree(Settings):
    method: Literal["tree"] = "tree"
    budget: int = 10


class Flat(Settings):
    method: str = "scan"
    rule: Rule = Rule()

    @field_validator("method")
    @classmethod
    def _known(cls, value: str) -> str:
        if value != "scan":
            raise ValueError(f"unknown method {value!r}")
        return value


def _which(value: Any) -> str:
    return "t" if isinstance(value, dict) and value.get("method") == "tree" else "f"


Search = Annotated[
    Annotated[Tree, Tag("t")] | Annotated[Flat, Tag("f")],
    Discriminator(_which),
]


class Root(Settings):
    source: File | Hub = Field(default=Hub(name="x"), discriminator="kind")
    sources: list[Annotated[File | Hub, Field(discriminator="kind")]] = Field(default_factory=list)
    search: Search = Flat()
    rule: Rule | None = None
    rules: dict[str, Rule] = Field(default_factory=dict)
    stop: tuple[str, ...] = ()
    pair: tuple[int, Rule] = (0, Rule())
    size: int | Literal["all"] = "all"
    loose: Rule | Tree | None = None


def explained(content: object) -> str:
    with pytest.raises(ValidationError) as caught:
        Root.model_validate(content)
    return explain(caught.value, Root)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"serch": {}},
            "unknown key serch. Did you mean 'search'? Allowed here: loose, pair, rule, rules,"
            " search, size, source, sources, stop",
        ),
        (
            {"rule": {"treshold": 0.5}},
            "unknown key rule.treshold. Did you mean 'threshold'? Allowed here: by, threshold",
        ),
        ({"rule": {"zzz": 0}}, "unknown key rule.zzz. Allowed here: by, threshold"),
        # Only the keys of the branch that was taken, and never pydantic's name for it:
        (
            {"source": {"kind": "file", "path": "a", "split": "x"}},
            "unknown key source.split. Allowed here: columns, kind, path",
        ),
        (
            {"search": {"budget": 3}},
            "unknown key search.budget. Allowed here: method, rule",
        ),
        (
            {"search": {"method": "tree", "rule": {}}},
            "unknown key search.rule. Allowed here: budget, method",
        ),
        (
            {"sources": [{"kind": "hub", "name": "a"}, {"kind": "hub", "name": "a", "path": "b"}]},
            "unknown key sources.1.path. Allowed here: kind, name, split",
        ),
        ({"rules": {"f": {"zzz": 0}}}, "unknown key rules.f.zzz. Allowed here: by, threshold"),
        ({"pair": [1, {"zzz": 0}]}, "unknown key pair.1.zzz. Allowed here: by, threshold"),
    ],
)
def test_an_unknown_key_comes_with_the_keys_allowed_there(content, message):
    assert explained(content) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"source": {"kind": "file"}}, "source.path is missing"),
        (
            {"search": {"rule": {"by": "most"}}},
            "search.rule.by: Input should be 'any' or 'share', got 'most'",
        ),
        (
            {"rules": {"search": {"threshold": 2}}},  # a key that is a field elsewhere
            "rules.search.threshold: Input should be less than or equal to 1, got 2",
        ),
        ({"search": {"method": "scann"}}, "search.method: unknown method 'scann', got 'scann'"),
        ({"stop": ["a", 3]}, "stop.1: Input should be a valid string, got 3"),
        (
            {"source": {"kind": "file", "path": "a", "columns": {"file": "x"}}},
            "source.columns.file: Input should be a valid integer, unable to parse string as an"
            " integer, got 'x'",
        ),
        ({"rule": 3}, "rule: expected keys and values, got 3"),
        ({"search": "scan"}, "search: expected keys and values, got 'scan'"),
        ({"source": 3}, "source: expected keys and values, got 3"),
        ({"stop": {"a": 1}}, "stop: Input should be a valid tuple"),
        (3, "the file: expected keys and values, got 3"),
    ],
)
def test_a_wrong_value_is_named_by_the_path_that_the_user_wrote(content, message):
    assert explained(content) == message


def test_an_unknown_kind_comes_with_the_known_ones():
    assert explained({"source": {"kind": "hug"}}).startswith("source: Input tag 'hug' found")
    assert "'file', 'hub'" in explained({"source": {"kind": "hug"}})


def test_every_way_of_a_plain_union_is_explained():
    assert explained({"size": "most"}) == (
        "size: Input should be a valid integer, unable to parse string as an integer, got 'most';"
        " size: Input should be 'all', got 'most'"
    )


def test_every_way_of_a_union_of_models_without_a_kind_is_explained():
    assert explained({"loose": {"threshold": 2}}) == (
        "loose.threshold: Input should be less than or equal to 1, got 2;"
        " unknown key loose.threshold. Allowed here: budget, method"
    )


def test_all_errors_are_told_at_once():
    assert explained({"stop": 3, "rule": {"threshold": 0}, "zzz": 1}).count("; ") == 2
