"""L5: what is on the bench: plan, changes, hypotheses, draft. The most volatile layer."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from .item import Item

Status: TypeAlias = Literal["open", "doing", "done", "dropped"]

_OVER = 0.5  # what is over counts half as much as what is still to do


class Step(Item, frozen=True):
    """A step of the plan; noting it again changes its status and leaves it where it stands."""

    text: str
    status: Status = "open"

    known_by: ClassVar[str] = "text"

    @property
    def weight(self) -> float:
        return _OVER if self.status in ("done", "dropped") else 1.0


class Change(Item, frozen=True):
    """What was changed, where: a diff or words."""

    path: str
    text: str = ""


class Hypothesis(Item, frozen=True):
    """A guess, and what became of it."""

    text: str
    status: Literal["open", "confirmed", "refuted"] = "open"

    known_by: ClassVar[str] = "text"


class Draft(Item, frozen=True):
    """The answer in the making; there is one."""

    text: str

    single: ClassVar[bool] = True
