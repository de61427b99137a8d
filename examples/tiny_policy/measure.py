"""Measure a tiny policy through vLLM, and print the tables of its model card.

    python examples/tiny_policy/measure.py OUT/final

One solution is drawn for each of many fresh problems and judged by `stepmill.wordproblems`. Then
wrong solutions are continued from just before their first wrong line, and from just after it.
"""

import argparse
import asyncio
import random
from collections import Counter
from pathlib import Path

import stepmill.engines.vllm  # noqa: F401 - registers the kind
from stepmill.engines.base import ENGINES, Engine, Prefix
from stepmill.records import Completion, SamplingParams
from stepmill.wordproblems import Mistake, WordProblem, diagnose, generate, read_answer

SEED = 1_000_003  # of the problems; training draws from other seeds
PARAMS = SamplingParams(temperature=0.7, max_tokens=220)
ROLLOUTS = 8
Solved = tuple[WordProblem, Completion, Mistake | None]


async def measure(folder: Path, n_problems: int, n_continued: int) -> None:
    """Draw, judge and print."""
    vllm = ENGINES["vllm"]
    settings = vllm.settings.model_validate(
        {
            "model": str(folder),
            "prompt": {"template": "plain"},
            "max_model_len": 512,
            "max_num_seqs": 256,
            "cpu_threads": 1,
        }
    )
    engine = vllm.open(settings)
    await engine.start()
    try:
        problems = generate(SEED, n_problems)
        completions = await draw(engine, [Prefix(p.question) for p in problems], 1)
        solved = [
            (problem, completion, diagnose(problem.question, completion.text))
            for problem, (completion,) in zip(problems, completions, strict=True)
        ]
        print_solutions(solved)
        await continue_wrong(engine, solved, n_continued)
    finally:
        await engine.close()


async def draw(engine: Engine, prefixes: list[Prefix], n: int) -> list[list[Completion]]:
    """`n` completions of each prefix, in their order."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(engine.complete(prefix, range(n), PARAMS, 0)) for prefix in prefixes
        ]
    return [task.result() for task in tasks]


def ends_right(problem: WordProblem, text: str) -> bool:
    """Whether the last line gives the true answer."""
    return read_answer(text.rstrip().split("\n")[-1]) == problem.answer


def print_solutions(solved: list[Solved]) -> None:
    """Success by length, where the first error is, and what it is."""
    right = [ends_right(problem, completion.text) for problem, completion, _ in solved]
    print(f"{len(solved)} problems of 3 to 12 steps, temperature {PARAMS.temperature}")
    print(f"right answer: {share(sum(right), len(right))}")
    wrong = [(p, c, m) for p, c, m in solved if m]
    lucky = sum(ends_right(p, c.text) for p, c, _ in wrong)
    print(f"right answer among solutions with a wrong line: {share(lucky, len(wrong))}")
    cut = sum(c.finish_reason == "length" for _, c, _ in solved)
    print(f"cut by the limit of {PARAMS.max_tokens} tokens: {cut}")
    tokens = sum(c.n_tokens for _, c, _ in solved) / len(solved)
    print(f"tokens of a solution: {tokens:.0f} on average\n")

    print("| steps | problems | right answer |\n| --- | --- | --- |")
    lengths = Counter(len(p.steps) for p, _, _ in solved)
    by_length = Counter(len(p.steps) for (p, _, _), ok in zip(solved, right, strict=True) if ok)
    for n in sorted(lengths):
        print(f"| {n} | {lengths[n]} | {by_length[n] / lengths[n]:.2f} |")

    print("\n| line | reached right | wrong here |\n| --- | --- | --- |")
    errors = Counter(m.line for _, _, m in wrong)
    for line in range(max(errors, default=-1) + 1):
        reached = sum(line <= len(p.steps) and (not m or m.line >= line) for p, _, m in solved)
        print(f"| {line + 1} | {reached} | {share(errors[line], reached)} |")

    print("\n| kind of the first error | share |\n| --- | --- |")
    for kind, count in Counter(m.kind for _, _, m in wrong).most_common():
        print(f"| {kind} | {share(count, len(wrong))} |")


async def continue_wrong(engine: Engine, solved: list[Solved], limit: int) -> None:
    """How often a wrong solution ends right from before and from after its first wrong line."""
    wrong = [(p, c.text, m.line) for p, c, m in solved if m and m.line < c.text.count("\n")]
    wrong = random.Random(0).sample(wrong, min(limit, len(wrong)))
    print(f"\n{len(wrong)} wrong solutions continued {ROLLOUTS} times")
    print("| from | right answer |\n| --- | --- |")
    for name, further in (("before the wrong line", 0), ("after the wrong line", 1)):
        prefixes = [
            Prefix(p.question, "".join(text.splitlines(keepends=True)[: line + further]))
            for p, text, line in wrong
        ]
        found = await draw(engine, prefixes, ROLLOUTS)
        hits = sum(
            ends_right(p, c.text)
            for (p, _, _), completions in zip(wrong, found, strict=True)
            for c in completions
        )
        print(f"| {name} | {share(hits, ROLLOUTS * len(wrong))} |")


def share(count: int, of: int) -> str:
    """A share with its count; empty when there is nothing to share."""
    return f"{count / of:.3f} ({count} of {of})" if of else ""


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="the model, a Hugging Face folder")
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--continued", type=int, default=200, help="wrong solutions to continue")
    args = parser.parse_args()
    asyncio.run(measure(args.folder, args.problems, args.continued))


if __name__ == "__main__":
    main()
