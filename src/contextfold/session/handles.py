"""Handles in stand-ins of folds that were made again: where they lead on the branch that shows them.

A fold that is made again on another branch keeps its words, so that what providers have cached stays; the numbers in
them are those of the branch where it was first made. What such a number named there has one counterpart here.
"""

from __future__ import annotations

from collections.abc import Iterator

from contextfold.domain import Appended, Folded, LiveBranch

AGAIN = "again"  # the detail of a fold that names the one whose words it has


def fold_here(branch: LiveBranch, fold: int) -> int:
    """The fold of this branch that a handle means: itself where it is here, or the one made again from it."""
    if fold in branch.folds:
        return fold
    return next((each.seq for each in branch.folds if fold in _origins(branch, each.seq)), fold)


def message_here(branch: LiveBranch, seq: int) -> int:
    """The message of this branch that a handle means: itself where it is here, or the equal one that a fold hides."""
    if branch.is_on_path(seq):
        return seq
    for fold in branch.folds:
        for origin in _origins(branch, fold.seq):
            old, new = _hidden(branch, origin), _hidden(branch, fold.seq)
            if seq in old and len(old) == len(new):
                return new[old.index(seq)]
    return seq


def _origins(branch: LiveBranch, fold: int) -> Iterator[int]:
    """The folds from which one was made again, the newest first; they may be on branches that were left."""
    event = branch.events[fold - 1].event
    while isinstance(event, Folded):
        origin = event.details.get(AGAIN)
        if not isinstance(origin, int) or not 0 < origin < fold:
            return
        yield origin
        fold, event = origin, branch.events[origin - 1].event


def _hidden(branch: LiveBranch, fold: int) -> list[int]:
    """The messages that a fold hides, whole or in part, on the branch that it is on; also those of folds inside it."""
    entry = branch.events[fold - 1]
    if not isinstance(entry.event, Folded):
        return []
    cover = entry.event.cover
    hidden = {seq for seq, _ in cover.blocks}
    for inner in cover.folds:
        if inner < fold:
            hidden.update(_hidden(branch, inner))
    seq = entry.parent if cover.ranges else 0
    while seq:
        logged = branch.events[seq - 1]
        if isinstance(logged.event, Appended) and any(first <= seq <= last for first, last in cover.ranges):
            hidden.add(seq)
        seq = logged.parent
    return sorted(hidden)
