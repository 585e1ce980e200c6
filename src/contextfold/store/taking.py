"""Taking over a task of Roo Code: its messages are said again, and what its tags hide is folded where that happened.

Tags are read once and never kept: what they mean becomes folds. A tag that would part a call from its result hides
nothing here, since no provider would take such a view; the messages are all there.
"""

from __future__ import annotations

from collections.abc import Sequence

from contextfold import dialects
from contextfold.domain import Appended, Draft, FoldKind
from contextfold.errors import CannotCover
from contextfold.loggers import logger
from contextfold.thread import Thread
from contextfold.transcripts import DIALECT, RooSaid, RooTask

log = logger("taking")


def take(thread: Thread, task: RooTask) -> None:
    """Say and fold everything in the order it happened."""
    taken = _Taken(thread, task.said)
    events: dict[int, list[RooSaid]] = {}
    for event in task.events:
        events.setdefault(event.after, []).append(task.said[event.tags.seq - 1])
    for each in task.said:
        if not each.is_stand_in:
            taken.say(each)
            for stand_in in events.pop(each.tags.seq, ()):
                taken.fold(stand_in)
    for stand_in in taken.waiting():
        taken.fold(stand_in)


class _Taken:
    """What was said and folded so far, by place and by Roo's ids."""

    def __init__(self, thread: Thread, said: Sequence[RooSaid]) -> None:
        self._thread, self._said = thread, said
        self._seqs: dict[int, int] = {}  # of messages and folds, by their place in Roo's list
        self._tried: set[int] = set()
        self._hidden: dict[str, list[int]] = {}  # places by the id of what hides them
        for each in said:
            for parent in filter(None, (each.tags.condense_parent, each.tags.truncation_parent)):
                self._hidden.setdefault(parent, []).append(each.tags.seq)

    def say(self, said: RooSaid) -> None:
        """In the form of Anthropic's API, which Roo keeps its history in whatever model it speaks to."""
        message = dialects.find(DIALECT).parse(said.raw)
        event, thread = Appended(self._thread.lens.counter.shape(message), message.dialect), self._thread
        logged = thread.write(lambda now: [Draft(event, now.head, thread.now(), message.raw)])
        self._seqs[said.tags.seq] = logged[-1].seq

    def fold(self, stand_in: RooSaid) -> None:
        self._tried.add(stand_in.tags.seq)
        hidden = self._hidden.get(stand_in.tags.condense_id or stand_in.tags.truncation_id, [])
        covered = [self._seqs[place] for place in hidden if place in self._seqs]
        kind: FoldKind = "summary" if stand_in.tags.is_summary else "window"
        try:
            self._seqs[stand_in.tags.seq] = self._thread.fold(covered, stand_in.text, kind=kind)
        except CannotCover as error:
            log.warning("What Roo hid behind entry %s stays in view: %s", stand_in.tags.seq, error)

    def waiting(self) -> Sequence[RooSaid]:
        """Stand-ins that no entry of the panel tells of, the inner ones first: an outer one stands behind them."""
        return [each for each in self._said if each.is_stand_in and each.tags.seq not in self._tried]
