"""What a fold hides, named so that it can be shown again.

Ranges of seq for whole messages, (seq, block) pairs for parts of messages, and the folds whose stand-ins it takes over:
covering a stand-in covers what that stand-in stood for, so folds form a tree and nothing can dangle.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Cover(Struct, frozen=True, array_like=True):
    """The covered places. Ranges are inclusive, ascending and apart."""

    ranges: tuple[tuple[int, int], ...] = ()
    blocks: tuple[tuple[int, int], ...] = ()
    folds: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.ranges or self.blocks or self.folds)


def merged(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Half-open spans of positions, sorted, with touching neighbours joined."""
    out: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(stop, out[-1][1]))
        else:
            out.append((start, stop))
    return tuple(out)
