"""CPU time that the client of vLLM servers takes for each rollout, and requests per second.

A stub server in a process of its own answers on loopback; what is measured is this process: prompts
and prefixes to token ids, routing, HTTP, JSON, records. `--in-flight` many requests are open at a
time, each over its own connection.

    python benchmarks/server_client.py [--requests 4000] [--n 1] [--in-flight 2000] [--latency 0]
"""

import argparse
import asyncio
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection

from stepmill.engines.base import Prefix
from stepmill.engines.server import ServerSettings
from stepmill.engines.server_engine import ServerEngine
from stepmill.engines.stub_server import StubServer
from stepmill.records import SamplingParams


def solution(length: int, prompt: str, seed: int | None) -> str:
    """`length` characters of arithmetic."""
    return ("So 2 + 2 = 4.\n" * (length // 14 + 1))[:length]


def serve(pipe: Connection, latency: float, length: int) -> None:
    """Run a stub server until the pipe says something."""

    async def run() -> None:
        async with StubServer(latency=latency, answer=partial(solution, length)) as stub:
            pipe.send(stub.url)
            await asyncio.to_thread(pipe.recv)
            pipe.send(stub.most_in_flight)

    asyncio.run(run())


@contextmanager
def stub_process(latency: float, length: int) -> Iterator[tuple[str, Connection]]:
    """Address of a stub server in another process, and the pipe to it."""
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=serve, args=(theirs, latency, length))
    process.start()
    try:
        yield ours.recv(), ours
    finally:
        process.join()


async def measure(url: str, args: argparse.Namespace) -> tuple[float, float]:
    """Wall and CPU seconds for all requests."""
    engine = ServerEngine(ServerSettings(urls=(url,), max_in_flight=10_000), None)
    await engine.start()
    params = SamplingParams(max_tokens=args.text)
    # A search asks 8 prefixes of one question; each prefix is new to the tokenizer's cache.
    prefixes = iter(
        [
            Prefix(f"Question {i // 8}: " + "x" * 300, "y" * (i % 8) * 40)
            for i in range(args.requests)
        ]
    )

    async def worker() -> None:
        for prefix in prefixes:
            await engine.complete(prefix, range(args.n), params, 0)

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(args.in_flight)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if engine.stats.completions != args.requests * args.n or engine.stats.retries:
        raise SystemExit(f"requests were lost or repeated: {engine.stats}")
    await engine.close()
    return wall, cpu


def main() -> None:
    """Print one line of figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--n", type=int, default=1, help="draws per request")
    parser.add_argument("--in-flight", type=int, default=2000, help="requests open at a time")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds the server takes")
    parser.add_argument("--text", type=int, default=200, help="tokens per rollout")
    args = parser.parse_args()
    with stub_process(args.latency, args.text) as (url, pipe):
        wall, cpu = asyncio.run(measure(url, args))
        pipe.send("enough")
        most = pipe.recv()
    rollouts = args.requests * args.n
    print(
        f"{args.requests} requests of {args.n}, {most // args.n} at the server at a time:"
        f" {args.requests / wall:.0f} requests/s, {1e3 * cpu / rollouts:.3f} ms of CPU per rollout"
    )


if __name__ == "__main__":
    main()
