"""What a judge is shown: a versioned template file, filled with a problem and numbered paragraphs.

Whatever comes from a model or a data set is data. It is fenced before it is put in, so that it
cannot close the template's tags, open a turn of a chat, or be taken for template code. The file's
hash says which wording was asked; a changed wording is a new file with the next number.

Source of the task: the critic prompt of ProcessBench (Zheng et al., 2024), whose wording differs.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from stepmill.errors import UserError
from stepmill.registry import closest

if TYPE_CHECKING:
    from jinja2 import Template

_SUFFIX = ".jinja"
_TAG = re.compile(r"<(?=\s*[/|])|<(?![\s\d=+\-.(\\$])|\[(?=/?[A-Z_]{2,}\])")
"""A `<` that could begin a tag or a special token of a chat, and the bracket of `[INST]`. A plain
less-than sign stays: before white space, a digit, a sign, a bracket or LaTeX."""
_ESCAPES = {"<": "&lt;", "[": "&#91;"}


def fenced(text: str) -> str:
    """`text` with every opening of a tag replaced; a text without any stays as it is."""
    return _TAG.sub(lambda found: _ESCAPES[found[0]], text)


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """One template."""

    name: str
    """Of the file, without its ending."""
    text: str

    @property
    def digest(self) -> str:
        """Hash of the template's text, 16 hex digits."""
        return hashlib.blake2b(self.text.encode(), digest_size=8).hexdigest()

    def render(self, question: str, steps: Sequence[str], reference: str | None) -> str:
        """The question that is put to the judge.

        Args:
            question: of the problem.
            steps: texts of the solution's steps, at least one.
            reference: the right final answer; None: not shown.
        """
        rendered: str = _compiled(self.text).render(
            problem=fenced(question).strip(),
            paragraphs=[fenced(step).strip("\n") for step in steps],
            reference=None if reference is None else fenced(reference).strip(),
        )
        return rendered


@cache
def _compiled(text: str) -> "Template":
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    jinja = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return jinja.from_string(text)


def prompt_names() -> list[str]:
    """Names of the templates that come with the package, sorted."""
    folder = files("stepmill.annotators").joinpath("templates")
    names = (file.name for file in folder.iterdir() if file.name.endswith(_SUFFIX))
    return sorted(name.removesuffix(_SUFFIX) for name in names)


def load_prompt(name: str) -> JudgePrompt:
    """A template by its name, or by its path when `name` ends with `.jinja`.

    Raises:
        UserError: there is no such template, or it cannot be rendered.
    """
    if name.endswith(_SUFFIX):
        try:
            prompt = JudgePrompt(Path(name).stem, Path(name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"judge template {name} cannot be read: {error}") from None
    elif name in prompt_names():
        file = files("stepmill.annotators").joinpath("templates", name + _SUFFIX)
        prompt = JudgePrompt(name, file.read_text(encoding="utf-8"))
    else:
        known = prompt_names()
        raise UserError(
            f"unknown judge template {name!r}; use one of: {', '.join(known)}, or the path of a"
            f" file that ends with {_SUFFIX}.{closest(name, known)}"
        )
    _try(prompt)
    return prompt


def _try(prompt: JudgePrompt) -> None:
    from jinja2 import TemplateError

    try:
        shown = prompt.render("What is 6 x 7?", ["It is 42."], "42")
    except TemplateError as error:
        raise UserError(f"judge template {prompt.name!r} cannot be rendered: {error}") from None
    for part in ("What is 6 x 7?", "It is 42."):
        if part not in shown:
            raise UserError(
                f"judge template {prompt.name!r} does not show {part!r}; it has the variables"
                " `problem`, `paragraphs` (a list of texts) and `reference` (a text or none)"
            )
