"""Every error that Stepmill raises on purpose.

    StepmillError
    ├── UserError       the caller can mend it: one clear message, exit code 2, no traceback
    ├── EngineError     a model could not answer; `retryable` says whether asking again may help
    │   └── EngineDead  the engine itself is gone; nothing more will come from it
    └── Stopped         the run was asked to stop; what is stored stays stored

A message says what was got, what is allowed and what to do, and names the record
(`problem 'gsm8k/17', step 3`). Nothing parses messages.
"""


class StepmillError(Exception):
    """Base of all errors raised on purpose."""

    retryable: bool = False
    """Whether the same call may succeed when it is made again."""


class UserError(StepmillError):
    """Raised when input, configuration or the machine must be changed by the caller."""


class EngineError(StepmillError):
    """Raised when an engine could not complete a request."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class EngineDead(EngineError):
    """Raised when an engine has died; its process or server must be started again."""


class Stopped(StepmillError):
    """Raised inside a run that was asked to stop."""
