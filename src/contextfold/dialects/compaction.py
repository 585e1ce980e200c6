"""What a session wishes of a provider's own compaction. How the wish is spelled is each dialect's business."""

from __future__ import annotations

from dataclasses import dataclass

from contextfold.models import Model


@dataclass(frozen=True, slots=True)
class Wish:
    """From when on to compact, and what stands in the view that was compacted before."""

    model: Model
    usable: int  # tokens of input that the window leaves
    at: int = 0  # compact by itself from this size on; 0 where it should not
    made: frozenset[str] = frozenset()  # how what stands in the view was made: "threshold", "on-demand"
    clears: bool = False  # the provider is to clear old tool results by itself
