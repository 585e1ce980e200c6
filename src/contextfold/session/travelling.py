"""The verbs of time travel, for whoever holds a session: unfold, rewind, redo, fork, edit, delete, checkpoints.

Each is one step that is defined elsewhere. Nothing here loses anything: what is left behind can be returned to.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from datetime import datetime
from typing import Self

from contextfold.store import Store
from contextfold.thread import RewindReport

from . import checkpointing, exporting, rewinding, unfolding
from .checkpointing import Checkpoint, CheckpointName, Workspace
from .desk import Desk
from .drivers import drive
from .exporting import Format
from .whereabouts import Where


class Travels:
    """What a session can do with its own past."""

    desk: Desk
    store: Store

    @abstractmethod
    def _beside(self, thread: str) -> Self:
        """A session like this one on another thread of the same store."""

    def unfold(self, fold: int, *, make_room: bool = False) -> tuple[int, ...]:
        """Take a fold back; everything said since stays. Raises `CannotUnfold` with sizes where it no longer fits.

        With `make_room`, something older is folded away for it; the folds that were made are returned.
        """
        return drive(unfolding.unfold(self.desk, fold, make_room), self.desk)

    def rewind(
        self,
        *,
        before: int | None = None,
        after: int | None = None,
        to_time: float | datetime | None = None,
        to_index: int | None = None,
        to: CheckpointName | None = None,
        chat: bool = True,
        files: bool = False,
        preview: bool = False,
    ) -> RewindReport:
        """Move the conversation (`chat`), the files of a checkpoint's workspace (`files`), or both to an earlier place.

        The place is just before or after a seq, before the message of a time or an index, or a checkpoint: itself,
        its name, or the seq of any event. Files go first. `preview` tells what would happen and does nothing.
        """
        where = Where(before, after, to_time, to_index, to)
        return drive(rewinding.rewind(self.desk, where, chat=chat, files=files, preview=preview), self.desk)

    def redo(self, *, files: bool | None = None) -> RewindReport:
        """Undo the last rewind, as long as nothing was said since: files too if it changed them, or as `files` says."""
        return drive(rewinding.redo(self.desk, files), self.desk)

    def fork(self, *, at: int | None = None, name: str | None = None) -> Self:
        """A session on a thread of its own that shares the history up to `at`, on whatever branch that is."""
        return self._beside(self.desk.thread.fork(at=at, name=name).name)

    def edit(self, seq: int, message: object) -> int:
        """Say something else in place of a message: what came after it is left behind. The new message's seq."""
        return drive(rewinding.edit(self.desk, seq, message), self.desk)

    def delete(self, seq: int) -> RewindReport:
        """Leave a message and everything after it behind. It stays in the log; `Store.forget` erases."""
        return drive(rewinding.delete(self.desk, seq), self.desk)

    def checkpoint(self, name: str, *, workspace: Workspace = None, files: bool = True) -> Checkpoint:
        """Name this place. With a workspace (or the session's own, unless `files` is off) its files are kept too."""
        kept = (workspace or self.desk.workspace) if files else None
        return drive(checkpointing.checkpoint(self.desk, name, kept), self.desk)

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Every checkpoint of the thread, oldest first."""
        return checkpointing.checkpoints(self.desk)

    def diff(self, checkpoint: CheckpointName, until: CheckpointName | None = None) -> str:
        """What changed in the files since a checkpoint, up to another one or now."""
        return drive(checkpointing.diff(self.desk, checkpoint, until), self.desk)

    def export(self, path: str | os.PathLike[str], *, format: Format = "jsonl") -> None:  # the public word
        """Write the conversation: `jsonl` (every event, exact bytes, chained) or `roo` (a task directory)."""
        exporting.export(self.store, self.desk, path, format)
