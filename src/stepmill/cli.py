"""The console command: parse, hand over to a module of `stepmill.commands`, print errors.

Nothing heavy is imported here, so that `stepmill --help` answers at once. A user's mistake ends
with one line on standard error and exit code 2; any other error of ours with exit code 1; an
interrupted run with 130.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from types import ModuleType

import stepmill
from stepmill.errors import StepmillError, Stopped, UserError

COMMANDS = {
    "run": "Generate solutions, gather evidence, write labelled Parquet.",
    "plan": "Say what a run will spend before it spends it.",
    "inspect": "Summarise a run: counts, labels by position, success rates, drops, cost.",
    "show": "Show one solution with its step labels and their evidence.",
    "export": "Write the data set in the format of a trainer or a benchmark.",
    "import": "Read a foreign labelled file into a run directory.",
    "label": "Make the labels of a finished run anew, by another rule, with no model.",
    "recipes": "List published methods that a run can follow by name.",
    "serve": "Run by a schedule, from this process.",
    "deploy": "Register a run for the workers of a Prefect work pool.",
    "config": "Check a configuration, or print the JSON schema.",
    "doctor": "Say what is installed and usable here.",
}
"""Name and help of every command; module `stepmill.commands.<name>` has `arguments` and `main`."""
MODULES = {"import": "importing"}
"""Commands whose name cannot be a module's."""


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """The parser; with `only`, the options of that command alone are built."""
    parser = argparse.ArgumentParser(
        prog="stepmill",
        description="Step-level labels for process reward models.",
        epilog="`stepmill COMMAND --help` says more about one command.",
    )
    parser.add_argument("--version", action="version", version=f"stepmill {stepmill.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, text in COMMANDS.items():
        sub = commands.add_parser(name, help=text, description=text)
        if name == only:
            _module(name).arguments(sub)
    return parser


def _module(command: str) -> ModuleType:
    return importlib.import_module(f"stepmill.commands.{MODULES.get(command, command)}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    try:
        return _call(list(sys.argv[1:] if argv is None else argv))
    except UserError as error:
        print(f"stepmill: {error}", file=sys.stderr)
        return 2
    except Stopped as error:
        print(f"stepmill: stopped: {error}", file=sys.stderr)
        return 130
    except KeyboardInterrupt:  # while modules load; a run itself ends in order
        print("stepmill: interrupted", file=sys.stderr)
        return 130
    except StepmillError as error:
        print(f"stepmill: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has left: `stepmill show … | head`
        sys.stderr.close()
        return 1


def _call(argv: list[str]) -> int:
    """Parse the words and run the command that they name."""
    chosen = next((a for a in argv if a in COMMANDS), None)
    parser = build_parser(only=chosen)
    options = parser.parse_args(argv)
    if options.command is None:
        parser.print_help()
        return 0
    code: int = _module(options.command).main(options)
    return code
