"""What a person sees while a run works, and at its end.

Nothing is shown while it works when standard error is not a terminal; a log then holds only the
summary and errors.
"""

import json
import os
import shlex
import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stepmill.pipelines.figures import summary_lines
from stepmill.pipelines.run import Prepared
from stepmill.pipelines.workshop import Workshop, open_workshop

REFRESH_SECONDS = 0.25
RATE_SECONDS = 30.0
"""Window over which rates are taken: an estimate that forgets the slow start."""


class Rate:
    """Growth per second of a counter over the last `RATE_SECONDS`."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque()

    def update(self, now: float, value: float) -> float:
        """Note a reading; returns the growth per second, 0 before there are two."""
        self._seen.append((now, value))
        while now - self._seen[0][0] > RATE_SECONDS and len(self._seen) > 2:
            self._seen.popleft()
        (t0, v0), (t1, v1) = self._seen[0], self._seen[-1]
        return (v1 - v0) / (t1 - t0) if t1 > t0 else 0.0


def estimate(left: float, rate: float) -> str:
    """Remaining time in words; `--` while no rate is known."""
    if rate <= 0:
        return "--"
    seconds = int(left / rate)
    hours, minutes = divmod(seconds // 60, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {seconds % 60:02d} s" if minutes else f"{seconds} s"


@contextmanager
def watching(prepared: Prepared, *, quiet: bool) -> Iterator[None]:
    """Show the progress of this process's workshop while the block runs."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:.0f}/{task.total:.0f} problems"),
        TextColumn("{task.fields[rates]}"),
        TimeElapsedColumn(),
        TextColumn("left {task.fields[left]}"),
    )
    finished = threading.Event()
    with Progress(*columns, console=Console(stderr=True), refresh_per_second=4) as bar:
        task = bar.add_task(
            "loading the model",
            total=prepared.n_problems,
            completed=prepared.n_done,
            rates="",
            left="--",
        )
        problems, rollouts, tokens = Rate(), Rate(), Rate()

        def refresh() -> None:
            while not finished.wait(REFRESH_SECONDS):
                found = open_workshop(prepared.root)
                if found is not None:
                    show(found)

        def show(found: Workshop) -> None:
            now, progress = time.monotonic(), found.progress
            done = prepared.n_done + progress.problems_done
            rate = problems.update(now, done)
            bar.update(
                task,
                description=f"annotating {prepared.name}",
                completed=done,
                rates=f"{rate:.1f}/s  {rollouts.update(now, progress.rollouts):,.0f} rollouts/s"
                f"  {tokens.update(now, progress.generated_tokens):,.0f} tokens/s"
                f"  {found.in_flight.level} in flight",
                left=estimate(prepared.n_problems - done, rate),
            )

        thread = threading.Thread(target=refresh, name="stepmill-display", daemon=True)
        thread.start()
        try:
            yield
        finally:
            finished.set()
            thread.join()


def print_summary(metrics: dict[str, Any], out: Path, *, as_json: bool) -> None:
    """The end of a run: its figures and what to do next."""
    if as_json:
        print(json.dumps(metrics, ensure_ascii=False))
        return
    print("\n".join(summary_lines(metrics)))
    call, run = program(), shlex.quote(str(out))
    python = "python" if call == "stepmill" else call.removesuffix("stepmill") + "python"
    print(
        f"\nThe data set is in {out / 'data'}, its card in {out / 'README.md'}.\nNext:\n"
        f"  {call} inspect {run}\n"
        f"  {call} show {run}\n"
        f"  {call} label {run} --rule soft\n"
        f"  {call} export {run} --format trl\n"
        f"  {python} -c \"import datasets; print(datasets.load_dataset('parquet',"
        f" data_dir='{out / 'data'}'))\""
    )


def program() -> str:
    """How this command is called from the same shell: by name where the shell would find it.

    `make demo` runs it in an environment that is not activated, by its path.
    """
    path = Path(sys.argv[0])
    if path.name != "stepmill" or shutil.which("stepmill") is not None:
        return "stepmill"
    return shlex.quote(os.path.relpath(path))
