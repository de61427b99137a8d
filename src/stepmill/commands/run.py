"""`stepmill run CONFIG`: the main job."""

import argparse
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from stepmill.commands.display import print_summary, program, watching
from stepmill.errors import StepmillError, UserError
from stepmill.pipelines.config import Config, load_config
from stepmill.pipelines.finish import finish
from stepmill.pipelines.recipe import recipe_config
from stepmill.pipelines.run import Prepared, prepare, run_here
from stepmill.pipelines.workshop import close_workshop, request_stop, workshop

PREFECT_DEFAULTS = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    # The first start of a temporary server migrates its database and takes tens of seconds.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    # Everything still goes to the server's log; the console is ours.
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
}


def config_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of every command that takes a whole run."""
    parser.add_argument(
        "config",
        metavar="CONFIG",
        help="YAML file (`stepmill config --schema`); with --recipe the questions: a file, a"
        " folder, or `generated`",
    )
    parser.add_argument(
        "--recipe", metavar="NAME", help="a method by name in place of a file; `stepmill recipes`"
    )
    parser.add_argument(
        "--model",
        help="with --recipe: a model for vLLM, the address of a server, or `tiny` (the default)",
    )
    parser.add_argument("--judge", help="with --recipe: the judge's model (default: the same)")
    parser.add_argument("--out", type=Path, help="run directory (default: runs/NAME)")
    parser.add_argument("--limit", type=int, help="use only the first LIMIT problems")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change one key of the configuration, such as search.k=16; repeatable",
    )


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    config_arguments(parser)
    parser.add_argument(
        "--reuse",
        action="append",
        default=[],
        type=Path,
        metavar="RUN",
        help="use the completions that another run has stored; repeatable",
    )
    parser.add_argument(
        "--no-prefect", action="store_true", help="call the same functions with no Prefect server"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")


def read_options(options: argparse.Namespace) -> tuple[Config, Path]:
    """Configuration and run directory that the options ask for."""
    changes = list(options.set)
    if options.limit is not None:
        if options.limit < 1:
            raise UserError(f"--limit {options.limit}: must be at least 1")
        changes.append(f"problems.limit={options.limit}")
    if options.recipe is not None:
        config, told = recipe_config(
            options.recipe, options.config, options.model, options.judge, changes
        )
        for line in told:
            print(f"stepmill: {line}", file=sys.stderr)
    elif options.model or options.judge:
        raise UserError("--model and --judge go with --recipe; a file names its own models")
    else:
        config = load_config(options.config, changes)
    return config, options.out or Path("runs") / config.name


def main(options: argparse.Namespace) -> int:
    """Run the job; a second call continues it."""
    config, out = read_options(options)
    prepared = prepare(config, out, options.reuse)
    with _Stopper(out) as stopper:
        try:
            metrics = _run(config, prepared, options)
        except StepmillError as error:
            if isinstance(error, UserError) and not stopper.pressed:
                raise  # says itself what to do
            print(f"what is done is kept; to continue: {stopper.again}", file=sys.stderr)
            if stopper.pressed:
                return 130
            raise
        finally:
            close_workshop(out)
    print_summary(metrics, out, as_json=options.json)
    return 0


def _run(config: Config, prepared: Prepared, options: argparse.Namespace) -> dict[str, Any]:
    """Do what is left, through Prefect unless it is not wanted; returns the run's figures."""
    if not prepared.todo:
        return finish(prepared.root)
    loading = _Background(lambda: workshop(prepared.root))
    with watching(prepared, quiet=options.json):
        if options.no_prefect:
            loading.result()
            run_here(prepared, config.run.shards_at_once)
            return finish(prepared.root)
        for name, value in PREFECT_DEFAULTS.items():
            os.environ.setdefault(name, value)
        from stepmill.flows.annotate import annotate

        loading.result()  # a model that does not load is said before a flow run is made of it
        return annotate(config, str(prepared.root), [str(p) for p in options.reuse])


class _Background:
    """Runs a function in a thread and hands its exception to whoever asks for the result."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._error: BaseException | None = None

        def call() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - raised again in `result`
                self._error = error

        self._thread = threading.Thread(target=call, daemon=True)
        self._thread.start()

    def result(self) -> None:
        """Wait; raise what the function raised."""
        while self._thread.is_alive():
            self._thread.join(0.2)  # short, so that signals are served
        if self._error is not None:
            raise self._error


class _Stopper:
    """First Ctrl-C: finish what is in flight and end in order. Second: end at once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.again = f"{program()} {shlex.join(sys.argv[1:])}"
        self.pressed = False

    def __enter__(self) -> "_Stopper":
        self._previous = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._previous)

    def _on_signal(self, *_: object) -> None:
        if self.pressed:
            with suppress(OSError):
                os.write(2, f"\nstopped at once; to continue: {self.again}\n".encode())
            os._exit(130)
        self.pressed = True
        with suppress(OSError):
            os.write(2, b"\nfinishing what is in flight; Ctrl-C again stops at once\n")
        request_stop(self.root, "interrupted")
