"""L0, L1 and L2: who the model is and what binds it, what it was asked to reach, and what is true while it runs.

The first two stand in the system part and change only when they are defined anew. Nothing that a tool or a search said
may enter there: whatever is defined comes from whoever holds the session. Each change of phase, permission or
environment is a note of its own, so that it rewinds with the thread. Nothing is granted unless somebody granted it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from contextfold.domain import Environment, Phase
from contextfold.errors import BadConfiguration

from .item import Item


class SafetyRule(Struct, frozen=True, omit_defaults=True):
    """A rule of safety. Only L0 holds policies."""

    text: str
    name: str = ""


class Constraint(Struct, frozen=True, omit_defaults=True):
    """A limit of what may be done or used."""

    text: str
    name: str = ""


class Audit(Struct, frozen=True, omit_defaults=True):
    """What has to be recorded, and for how long."""

    record: tuple[str, ...] = ()
    keep: str = ""


class Criterion(Struct, frozen=True, omit_defaults=True):
    """A condition of success, and how it is checked."""

    text: str
    check: str = ""


class System(Item, frozen=True):
    """L0: role, policies, constraints and audit requirements."""

    role: str = ""
    policies: Sequence[SafetyRule | str] = ()
    constraints: Sequence[Constraint | str] = ()
    audit: Audit | str | None = None

    body: ClassVar[str] = ""
    single: ClassVar[bool] = True

    def __post_init__(self) -> None:
        force_setattr(self, "policies", tuple(_typed(each, SafetyRule) for each in self.policies))
        force_setattr(self, "constraints", tuple(_typed(each, Constraint) for each in self.constraints))
        if isinstance(self.audit, str):
            force_setattr(self, "audit", Audit((self.audit,)))


class Task(Item, frozen=True):
    """L1: the goal, what counts as success, the form of the answer, and by when. `urgent` says that it cannot wait."""

    goal: str = ""
    success: Sequence[Criterion | str] = ()
    output: Mapping[str, Any] | str | None = None  # a JSON schema, or words
    deadline: datetime | None = None  # with its time zone
    urgent: bool = False

    body: ClassVar[str] = ""
    single: ClassVar[bool] = True

    def __post_init__(self) -> None:
        force_setattr(self, "success", tuple(_typed(each, Criterion) for each in self.success))
        if self.deadline is not None and self.deadline.tzinfo is None:
            raise BadConfiguration("A deadline without a time zone means another moment elsewhere. Give it a tzinfo.")

    @property
    def words(self) -> str:
        """What other layers are compared with to see whether they matter to it."""
        told = [each.text for each in self.success if isinstance(each, Criterion)]
        return "\n".join(filter(None, [self.goal, *told]))


def _typed(given: Any, kind: type[Any]) -> Any:
    return kind(given) if isinstance(given, str) else given


# -- L2: what is true while it runs -----------------------------------------------------------------------------------


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
