"""What a configuration says under `checker`; checkers.py builds the checkers."""

from typing import Annotated, Any, Literal

from pydantic import Field

from stepmill.settings import Settings
from stepmill.verifiers.answers.policy import AnswerPolicy
from stepmill.verifiers.extract import Fallback


class ExtractionSettings(Settings):
    """How the answer is found in a solution's text."""

    fallback: Fallback = "last-line"
    """What a solution without a marker such as a box or "the answer is" states: `none`; the
    `last-line` when it is nothing but an answer, or its bold part; or the `last-number` of it."""
    no_answer: Literal["unknown", "incorrect"] = "unknown"
    """Verdict on a solution that ended by itself and states no answer."""


class WorkerSettings(Settings):
    """Limits of one check in a worker process."""

    time_limit_s: float = Field(default=5.0, gt=0)
    """Seconds; a check that takes longer is killed and `unknown`."""
    memory_mb: int = Field(default=2048, ge=256)
    """Address space of a worker in MiB; a check that needs more is `unknown`."""


class MathCheckerSettings(ExtractionSettings, WorkerSettings):
    """Mathematical equivalence: exact forms, then computer algebra in worker processes."""

    kind: Literal["math"] = "math"
    """Names this checker."""
    policy: AnswerPolicy = AnswerPolicy()
    """The disputable cases."""
    algebra: bool = True
    """Ask math-verify where no exact form decides; without it such answers are unknown."""


class ChoiceCheckerSettings(ExtractionSettings):
    """Multiple choice: the letter, or the text of an option that the question lists."""

    kind: Literal["choice"] = "choice"
    """Names this checker."""


class ExactCheckerSettings(ExtractionSettings):
    """The same text, apart from white space."""

    kind: Literal["exact"] = "exact"
    """Names this checker."""
    ignore_case: bool = False
    """Take `Paris` and `paris` for the same."""


class NumericCheckerSettings(ExtractionSettings):
    """A number, with or without a unit, within a tolerance."""

    kind: Literal["numeric"] = "numeric"
    """Names this checker."""
    relative_tolerance: float = Field(default=1e-6, ge=0, lt=1)
    """Share of the reference by which an answer may differ."""
    absolute_tolerance: float = Field(default=0.0, ge=0)
    """Amount by which an answer may differ, in the reference's unit."""


class PythonCheckerSettings(ExtractionSettings, WorkerSettings):
    """A function of your own, in worker processes (custom.py says how it is called)."""

    kind: Literal["python"] = "python"
    """Names this checker."""
    entry: str
    """`module:function`."""
    version: str = "1"
    """Change it when the function changes: verdicts are stored with it."""


class PluginCheckerSettings(Settings):
    """A checker that an installed package registered in `CHECKERS`."""

    kind: Literal["plugin"] = "plugin"
    """Names this checker."""
    name: str
    """Its name in the registry."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Handed to it as they are."""


CheckerSettings = Annotated[
    MathCheckerSettings
    | ChoiceCheckerSettings
    | ExactCheckerSettings
    | NumericCheckerSettings
    | PythonCheckerSettings
    | PluginCheckerSettings,
    Field(discriminator="kind"),
]
"""What a configuration says under `checker`."""
