"""The newest part of a thread, read without the rest: a page that shows the end of a long conversation costs that page.

Whatever decides how a message is shown comes after it in the log: folds, pins, rewinds. So the newest events by
themselves tell the truth about themselves, except where something begins before them and reaches into them: an atom,
or a fold. Behind all of these the truth begins. What is read is a trial: no log is told what is written to it.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from contextfold import models, tokens
from contextfold.domain import EventLog, Fold, LiveBranch, PathItems, Projection, ThreadRow, ViewItem
from contextfold.thread import Bodies, ProcessLock, Thread
from contextfold.thread.lens import words_for
from contextfold.thread.moves import TrialLive

from .library import lineage


class ThreadEnd(Struct, frozen=True):
    """The end of a thread as a thread. From `since` on its rows are those of the whole one; 1 where it is whole."""

    thread: Thread
    since: int


def read_end(log: EventLog, row: ThreadRow, events: int, clock: Callable[[], float], lock: ProcessLock) -> ThreadEnd:
    """The newest so many events of a thread."""
    model = models.find(row.settings.get("model", ""))
    counter, descent = tokens.counter_for(model), lineage(log, row)
    projection, skipped = Projection(words_for(counter)), max(0, row.last - events)
    projection.skip(skipped)
    for logged in Bodies(log, descent).events(after=skipped):
        projection.take(logged)
    live = TrialLive(log, row, descent, projection.items.words, twin=projection)
    thread = Thread(live, model, counter, clock, lambda: None, lock, live.refuse_fork)
    return ThreadEnd(thread, known_from(projection, skipped) if skipped else 1)


def known_from(branch: LiveBranch, skipped: int) -> int:
    """The first seq that nothing reaches from among the events that were skipped."""
    since = _first_whole(branch.items, skipped)
    folds = branch.folds.outermost()
    while reaching := [fold for fold in folds if _begin(branch, fold) < since <= _end(branch, fold)]:
        since = max(_end(branch, fold) for fold in reaching) + 1
    return since


def _first_whole(items: PathItems, skipped: int) -> int:
    """The first atom of which no part can be missing: what stands before a speaker is forgotten once he has spoken."""
    speaker = next((place for place, item in enumerate(items.items) if _speaks(item)), None)
    if speaker is None:
        return items.items[-1].seq + 1 if items.items else skipped + 1
    place = items.starts.find(1, speaker + 1)
    return items.items[place].seq if place > 0 else items.items[-1].seq + 1


def _speaks(item: ViewItem) -> bool:
    """Whether it ends the turn before it, so that what follows depends on nothing earlier."""
    return not item.shape.is_blank and any(block.kind != "result" for block in item.shape.blocks)


def _begin(branch: LiveBranch, fold: Fold) -> int:
    """The first seq that a fold hides, as far as is known: 0 where it took over a fold that was skipped."""
    cover = fold.event.cover
    inner = [_begin(branch, branch.folds[seq]) if seq in branch.folds else 0 for seq in cover.folds]
    return min(inner + [first for first, _ in cover.ranges], default=0)


def _end(branch: LiveBranch, fold: Fold) -> int:
    """The last seq that it hides."""
    cover = fold.event.cover
    inner = [_end(branch, branch.folds[seq]) for seq in cover.folds if seq in branch.folds]
    return max(inner + [last for _, last in cover.ranges], default=0)
