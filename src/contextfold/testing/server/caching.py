"""The provider's prompt cache: exact prefixes, a minimum length, lifetimes, and nothing before an answer begins.

Two kinds, as providers have them. *Explicit*: entries exist where the client marked a breakpoint, each mark looks back
a number of blocks for an earlier entry. *Automatic*: every prefix that is long enough is kept and found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from .usage import Usage

HOUR: Final = 3_600
_GRAIN: Final = 128  # automatic caches find prefixes in steps of so many tokens


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a prompt in order: its exact bytes, its size, and the lifetime in seconds if a breakpoint follows it."""

    content: bytes
    tokens: int
    breakpoint: int | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """How one model's prompts are cached."""

    least: int
    lifetime: int
    lookback: int | None = None  # blocks, where entries are explicit
    writes_cost: bool = False


@dataclass(frozen=True, slots=True)
class Billed:
    """What a prompt costs, and the entries it leaves once its answer begins: key to lifetime."""

    usage: Usage
    entries: Mapping[bytes, int] = field(default_factory=dict)


class Cache:
    """Entries by the hash of everything before them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: dict[bytes, tuple[float, int]] = {}  # when it ends, how long it lives

    def forget(self) -> None:
        self._entries.clear()

    def keep(self, billed: Billed) -> None:
        """Make the entries readable, or live longer: the answer has begun."""
        now = self._clock()
        for key, lifetime in billed.entries.items():
            ends = max(now + lifetime, self._entries.get(key, (0.0, 0))[0])
            self._entries[key] = (ends, lifetime)

    def is_live(self, key: bytes) -> bool:
        return self._entries.get(key, (0.0, 0))[0] > self._clock()

    def automatic(self, scope: str, pieces: Sequence[Piece], rules: Rules) -> Billed:
        """Every long enough prefix is an entry."""
        keys, sums = _chain(scope, pieces)
        total = sums[-1] if sums else 0
        eligible = [index for index, size in enumerate(sums) if size >= rules.least]
        hit = next((index for index in reversed(eligible) if self.is_live(keys[index])), None)
        read = 0 if hit is None else sums[hit] // _GRAIN * _GRAIN
        written = total - read if rules.writes_cost and total >= rules.least else 0
        usage = Usage(total - read - written, read, written)
        return Billed(usage, {keys[index]: rules.lifetime for index in eligible})

    def explicit(self, scope: str, pieces: Sequence[Piece], rules: Rules) -> Billed:
        """Entries only at breakpoints; from each, the nearest earlier entry within the look-back is read."""
        keys, sums = _chain(scope, pieces)
        marks = [index for index, piece in enumerate(pieces) if piece.breakpoint and sums[index] >= rules.least]
        hits = [hit for mark in marks if (hit := self._before(mark, keys, rules.lookback)) is not None]
        total = sums[-1] if sums else 0
        if not marks:
            return Billed(Usage(total))
        read = sums[max(hits)] if hits else 0
        last = max(sums[marks[-1]], read)
        hours = [sums[mark] for mark in marks if (pieces[mark].breakpoint or 0) >= HOUR]
        hour = max(0, max(hours, default=0) - read)
        entries = {keys[mark]: pieces[mark].breakpoint or rules.lifetime for mark in marks}
        entries |= {keys[hit]: entries.get(keys[hit]) or self._entries[keys[hit]][1] for hit in hits}
        return Billed(Usage(total - last, read, last - read - hour, hour), entries)

    def _before(self, mark: int, keys: Sequence[bytes], lookback: int | None) -> int | None:
        oldest = -1 if lookback is None else max(-1, mark - lookback)
        return next((index for index in range(mark, oldest, -1) if self.is_live(keys[index])), None)


def _chain(scope: str, pieces: Sequence[Piece]) -> tuple[list[bytes], list[int]]:
    """For each piece the hash and the size of the prompt up to its end."""
    state, size = hashlib.blake2b(scope.encode(), digest_size=16), 0
    keys: list[bytes] = []
    sums: list[int] = []
    for piece in pieces:
        state.update(len(piece.content).to_bytes(8, "big"))
        state.update(piece.content)
        size += piece.tokens
        keys.append(state.digest())
        sums.append(size)
    return keys, sums
