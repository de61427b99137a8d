"""Named variants of a part, and the door for a user's own.

A registry is a dict from name to factory with one helpful error. A package outside Stepmill adds
to it through the entry-point group `stepmill.plugins`: each entry names a function that takes no
argument and registers what it brings. Plugins load on the first unknown name, so start-up pays
nothing for them.
"""

import difflib
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from stepmill.errors import UserError

T = TypeVar("T")


def closest(name: str, allowed: list[str]) -> str:
    """A hint such as ` Did you mean 'line'?`, or an empty string when nothing is near."""
    near = difflib.get_close_matches(name, allowed, n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


class Registry(Generic[T]):
    """Names of the variants of one part, for example segmenters.

    Args:
        part: what the variants are, in the singular, for messages.
    """

    _plugins_loaded = False

    def __init__(self, part: str) -> None:
        self.part = part
        self._items: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator that files its target under `name`; a taken name raises ValueError."""

        def add(item: T) -> T:
            if name in self._items:
                raise ValueError(f"{self.part} {name!r} is registered already")
            self._items[name] = item
            return item

        return add

    def __getitem__(self, name: str) -> T:
        name = str(name)  # a configuration may hold a number or a list where a name belongs
        if name not in self._items:
            self._load_plugins()
        if name not in self._items:
            names = sorted(self._items)
            raise UserError(
                f"unknown {self.part} {name!r}; use one of: {', '.join(names)}."
                f"{closest(name, names)}"
            )
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._items))

    def __contains__(self, name: object) -> bool:
        return name in self._items

    @staticmethod
    def _load_plugins() -> None:
        if Registry._plugins_loaded:
            return
        Registry._plugins_loaded = True
        for entry in entry_points(group="stepmill.plugins"):
            entry.load()()
