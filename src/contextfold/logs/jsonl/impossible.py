"""What an event cannot say, whoever sealed it: a later event named by an earlier one, a size below nothing.

Looks at one event by itself; whether it can have happened where it stands is for the projection to find out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from contextfold.domain import (
    Appended,
    Attached,
    Checkpointed,
    Event,
    Folded,
    Measured,
    Noted,
    Pinned,
    Rewound,
    Sent,
    Shape,
    Unfolded,
    Unpinned,
)


def refuse_impossible(event: Event, seq: int) -> None:
    """Raises ValueError."""
    for named in _seqs(event):
        if not 0 <= named < seq:
            raise ValueError(f"event {seq} speaks of event {named}")
    if isinstance(event, Folded | Sent) and not (math.isfinite(event.factor) and event.factor > 0):
        raise ValueError(f"event {seq} has a factor that no count can have")
    if isinstance(event, Appended | Folded | Attached | Noted):
        _refuse_sizes(event.shape, seq)


def _seqs(event: Event) -> Iterator[int]:
    """All places of the thread that an event names."""
    match event:
        case Folded(cover=cover):
            for first, last in cover.ranges:
                if not 0 < first <= last:
                    raise ValueError(f"a fold covers what lies between {first} and {last}")
                yield last
            yield from (seq for seq, _ in cover.blocks)
            yield from cover.folds
        case Unfolded(fold=named) | Pinned(message=named) | Unpinned(message=named) | Measured(sent=named):
            yield named
        case Sent(head=named) | Checkpointed(head=named):
            yield named
        case Rewound(to=to, left=left):
            yield from (to, left)
        case _:
            return


def _refuse_sizes(shape: Shape, seq: int) -> None:
    sizes = [shape.size]
    for block in shape.blocks:
        sizes += (block.size, *block.measure.classes, *block.measure.bpe.values())
        sizes += (number for _, *numbers in block.measure.media for number in numbers)
    if min(sizes) < 0 or max(sizes) > 1 << 40:
        raise ValueError(f"event {seq} has a size that nothing can have")
