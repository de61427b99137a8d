"""Reading the stored parts of a run back into records."""

from pathlib import Path

import pyarrow.compute as pc

from stepmill.pipelines.ledger import LedgerRow
from stepmill.pipelines.parquet import read_table
from stepmill.pipelines.schema import PROBLEMS_SCHEMA, ROLLOUTS_SCHEMA
from stepmill.pipelines.tables import problems_from, rollouts_from
from stepmill.records import Problem


def read_problems(path: Path) -> list[Problem]:
    """The problems of a part, in its order."""
    return problems_from(read_table(path, PROBLEMS_SCHEMA))


def read_rollouts(path: Path, problem_ids: set[str]) -> list[LedgerRow]:
    """The completions of a part that belong to some problems."""
    table = read_table(path, ROLLOUTS_SCHEMA)
    return rollouts_from(table.filter(pc.field("problem_id").isin(sorted(problem_ids))))
