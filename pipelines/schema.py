"""The Arrow schema of everything that Stepmill stores: explicit, versioned, in one place.

A schema that is inferred depends on which shard comes first, and readers then misread labels
without a word (a bool shard before an integer one turns -1 into True). So every file is written
with one of the schemas below, and its metadata carry the table's name and the schema version.

Versions are MAJOR.MINOR. A minor version only adds nullable columns at the top level; a reader
takes the columns that it knows. Anything else is a new major version, which older readers refuse.
Each field carries its meaning in its own metadata; the data set card prints it.
"""

import json
from typing import Any, NamedTuple

import pyarrow as pa

SCHEMA_VERSION = "1.0"
"""Version of all schemas of this module."""
VERSION_KEY = b"stepmill_schema_version"
TABLE_KEY = b"stepmill_table"
"""Keys of a file's metadata."""

_TEXT, _BOOL = pa.string(), pa.bool_()
_I8, _I32, _I64, _F32, _F64 = pa.int8(), pa.int32(), pa.int64(), pa.float32(), pa.float64()


def _field(name: str, kind: pa.DataType, doc: str, *, required: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=not required, metadata={"doc": doc})


def _required(name: str, kind: pa.DataType, doc: str) -> pa.Field:
    return _field(name, kind, doc, required=True)


def features(schema: pa.Schema) -> dict[str, Any]:
    """What `datasets.Features.from_arrow_schema(schema).to_dict()` gives, without `datasets`."""

    def feature(kind: pa.DataType) -> dict[str, Any]:
        if pa.types.is_struct(kind):
            return {field.name: feature(field.type) for field in kind}
        if pa.types.is_list(kind):
            return {"feature": feature(kind.value_type), "_type": "List"}
        names = {"float": "float32", "double": "float64"}
        return {"dtype": names.get(str(kind), str(kind)), "_type": "Value"}

    return {field.name: feature(field.type) for field in schema}


def _schema(table: str, fields: list[pa.Field]) -> pa.Schema:
    schema = pa.schema(fields)
    return schema.with_metadata(
        {
            TABLE_KEY: table,
            VERSION_KEY: SCHEMA_VERSION,
            b"huggingface": json.dumps({"info": {"features": features(schema)}}),
        }
    )


PROBLEMS_SCHEMA = _schema(
    "problems",
    [
        _required("id", _TEXT, "hash of question and answer"),
        _required("question", _TEXT, "the question as the policy sees it"),
        _field("answer", _TEXT, "reference answer"),
        _required("source", _TEXT, "where the problem comes from"),
        _required("domain", _TEXT, "subject, or empty"),
        _required("license", _TEXT, "licence of the source, or empty"),
        _required("meta", _TEXT, "the source's other columns, a JSON object of texts"),
    ],
)

_SPAN = pa.struct(
    [
        _required("start", _I32, "first character, counted in code points"),
        _required("end", _I32, "one past the last character"),
    ]
)

_OUTCOME = [
    _field("answer", _TEXT, "final answer as it was extracted; null when none was found"),
    _field("reason", _TEXT, "which comparison decided, or why nothing did"),
]

SOLUTIONS_SCHEMA = _schema(
    "solutions",
    [
        _required("id", _TEXT, "hash of problem and text"),
        _required("problem_id", _TEXT, "its problem"),
        _required("text", _TEXT, "the whole solution"),
        _required("steps", pa.list_(_SPAN), "spans of the steps, without gaps, in order"),
        _required("verdict", _TEXT, "outcome: correct, incorrect or unknown"),
        *_OUTCOME,
        _required("finish_reason", _TEXT, "stop, length (truncated) or abort"),
        _required("n_tokens", _I32, "generated tokens"),
        _required("policy", _TEXT, "fingerprint of the policy that wrote it"),
        _required("origin", _TEXT, "root, tree or given"),
        _field("token_ids", pa.list_(_I32), "tokens the text was sampled as, where known"),
    ],
)

