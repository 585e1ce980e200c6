"""Histories that break software, from a seed or drawn by Hypothesis: whatever agents really do, and worse.

One generator for both: it asks a `random.Random` for every choice, and Hypothesis can stand in for one, so a failing
history shrinks. Hypothesis itself is needed only for `histories` and `conversations` (`pip install hypothesis`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import TYPE_CHECKING, TypeVar

from contextfold.domain import Message

from .nasty_moves import MOVES, Talk
from .nasty_wire import WRITERS
from .wire import DialectName, WireMessage

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

# Every way of going on, the plain ones first; leave some out to look at one thing.
KINDS = tuple(MOVES)


def conversation(random: Random, *, length: int = 30, kinds: Iterable[str] = KINDS) -> list[Message]:
    """A nasty history in neutral blocks, of at most this many messages; no bytes, no format."""
    moves = _chosen(kinds)
    names, weights = list(moves), [weight for weight, _ in moves.values()]
    talk = Talk(random)
    messages: list[Message] = []
    while len(messages) < length:
        _, move = moves[random.choices(names, weights)[0]]
        messages += move(talk)
    return messages[:length]


def history(
    seed: int | str | Random = 0,
    *,
    length: int = 30,
    dialect: DialectName = "anthropic",
    kinds: Iterable[str] = KINDS,
) -> list[WireMessage]:
    """A nasty history as messages of a dialect; the same seed gives the same history."""
    random = seed if isinstance(seed, Random) else Random(f"nasty {seed}")
    write = WRITERS[dialect]
    return [wire for message in conversation(random, length=length, kinds=kinds) for wire in write(message, random)]


def histories(
    *, max_length: int = 30, dialect: DialectName = "anthropic", kinds: Iterable[str] = KINDS
) -> SearchStrategy[list[WireMessage]]:
    """A Hypothesis strategy of nasty histories."""
    chosen = tuple(kinds)
    return _drawn(max_length, lambda random, length: history(random, length=length, dialect=dialect, kinds=chosen))


def conversations(*, max_length: int = 30, kinds: Iterable[str] = KINDS) -> SearchStrategy[list[Message]]:
    """A Hypothesis strategy of nasty histories in neutral blocks."""
    chosen = tuple(kinds)
    return _drawn(max_length, lambda random, length: conversation(random, length=length, kinds=chosen))


def _drawn(max_length: int, make: Callable[[Random, int], T]) -> SearchStrategy[T]:
    from hypothesis import strategies as st  # noqa: PLC0415  # an optional dependency

    return st.builds(make, st.randoms(use_true_random=False), st.integers(0, max_length))


def _chosen(kinds: Iterable[str]) -> Mapping[str, tuple[int, Callable[[Talk], list[Message]]]]:
    unknown = [kind for kind in kinds if kind not in MOVES]
    if unknown:
        raise ValueError(f"There are no nasty kinds {unknown}. Choose from {', '.join(KINDS)}.")
    return {kind: MOVES[kind] for kind in kinds}
