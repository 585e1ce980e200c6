"""L3: what is remembered. Short-term, episodic (what happened), semantic (what is so), procedural (how it is done)."""

from __future__ import annotations

from typing import Any, ClassVar

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
