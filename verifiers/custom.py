"""A user's own check, run in a worker process that can be killed.

The function is named `module:function` and must be importable. It is called with the answer that
was found (None when none was), the whole solution, and the problem as a dict with `id`, `question`,
`answer` and `meta`; it returns True, False, or None for unknown.
"""

import importlib
from collections.abc import Callable
from typing import Any

from stepmill.errors import UserError


def load_function(entry: str) -> Callable[..., Any]:
    """The function that an entry names.

    Raises:
        UserError: there is no such function.
    """
    module, colon, name = entry.partition(":")
    if not colon:
        raise UserError(f"a checker's entry is `module:function`, got {entry!r}")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UserError(f"cannot import the checker {entry!r}: {error}") from error
    if not callable(function):
        raise UserError(f"the checker {entry!r} is a {type(function).__name__}, not a function")
    loaded: Callable[..., Any] = function
    return loaded


def build(options: dict[str, str]) -> Callable[[dict[str, Any]], bool | None]:
    """What a worker runs; `options` holds the `entry`."""
    function = load_function(options["entry"])

    def work(job: dict[str, Any]) -> bool | None:
        found = function(job["answer"], job["solution"], job["problem"])
        return None if found is None else bool(found)

    return work
