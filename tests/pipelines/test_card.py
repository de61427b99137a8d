import copy

import duckdb
import polars as pl
import pytest
import yaml
from datasets import load_dataset
from jinja2 import UndefinedError
from tests.pipelines.conftest import POLICY, counts, make_problem, make_solution

from stepmill.pipelines.card import front_matter, render_card, size_category, write_card
from stepmill.pipelines.dataset import DatasetSettings, build_dataset
from stepmill.pipelines.labels import HardRule, SoftRule
from stepmill.pipelines.schema import DATASET_SCHEMA, describe
from stepmill.records import Verdict

RUN = {
    "name": "sums",
    "versions": {"stepmill": "0.1.0"},
    "created": "2026-01-02T03:04:05+00:00",
    "fingerprint": "c0ffee",
    "gather": {
        "segmenter": {"kind": "line"},
        "solutions": {"n": 8},
        "checker": {"kind": "math"},
        "search": {"method": "binary", "k": 8},
        "seed": 7,
    },
}
POLICIES = {
    "policies": {
        "policy": {
            "fingerprint": POLICY,
            "engine": {"kind": "vllm", "model": "acme/solver-1b"},
            "sampling": {"temperature": 0.7},
        }
    },
    "checker": "math/3",
    "simulated": False,
}


def metrics(rule, data):
    return {
        "name": "sums",
        "simulated": False,
        "problems": {
            "total": 1200,
            "searched": 1,
            "set_aside": {"no reference | answer": 17},
            "none-correct": 5,
        },
        "surplus": {"enough-correct": 6},
        "completions": {"total": 34567},
        "unknown_reasons": {"truncated": 8},
        "tokens": {"generated": 1234567},
        "success_rate": 0.5,
        "label": rule.model_dump(mode="json"),
        "data": data,
    }


@pytest.fixture
def facts(rundir, write_part, provenance):
    """Metrics over a data set that was written for it."""
    problem = make_problem("2 + 2?")
    wrong = make_solution(problem, ["a\n", "b\n", "5"], Verdict.INCORRECT)
    cut_off = make_solution(problem, ["c"], Verdict.UNKNOWN)
    right = make_solution(problem, ["d\n", "4"], Verdict.CORRECT)
    evidence = counts(wrong, {0: (3, 8), 1: (0, 8)})
    write_part(0, [problem], [wrong, cut_off, right], evidence)

    def make(rule=None):
        rule = rule or HardRule()
        summary = build_dataset(rundir, [0], rule, DatasetSettings(), provenance)
        return metrics(rule, summary.as_metrics())

    return make


def parts(card):
    """Front matter and text."""
    _, matter, text = card.split("---\n", 2)
    return yaml.safe_load(matter), text


def test_the_hub_finds_licence_size_tags_and_files(facts):
    matter, _ = parts(render_card(facts(), RUN, POLICIES))
    assert matter["license"] == "cc0-1.0"
    assert matter["size_categories"] == ["n<1K"]
    assert "process-reward-model" in matter["tags"]
    assert matter["configs"] == [
        {"config_name": "default", "data_files": [{"split": "train", "path": "data/train-*"}]}
    ]
    assert "dataset_info" not in matter


def test_a_folder_with_its_card_loads_by_its_path_alone(facts, rundir, tmp_path):
    found = facts()
    write_card(rundir, found, RUN)
    loaded = load_dataset(str(rundir.root), split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded.num_rows == found["data"]["rows"] == 2
    assert set(loaded.column_names) == set(DATASET_SCHEMA.names)


def test_the_snippets_of_the_card_run(facts, rundir):
    card = render_card(facts(), RUN, POLICIES).replace("path/to/this/folder", str(rundir.root))
    polars_code = card.split("```python\n")[2].split("```")[0]
    names: dict[str, pl.LazyFrame] = {}
    exec(polars_code, names)
    expected = names["steps"].select("id", "index", "hard_label").sort("id", "index").collect()
    sql = card.split("```sql\n")[1].split("```")[0]
    with duckdb.connect() as connection:
        assert sorted(connection.execute(sql).fetchall()) == expected.rows()


def test_everything_left_out_is_there_with_reason_and_count(facts):
    _, text = parts(render_card(facts(), RUN, POLICIES))
    for line in (
        "| record of the source set aside | no reference \\| answer | 17 |",
        "| problem not searched for errors | none-correct | 5 |",
        "| solution not kept | enough-correct | 6 |",
        "| solution dropped by a filter | outcome-unknown | 1 |",
        "| step without a label | after-error | 1 |",
        "| completion of unknown outcome | truncated | 8 |",
    ):
        assert line in text
    assert "duplicates" not in text  # none were dropped


def test_labels_are_counted_by_value_and_by_position(facts):
    _, text = parts(render_card(facts(), RUN, POLICIES))
    assert "| good | 3 |" in text
    assert "| bad | 1 |" in text
    assert "| 1 | 2 | 2 | 0.500 |" in text
    assert "| 2 | 1 | 0 | – |" in text


def test_method_policy_and_figures_are_named(facts):
    _, text = parts(render_card(facts(), RUN, POLICIES))
    for fact in ("acme/solver-1b", POLICY, "math/3", "method: binary", "34,567", "1,234,567"):
        assert fact in text


def test_every_column_is_explained(facts):
    _, text = parts(render_card(facts(), RUN, POLICIES))
    for field in describe(DATASET_SCHEMA):
        assert f"| `{field.path}` | {field.type} |" in text


def test_a_simulated_run_says_so_before_anything_else(facts):
    found = facts()
    assert "imulated" not in render_card(found, RUN, POLICIES).replace("`simulated`", "")
    matter, text = parts(render_card({**found, "simulated": True}, RUN, POLICIES))
    assert "simulated" in matter["tags"]
    assert text.index("**Simulated.**") < text.index("Solutions to problems")


def test_values_are_not_called_right_or_wrong(facts):
    matter, text = parts(render_card(facts(SoftRule()), RUN, POLICIES))
    assert "label-value" in matter["tags"]
    assert "`soft_label`" in text
    assert "hard label |" not in text
    assert "mean value" in text


def test_inferred_labels_are_owned_up_to(facts):
    found = facts()
    assert "1 of 4 labels are inferred" in render_card(found, RUN, POLICIES)
    measured = copy.deepcopy(found)
    del measured["data"]["sources"]["inferred"]
    assert "labels are inferred" not in render_card(measured, RUN, POLICIES)


@pytest.mark.parametrize(
    ("licenses", "expected"),
    [
        ({"MIT": 3}, {"license": "mit"}),
        ({"mit": 1, "cc-by-4.0": 1}, {"license": ["cc-by-4.0", "mit"]}),
        ({"": 2}, {"license": "unknown"}),
        ({}, {"license": "unknown"}),
        ({"House rules": 1}, {"license": "other", "license_name": "house rules"}),
    ],
)
def test_licences_are_given_as_the_hub_knows_them(facts, licenses, expected):
    found = facts()
    found["data"]["licenses"] = licenses
    matter = front_matter(found)
    assert {k: v for k, v in matter.items() if k.startswith("license")} == expected


@pytest.mark.parametrize(
    ("rows", "name"), [(0, "n<1K"), (1000, "1K<n<10K"), (10**6, "1M<n<10M"), (10**9, "n>1B")]
)
def test_size_categories_are_the_hubs(rows, name):
    assert size_category(rows) == name


def test_a_missing_fact_is_an_error_and_not_a_hole(facts):
    found = facts()
    del found["completions"]["total"]
    with pytest.raises(UndefinedError, match="total"):
        render_card(found, RUN, POLICIES)
