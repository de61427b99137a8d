import datasets
import pyarrow as pa
import pytest

from stepmill.pipelines import schema

TABLES = {
    "problems": schema.PROBLEMS_SCHEMA,
    "solutions": schema.SOLUTIONS_SCHEMA,
    "evidence": schema.EVIDENCE_SCHEMA,
    "rollouts": schema.ROLLOUTS_SCHEMA,
    "dataset": schema.DATASET_SCHEMA,
}


@pytest.mark.parametrize("name", TABLES)
def test_a_schema_says_which_table_and_version_it_is(name):
    metadata = TABLES[name].metadata
    assert metadata[schema.TABLE_KEY].decode() == name
    assert metadata[schema.VERSION_KEY].decode() == schema.SCHEMA_VERSION


@pytest.mark.parametrize("name", TABLES)
def test_features_are_those_that_datasets_would_infer(name):
    bare = pa.schema(list(TABLES[name]))
    expected = datasets.Features.from_arrow_schema(bare).to_dict()
    assert schema.features(TABLES[name]) == expected


@pytest.mark.parametrize("name", TABLES)
def test_every_field_says_what_it_means(name):
    assert [line.path for line in schema.describe(TABLES[name]) if not line.doc] == []


def test_nested_fields_are_described_under_their_parent():
    lines = {line.path: line.type for line in schema.describe(schema.DATASET_SCHEMA)}
    assert lines["steps"] == "list<struct>"
    assert lines["steps[].hard_label"] == "int8"
    assert lines["provenance.generator.sampling.stop"] == "list<string>"


def test_no_column_is_named_twice_at_one_level():
    for table in TABLES.values():
        paths = [line.path for line in schema.describe(table)]
        assert len(paths) == len(set(paths))
