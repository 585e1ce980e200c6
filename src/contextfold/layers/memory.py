"""L3, L4 and L5: what is remembered, what was seen, and what is being worked on.

Memory is short-term, episodic (what happened), semantic (what is so) or procedural (how it is done). What was seen,
found and measured was written by others: it is shown as data and never speaks for the system. What is being worked on
changes most often.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from .item import Item

# -- short-term -----------------------------------------------------------------------------------------------------


class Variable(Item, frozen=True):
    """A working variable; setting it again replaces it."""

    name: str
    value: Any = None  # plain JSON data

    body: ClassVar[str] = "value"
    known_by: ClassVar[str] = "name"


class RecentTurn(Item, frozen=True):
    """Something said elsewhere a moment ago. What was said in this thread is in the view already."""

    role: str
    text: str


# -- episodic -------------------------------------------------------------------------------------------------------


class Summary(Item, frozen=True):
    """What a stretch of work came to."""

    text: str
    source: int | str | None = None


class Decision(Item, frozen=True):
    """What was decided, and why."""

    text: str
    why: str = ""


class Milestone(Item, frozen=True):
    """Something that was reached."""

    text: str


# -- semantic -------------------------------------------------------------------------------------------------------


class Fact(Item, frozen=True):
    """Something that is so, and where it was learned: the seq of a message, or a name."""

    text: str
    source: int | str | None = None


class Definition(Item, frozen=True):
    """What a word means here."""

    term: str
    text: str = ""

    known_by: ClassVar[str] = "term"


class Preference(Item, frozen=True):
    """How the user wants it; a newer one of the same name replaces it."""

    name: str
    text: str = ""

    known_by: ClassVar[str] = "name"


class Knowledge(Item, frozen=True):
    """Something about the project."""

    text: str
    source: int | str | None = None


# -- procedural -----------------------------------------------------------------------------------------------------


class Skill(Item, frozen=True):
    """Something the agent knows how to do."""

    name: str
    text: str = ""

    known_by: ClassVar[str] = "name"


class Template(Item, frozen=True):
    """A form to fill in."""

    name: str
    text: str = ""

    known_by: ClassVar[str] = "name"


class Checklist(Item, frozen=True):
    """Things to look at one by one."""

    name: str
    points: tuple[str, ...] = ()

    body: ClassVar[str] = ""
    known_by: ClassVar[str] = "name"


class Procedure(Item, frozen=True):
    """Steps in their order."""

    name: str
    steps: tuple[str, ...] = ()

    body: ClassVar[str] = ""
    known_by: ClassVar[str] = "name"


# -- L4: what was seen, found and measured ----------------------------------------------------------------------------


class Observation(Item, frozen=True):
    """What a tool answered, or what was noticed."""

    text: str = ""
    tool: str = ""
    source: int | str | None = None


class Measurement(Item, frozen=True):
    """A number, and what it measures."""

    name: str
    value: float
    unit: str = ""

    body: ClassVar[str] = "value"


class Retrieved(Item, frozen=True):
    """A passage that a search found. `relevance` is what the search said, from 0 to 1."""

    text: str
    source: int | str | None = None
    relevance: float | None = None

    @property
    def told_relevance(self) -> float | None:
        return self.relevance


class Citation(Item, frozen=True):
    """A quotation, and where it stands."""

    text: str
    source: int | str | None = None


# -- L5: what is being worked on --------------------------------------------------------------------------------------

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
