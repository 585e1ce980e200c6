"""In which phase an agent works, and where: two small vocabularies that layers show and tools are limited by.

They stand on the ground floor because two rooms above share them. What is not known is never guessed to be harmless.
"""

from __future__ import annotations

from enum import StrEnum

from contextfold.errors import BadConfiguration


class Phase(StrEnum):
    """What an agent is doing right now."""

    PLANNING = "planning"
    EXECUTING = "executing"
    REFLECTING = "reflecting"
    VERIFYING = "verifying"

    @classmethod
    def of(cls, name: str) -> Phase:
        """The phase of this name; there are no others."""
        try:
            return cls(name.strip().lower())
        except ValueError as error:
            raise BadConfiguration(f"There is no phase {name!r}. Use one of: {', '.join(cls)}.") from error


class Environment(StrEnum):
    """Where an agent's tools act. Unknown is the most restricted of all."""

    DEV = "dev"
    STAGING = "staging"
    PROD = "prod"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, name: str) -> Environment:
        """The environment of this name, also spelled out; any other name is unknown."""
        plain = name.strip().lower()
        spelled = {"development": cls.DEV, "stage": cls.STAGING, "production": cls.PROD}
        return spelled.get(plain) or next((each for each in cls if each.value == plain), cls.UNKNOWN)
