"""L2: phase, permissions, environment and failures, as they follow from what happened.

Each change is a note of its own, so that it rewinds with the thread. Nothing is granted unless somebody granted it, and
where tools act is unknown until somebody says so.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from contextfold.domain import Environment, Phase

from .item import Item


class Entered(Item, frozen=True):
    """Another phase began."""

    phase: Phase

    body: ClassVar[str] = ""


class Moved(Item, frozen=True):
    """From here on tools act somewhere else."""

    environment: Environment

    body: ClassVar[str] = ""


class Granted(Item, frozen=True):
    """A permission was given."""

    permission: str

    body: ClassVar[str] = ""


class Revoked(Item, frozen=True):
    """A permission was taken back."""

    permission: str

    body: ClassVar[str] = ""


class Failure(Item, frozen=True):
    """Something went wrong; the model should not try the same again unchanged."""

    text: str


Change = Entered | Moved | Granted | Revoked


class Runtime(Struct, frozen=True):
    """What is true while the agent runs. Failures stand among the entries of their layer, newest last."""

    phase: Phase = Phase.PLANNING
    permissions: tuple[str, ...] = ()  # in the order they were granted
    environment: Environment = Environment.UNKNOWN

    def after(self, change: Change) -> Runtime:
        """The same after one more thing happened."""
        match change:
            case Entered():
                return replace(self, phase=change.phase)
            case Moved():
                return replace(self, environment=change.environment)
            case Granted():
                return replace(self, permissions=(*self._without(change.permission), change.permission))
            case Revoked():
                return replace(self, permissions=self._without(change.permission))

    def _without(self, permission: str) -> tuple[str, ...]:
        return tuple(each for each in self.permissions if each != permission)