EVIDENCE_SCHEMA = _schema(
    "evidence",
    [
        _required("solution_id", _TEXT, "its solution"),
        _field("step", _I32, "step from 0; -1: the bare problem; null: the whole solution"),
        _required("channel", _TEXT, "rollouts, outcome, or another source of evidence"),
        _required("policy", _TEXT, "fingerprint of the policy, or name and version of the checker"),
        _field("verdict", _TEXT, "correct, incorrect or unknown"),
        _field("value", _F64, "a number instead of a verdict"),
        _field("c", _I32, "rollouts that ended right"),
        _field("k", _I32, "rollouts with a known outcome"),
        _required("n_truncated", _I32, "rollouts cut by the token limit, not in k"),
        _required("n_unknown", _I32, "rollouts of unknown outcome for another reason, not in k"),
        _required("weight", _F64, "weight of the statement"),
        _required("detail", _TEXT, "a JSON object, or empty"),
        _required("cost_tokens", _I64, "tokens generated for the statement"),
        _required("stop_reason", _TEXT, "why no more draws were spent"),
    ],
)

ROLLOUTS_SCHEMA = _schema(
    "rollouts",
    [
        _required("problem_id", _TEXT, "its problem"),
        _required("question", _TEXT, "the question as it was sent"),
        _required("prefix_key", _TEXT, "hash of question and prefix, as replay looks it up"),
        _required("prefix", _TEXT, "the first steps of a solution; empty for the bare problem"),
        _required("policy", _TEXT, "fingerprint of the policy that drew it"),
        _required("draw", _I32, "index of the draw at its prefix, from 0"),
        _required("text", _TEXT, "the completion, without the prefix"),
        _required("finish_reason", _TEXT, "stop, length (truncated) or abort"),
        _required("n_tokens", _I32, "generated tokens"),
        _required("prompt_tokens", _I32, "tokens of the prompt and the prefix"),
        _field("cached_tokens", _I32, "prompt tokens from the prefix cache, where known"),
        _field("token_ids", pa.list_(_I32), "generated tokens, where kept"),
        _field("logprobs", pa.list_(_F32), "natural-log probability of each token, where kept"),
        _field("verdict", _TEXT, "correct, incorrect or unknown; null: not checked"),
        *_OUTCOME,
    ],
)

_VOTE = pa.struct(
    [
        _field("judge", _TEXT, "the judge model"),
        _field("prompt_hash", _TEXT, "hash of the prompt template"),
        _field("seed", _I64, "seed of the draw"),
        _field("label", _I8, "1 right, 0 wrong, null unknown"),
        _field("score", _F32, "the judge's own score"),
        _field("rationale", _TEXT, "the judge's reply, at the step it calls wrong or the last"),
    ]
)

_VERIFICATION = pa.struct(
    [
        _field("verifier", _TEXT, "name of the verifier"),
        _field("version", _TEXT, "its version"),
        _field("status", _TEXT, "pass, fail, unknown or error"),
        _field("label", _I8, "1 right, 0 wrong, null unknown"),
        _field("claim", _TEXT, "what was checked"),
        _field("evidence", _TEXT, "a JSON object"),
        _field("ms", _F32, "milliseconds it took"),
    ]
)

STEP = pa.struct(
    [
        _field("index", _I32, "position, from 0"),
        _field("text", _TEXT, "text of the step; the texts join to the solution"),
        _field("char_start", _I32, "first character in the solution, counted in code points"),
        _field("char_end", _I32, "one past the last character"),
        _field("token_start", _I32, "first token in the solution, where known"),
        _field("token_end", _I32, "one past the last token, where known"),
        _field("n_rollouts", _I32, "rollouts from this step with a known outcome; null: none"),
        _field("n_correct", _I32, "those that ended right"),
        _field("n_truncated", _I32, "rollouts cut by the token limit, not in n_rollouts"),
        _field("n_unknown", _I32, "rollouts of unknown outcome, not in n_rollouts"),
        _field("stop_reason", _TEXT, "why no more rollouts were spent; empty: never probed"),
        _field("mc_value", _F32, "n_correct / n_rollouts"),
        _field("mc_low", _F32, "lower end of the 95% credible interval of the value"),
        _field("mc_high", _F32, "upper end of it"),
        _field("hard_label", _I8, "1 good, 0 bad, null unknown or masked"),
        _field("rating", _I8, "-1, 0 or 1 where the source has a human rating"),
        _field("soft_label", _F32, "label in [0, 1]"),
        _field(
            "label_source",
            _TEXT,
            "rollout, outcome, judge, inferred, ...; empty: no label",
        ),
        _field("label_reason", _TEXT, "why there is no label; empty: there is one"),
        _field("confidence", _F32, "how sure the hard label is, as its rule has it"),
        _field("after_error", _BOOL, "whether an earlier step is bad"),
        _field("rationale", _TEXT, "reasoning behind the label"),
        _field("judge_votes", pa.list_(_VOTE), "votes of judges; empty: none was asked"),
        _field("verifier_verdicts", pa.list_(_VERIFICATION), "verdicts of verifiers"),
    ]
)

