"""Letting others compute meanwhile: what takes its time says often that it could rest, and whoever runs it decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Rest: TypeAlias = Callable[[], None]  # called often by what takes its time, so that others have their turn
_A_STRETCH = 16  # things that are worked on between two rests, each of them some microseconds


def no_rest() -> None:
    """Go on at once: nobody else computes here."""


def resting(things: Iterable[T], rest: Rest) -> Iterator[T]:
    """Each of these things, with a rest now and then."""
    for number, thing in enumerate(things):
        if number % _A_STRETCH == 0:
            rest()
        yield thing
