"""Record real success curves: many rollouts at each prefix of wrong solutions by a tiny policy.

    python benchmarks/record_replay.py [OUT] [--models tiny tiny-strong] [--solutions 150]

Each policy runs through vLLM on the word problems of `stepmill.wordproblems`, so the true first
error of a solution is computed from its text. `label_efficiency.py` judges searches on the result.
One row is one prefix: `model`, `solution` (counted per model), `problem` (likewise), `question`,
`text` (of the solution), `first_error` (0-based line), `n_steps`, `step` (steps in the prefix,
0 … n - 1), `right` (bit i: draw i ended with the right answer), `known` (bit i: it ended with an
answer at all), `tokens` (byte i: tokens of draw i) and `shared` (byte i: leading lines that draw i
of the bare problem has in common with the solution; null elsewhere). The texts of the rollouts are
left out: what a search learns from them is in those columns, and the file is 50 times smaller so.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stepmill.engines.base import ENGINES, Engine, Policy, Prefix
from stepmill.engines.embedded import MODELS
from stepmill.engines.kinds import load_engine_kinds
from stepmill.records import Completion, SamplingParams
from stepmill.wordproblems import WordProblem, first_error, generate, read_answer

DRAWS = 64
"""Draws at each prefix: one bit of a 64-bit word each."""
ROOT_DRAWS = 16
"""Draws from the bare problem that may become solutions."""
PARAMS = SamplingParams(temperature=0.7, max_tokens=220)
SCHEMA = pa.schema(
    [
        ("model", pa.string()),
        ("solution", pa.int32()),
        ("problem", pa.int32()),
        ("question", pa.string()),
        ("text", pa.string()),
        ("first_error", pa.int16()),
        ("n_steps", pa.int16()),
        ("step", pa.int16()),
        ("right", pa.uint64()),
        ("known", pa.uint64()),
        ("tokens", pa.binary()),
        ("shared", pa.binary()),
    ]
)


def answer_of(text: str) -> int | None:
    """The number in the last line of `text`; None when that is no answer line."""
    return read_answer(text.strip().rpartition("\n")[2].strip())


def wrong_solutions(problem: WordProblem, drawn: Sequence[Completion], most: int) -> list[str]:
    """At most `most` distinct wrong solutions whose first wrong line is one of their lines."""
    found: dict[str, None] = {}
    for completion in drawn:
        text = completion.text.rstrip("\n")
        lines = text.split("\n")
        answer = answer_of(text)
        if completion.finish_reason != "stop" or answer in (None, problem.answer):
            continue
        if all(line.strip() for line in lines):
            place = first_error(problem.question, text)
            if place is not None and 0 <= place < len(lines):
                found[text] = None
    return list(found)[:most]


async def record(model: str, solutions: int, per_problem: int, seed: int) -> list[dict[str, Any]]:
    """Rows of `solutions` wrong solutions of one model."""
    load_engine_kinds()
    kind = ENGINES["vllm"]
    engine: Engine = kind.open(
        kind.settings.model_validate(
            {
                "model": str(MODELS / model),
                "prompt": {"template": "plain"},
                "max_model_len": 512,
                "max_num_seqs": 256,
                "cpu_threads": 1,
                "engine_args": {"kv_cache_memory_bytes": 256 << 20},
            }
        )
    )
    await engine.start()
    policy = Policy(engine, PARAMS, seed)
    rows: list[dict[str, Any]] = []
    began, done = time.monotonic(), 0

    async def draw(prefix: Prefix, n: int) -> list[Completion]:
        return await engine.complete(prefix, range(n), policy.params, policy.seed)

    async def one(at: int, problem: WordProblem) -> list[list[dict[str, Any]]]:
        drawn = await draw(Prefix(problem.question), DRAWS)
        if all(answer_of(c.text) != problem.answer for c in drawn[:ROOT_DRAWS]):
            return []
        texts = wrong_solutions(problem, drawn[:ROOT_DRAWS], per_problem)
        prefixes = {text[:end] for text in texts for end in ends(text)[:-1]}
        order = sorted(prefixes)
        results = await asyncio.gather(*(draw(Prefix(problem.question, p), DRAWS) for p in order))
        counted = {"": drawn, **dict(zip(order, results, strict=True))}
        return [rows_of(model, at, problem, text, counted) for text in texts]

    problems = generate(seed, 4 * solutions)
    for start in range(0, len(problems), 12):
        batch = problems[start : start + 12]
        for found in await asyncio.gather(*(one(start + i, p) for i, p in enumerate(batch))):
            for rows_of_one in found[: solutions - done]:
                rows += [{**row, "solution": done} for row in rows_of_one]
                done += 1
        rate = engine.stats.generated_tokens / (time.monotonic() - began)
        print(f"{model}: {done} solutions, {len(rows)} prefixes, {rate:.0f} tokens/s", flush=True)
        if done >= solutions:
            break
    await engine.close()
    return rows


def ends(text: str) -> list[int]:
    """End of each line in `text`, its line break included."""
    found, at = [], 0
    for line in text.splitlines(keepends=True):
        at += len(line)
        found.append(at)
    return found


def shared_lines(text: str, other: str) -> int:
    """How many leading lines of `text` are those of `other`, line breaks included."""
    return sum(other.startswith(text[:end]) for end in ends(text)[:-1])


def rows_of(
    model: str, at: int, problem: WordProblem, text: str, counted: dict[str, list[Completion]]
) -> list[dict[str, Any]]:
    """The rows of one solution, `solution` still to be filled in."""
    places = [0, *ends(text)]
    rows = []
    for step, end in enumerate(places[:-1]):
        prefix = text[:end]
        drawn = counted[prefix]
        answers = [answer_of(prefix + c.text) for c in drawn]
        rows.append(
            {
                "model": model,
                "solution": -1,
                "problem": at,
                "question": problem.question,
                "text": text,
                "first_error": first_error(problem.question, text),
                "n_steps": len(places) - 1,
                "step": step,
                "right": sum(1 << i for i, a in enumerate(answers) if a == problem.answer),
                "known": sum(1 << i for i, a in enumerate(answers) if a is not None),
                "tokens": bytes(min(255, c.n_tokens) for c in drawn),
                "shared": None if step else bytes(shared_lines(text, c.text) for c in drawn),
            }
        )
    return rows


def main() -> None:
    """Record and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    folder = Path(__file__).parent / "data"
    parser.add_argument("out", nargs="?", type=Path, default=folder / "tiny_rollouts.parquet")
    parser.add_argument("--models", nargs="+", default=["tiny", "tiny-strong"])
    parser.add_argument("--solutions", type=int, default=150, help="per model")
    parser.add_argument("--per-problem", type=int, default=2, help="wrong solutions of one problem")
    parser.add_argument("--seed", type=int, default=404)
    options = parser.parse_args()
    rows = []
    for model in options.models:
        rows += asyncio.run(record(model, options.solutions, options.per_problem, options.seed))
        options.out.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(
            pa.Table.from_pylist(rows, SCHEMA), options.out, compression="zstd", compression_level=9
        )


if __name__ == "__main__":
    main()
