"""Base of every settings model: what a person writes in a configuration file.

Settings are checked once, on entry, and frozen; unknown keys are refused. Each field says what it
does, its unit and its default, since `stepmill config --schema` prints these texts.
"""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A frozen pydantic model that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
