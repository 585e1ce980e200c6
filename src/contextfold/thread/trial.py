"""A thread to try things on, without a log that would be told."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from contextfold.domain import EventLog, Logged, Projection, ThreadRow, Words
from contextfold.errors import NotFound

from .lens import Bodies, LogStretch
from .live import Drafting, Live


class TrialLive(Live):
    """The twin of a thread: it begins as the thread is, and what is written to it stays in memory and with it."""

    def __init__(
        self, log: EventLog, row: ThreadRow, lineage: Sequence[LogStretch], words: Words, *, twin: Projection
    ) -> None:
        super().__init__(log, row, lineage, words, twin=twin)
        self.bodies = Bodies(log, lineage, room=sys.maxsize)  # what is let go of could not be read again

    @classmethod
    def of(cls, live: Live) -> TrialLive:
        """The twin of a thread as it is in memory."""
        return cls(live.log, live.row, live.lineage, live.words, twin=live.projection.copy())

    def catch_up(self) -> None:
        """What others write meanwhile is no part of the trial."""

    def refuse_fork(self, *_: object) -> NoReturn:
        """A fork shares events of a log, and these are in none."""
        raise NotFound(f"A trial of thread {self.row.title!r} is in no store. Fork the thread itself.")

    def write(
        self,
        drafting: Drafting,
        *,
        expected: int | None = None,  # noqa: ARG002  # nobody else writes here
        blobs: Sequence[bytes] = (),  # noqa: ARG002
    ) -> tuple[Logged, ...]:
        """Take what `drafting` makes of the twin as it is; the log is not told."""
        drafts, last = drafting(self.projection), self.projection.last
        logged = tuple(Logged(last + n, draft.parent, draft.at, draft.event) for n, draft in enumerate(drafts, 1))
        self._take(logged, drafts)
        return logged