_SAMPLING = pa.struct(
    [
        _field("temperature", _F32, "0 is greedy"),
        _field("top_p", _F32, "nucleus"),
        _field("top_k", _I32, "most likely tokens kept; 0: all"),
        _field("max_tokens", _I32, "limit of one completion"),
        _field("stop", pa.list_(_TEXT), "texts that end a completion"),
    ]
)

POLICY = pa.struct(
    [
        _field("fingerprint", _TEXT, "hash of identity and sampling; joins to rollouts/"),
        _field("engine", _TEXT, "kind of engine"),
        _field("model", _TEXT, "name of the model"),
        _field("identity", _TEXT, "all that decides what the engine writes, a JSON object"),
        _field("sampling", _SAMPLING, "how it draws"),
    ]
)

PROVENANCE = pa.struct(
    [
        _field("generator", POLICY, "wrote the solution"),
        _field("completer", POLICY, "drew the rollouts; null: there were none"),
        _field("seed", _I64, "seed of the run"),
        _field("segmenter", _TEXT, "cut the solution"),
        _field("config_hash", _TEXT, "hash of the configuration behind the evidence"),
        _field("code_version", _TEXT, "version of Stepmill"),
        _field("created_at", pa.timestamp("us", "UTC"), "when the run began"),
    ]
)

DATASET_SCHEMA = _schema(
    "dataset",
    [
        _field("id", _TEXT, "hash of problem and solution"),
        _field("problem_id", _TEXT, "hash of question and reference answer"),
        _field("source", _TEXT, "where the problem comes from"),
        _field("domain", _TEXT, "subject, or empty"),
        _field("license", _TEXT, "licence of the problem's source"),
        _field("prompt", _TEXT, "the question"),
        _field("reference_answer", _TEXT, "the reference"),
        _field("solution", _TEXT, "the whole solution"),
        _field("final_answer", _TEXT, "answer found in the solution"),
        _field("final_correct", _BOOL, "whether it is right; null: unknown"),
        _field("outcome", _TEXT, "correct, incorrect or unknown"),
        _field("outcome_reason", _TEXT, "which comparison decided, or why nothing did"),
        _field("finish_reason", _TEXT, "stop, length (truncated) or abort"),
        _field("n_tokens", _I32, "generated tokens of the solution"),
        _field("origin", _TEXT, "root: sampled from the problem; tree: met in a search; given"),
        _field("simulated", _BOOL, "true: no language model wrote it; for tests only"),
        _field("label_kind", _TEXT, "validity (is the step right) or value (can it end right)"),
        _field("label_rule", _TEXT, "the rule and its settings, a JSON object"),
        _field("first_error", _I32, "index of the first bad step; -1: none; null: unknown"),
        _field("n_correct_0", _I32, "rollouts from the bare problem that ended right"),
        _field("n_rollouts_0", _I32, "rollouts from the bare problem with a known outcome"),
        _field("value_0", _F32, "value of the bare problem, from these counts"),
        _field("n_steps", _I32, "number of steps"),
        _field("steps", pa.list_(STEP), "the steps, in order"),
        _field("provenance", PROVENANCE, "what it takes to repeat the row"),
    ],
)


class FieldDoc(NamedTuple):
    """One line of a schema table."""

    path: str
    """Dotted, `[]` for the items of a list: `steps[].hard_label`."""
    type: str
    doc: str


def describe(schema: pa.Schema) -> list[FieldDoc]:
    """Every field with its meaning; a struct's fields follow it."""
    lines: list[FieldDoc] = []

    def walk(fields: Any, parent: str) -> None:  # noqa: ANN401 - a Schema or a StructType
        for field in fields:
            path, kind = parent + field.name, field.type
            is_list = pa.types.is_list(kind)
            item = kind.value_type if is_list else kind
            struct = pa.types.is_struct(item)
            name = "struct" if struct else str(item)
            doc = (field.metadata or {}).get(b"doc", b"").decode()
            lines.append(FieldDoc(path, f"list<{name}>" if is_list else name, doc))
            if struct:
                walk(item, f"{path}{'[]' if is_list else ''}.")

    walk(schema, "")
    return lines
