"""Tags in the manner of Roo Code, derived from the folds for import and export; never the truth.

A message carries the fold that hid it directly, a stand-in carries its own id, and only live folds leave tags, so no
tag can dangle.
"""

from __future__ import annotations

from msgspec import Struct

from .folds import Fold, visibility
from .projection import LiveBranch


class Tags(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What Roo's history would say of one message, or of one stand-in."""

    seq: int
    condense_parent: str = ""
    truncation_parent: str = ""
    is_summary: bool = False
    condense_id: str = ""
    is_truncation_marker: bool = False
    truncation_id: str = ""


def roo_tags(projection: LiveBranch) -> list[Tags]:
    """Tags for every message on the live path and for every live stand-in, in the order of the path."""
    parents, takers = _parents(projection), _takers(projection)
    stand_ins: dict[int, list[Tags]] = {}
    for fold in projection.folds:
        if fold.is_live and fold.spans:
            stand_ins.setdefault(fold.place, []).append(_stand_in(fold, takers.get(fold.seq)))
    tags: list[Tags] = []
    for place, item in enumerate(projection.items.items):
        tags += stand_ins.get(place, [])
        if item.kind != "completion":
            tags.append(_message(item.seq, parents.get(place)))
    return tags


def _parents(projection: LiveBranch) -> dict[int, Fold]:
    """The live fold that hides each position directly; a pinned one shows, so nothing hides it."""
    shows = visibility(projection.items, projection.folds.outermost(), projection.pins.messages)
    parents: dict[int, Fold] = {}
    for fold in projection.folds:
        for start, stop in fold.spans if fold.is_live else ():
            for place in range(start, stop):
                if not shows[place]:
                    parents.setdefault(place, fold)
    return parents


def _takers(projection: LiveBranch) -> dict[int, Fold]:
    """The live fold that hides each stand-in; where the one that covered it was taken back, what covers that one."""
    takers: dict[int, Fold] = {}
    for fold in reversed(list(projection.folds)):  # newest first: only a later fold can cover another
        taker = fold if fold.is_live else takers.get(fold.seq)
        if taker is not None:
            takers.update((inner, taker) for inner in fold.event.cover.folds)
    return takers


def _is_truncation(fold: Fold) -> bool:
    return fold.event.kind in ("window", "prune")


def _message(seq: int, parent: Fold | None) -> Tags:
    if parent is None:
        return Tags(seq)
    name = str(parent.seq)
    return Tags(seq, truncation_parent=name) if _is_truncation(parent) else Tags(seq, condense_parent=name)


def _stand_in(fold: Fold, parent: Fold | None) -> Tags:
    outer = _message(fold.seq, parent)
    name = str(fold.seq)
    if _is_truncation(fold):
        return Tags(
            fold.seq, outer.condense_parent, outer.truncation_parent, is_truncation_marker=True, truncation_id=name
        )
    return Tags(fold.seq, outer.condense_parent, outer.truncation_parent, is_summary=True, condense_id=name)
