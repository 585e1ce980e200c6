"""L0 and L1: who the model is and what binds it, and what it was asked to reach.

Both stand in the system part and change only when they are defined anew. Nothing that a tool or a search said may enter
here: whatever is defined comes from whoever holds the session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import force_setattr

from contextfold.errors import BadConfiguration

from .item import Item


class Policy(Struct, frozen=True, omit_defaults=True):
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
    policies: Sequence[Policy | str] = ()
    constraints: Sequence[Constraint | str] = ()
    audit: Audit | str | None = None

    body: ClassVar[str] = ""
    single: ClassVar[bool] = True

    def __post_init__(self) -> None:
        force_setattr(self, "policies", tuple(_typed(each, Policy) for each in self.policies))
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
