"""L4: what was seen, found and measured. Others wrote it: it is shown as data and never speaks for the system."""

from __future__ import annotations

from typing import ClassVar

from .item import Item


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
