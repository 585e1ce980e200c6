"""What a session can do with its past and with its layers: unfold, rewind, fork, recall; define, enter, note.

Each verb is one step that is defined elsewhere and writes events, so all of it survives restarts, and whatever is left
behind can be returned to.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, get_args, overload

from contextfold.deferred import deferred
from contextfold.domain import Environment, Message, Phase
from contextfold.errors import BadConfiguration
from contextfold.layers import Item, Layout, State, System, Task
from contextfold.recall import Passage
from contextfold.store import Memory, Store
from contextfold.thread import RewindReport
from contextfold.toolbox import Ruling

from . import checkpoints as places
from . import hidden, notes, previews, recall_calls, rewind, tools
from .checkpoints import Checkpoint, CheckpointName, Workspace
from .desk import Desk
from .drivers import drive
from .previews import Preview
from .rewind import Where

if TYPE_CHECKING:
    from . import export
else:
    export = deferred("contextfold.session.export")

Format: TypeAlias = Literal["jsonl", "roo"]


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
        return drive(hidden.unfold(self.desk, fold, make_room), self.desk)

    def preview_unfold(self, fold: int, *, make_room: bool = False) -> Preview:
        """What `unfold` would change, and whether it fits; nothing happens."""
        self.desk.look()
        return self.desk.alone(lambda: previews.of_unfold(self.desk, fold, make_room))

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
        return drive(rewind.rewind(self.desk, where, chat=chat, files=files, preview=preview), self.desk)

    def redo(self, *, files: bool | None = None) -> RewindReport:
        """Undo the last rewind, as long as nothing was said since: files too if it changed them, or as `files` says."""
        return drive(rewind.redo(self.desk, files), self.desk)

    def fork(self, *, at: int | None = None, name: str | None = None) -> Self:
        """A session on a thread of its own that shares the history up to `at`, on whatever branch that is."""
        return self._beside(self.desk.thread.fork(at=at, name=name).name)

    def edit(self, seq: int, message: object) -> int:
        """Say something else in place of a message: what came after it is left behind. The new message's seq."""
        return drive(rewind.edit(self.desk, seq, message), self.desk)

    def delete(self, seq: int) -> RewindReport:
        """Leave a message and everything after it behind. It stays in the log; `Store.forget` erases."""
        return drive(rewind.delete(self.desk, seq), self.desk)

    def checkpoint(self, name: str, *, workspace: Workspace = None, files: bool = True) -> Checkpoint:
        """Name this place. With a workspace (or the session's own, unless `files` is off) its files are kept too."""
        kept = (workspace or self.desk.attachers.workspace) if files else None
        return drive(places.checkpoint(self.desk, name, kept), self.desk)

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Every checkpoint of the thread, oldest first."""
        return places.checkpoints(self.desk)

    def diff(self, checkpoint: CheckpointName, until: CheckpointName | None = None) -> str:
        """What changed in the files since a checkpoint, up to another one or now."""
        return drive(places.diff(self.desk, checkpoint, until), self.desk)

    def export(self, path: str | os.PathLike[str], *, format: Format = "jsonl") -> None:  # the public word
        """Write the conversation: `jsonl` (every event, exact bytes, chained) or `roo` (a task directory)."""
        if format not in get_args(Format):
            raise BadConfiguration(f"There is no format {format!r}. Known ones: {', '.join(get_args(Format))}.")
        export.export(self.store, self.desk, path, format)


class Recalls:
    """What a session can find of its past: for a person, or for the model by tools of ours."""

    desk: Desk
    store: Store

    @overload
    def recall(self, question: str, *, budget: int = 2_000) -> Sequence[Passage]: ...

    @overload
    def recall(self, *, path: str, budget: int = 2_000) -> Sequence[Passage]: ...

    @overload
    def recall(self, *, fold: int | None = None, seq: int | None = None, around: int = 0) -> Sequence[Message]: ...

    def recall(
        self,
        question: str | None = None,
        *,
        fold: int | None = None,
        seq: int | None = None,
        around: int = 0,
        path: str | None = None,
        budget: int = 2_000,
    ) -> Sequence[Passage] | Sequence[Message]:
        """Find what was said on this branch, folded or not.

        By a `question` or a `path`: passages within a budget of tokens, in order, each with its seq, time, fold and the
        words that matched. By a stand-in's handle: the messages behind a `fold`, or the one of a `seq` with so many
        `around` it, as they were said.
        """
        wish = recall_calls.RecallWish(question, fold, seq, around, path, budget)
        return recall_calls.found(self.store, self.desk, wish)

    def recall_tools(self, *, dialect: str | None = None) -> Sequence[Mapping[str, Any]]:
        """The tools `recall` and `unfold`, as requests of this session define tools: `prepare(tools=[*mine, *these])`.

        Their calls are answered by `answer`. For `toolbox.project`, declare `contextfold.recall.TOOLS` beside yours.
        """
        return recall_calls.definitions(self.desk, dialect)

    def answer(self, call: object) -> dict[str, Any] | None:
        """Carry out a call of `recall` or `unfold`: the message to append; None for a call of any other tool.

        A call is a `ToolCall`, or what a provider or its SDK hands out: a block, a dict, an entry of `tool_calls`.
        """
        return drive(recall_calls.answer(self.store, self.desk, call), self.desk)


class Layered:
    """What a session knows beside what was said."""

    desk: Desk

    @property
    def state(self) -> State:
        """The layers at the head of the thread: a projection of its notes."""
        self.desk.look()
        return notes.state_of(self.desk)

    def define(self, *, system: System | None = None, task: Task | None = None, layout: Layout | None = None) -> None:
        """Say who the model is (L0), what it is to reach (L1), and how layers are shown.

        What is left out stays as it was. Raises `CannotFit` where L0 and L1 could never be shown whole. The layout is
        code, not history: give it again when the session is opened again.
        """
        drive(notes.define(self.desk, system, task, layout), self.desk)

    def enter(self, where: Phase | Environment | str) -> None:
        """Begin another phase (also by its name), or act in another environment."""
        drive(notes.enter(self.desk, where), self.desk)

    def grant(self, permission: str) -> None:
        """Give a permission. `fs:*` covers `fs:write`, `*` everything; no other sign means anything."""
        drive(notes.grant(self.desk, permission), self.desk)

    def revoke(self, permission: str) -> None:
        """Take back a permission, as it was granted."""
        drive(notes.revoke(self.desk, permission), self.desk)

    def failed(self, text: str) -> int:
        """Write a failure down, so that the model does not try the same again unchanged; its seq."""
        return drive(notes.failed(self.desk, text), self.desk)

    def show_memory(self, memory: Memory) -> None:
        """Show what a memory holds in layer L3, within its share; what holds no longer is taken back."""
        drive(notes.show_memory(self.desk, memory), self.desk)

    def note(self, item: Item) -> int:
        """Write an item of a layer down; its seq. `Retracted(seq)` takes one back."""
        return drive(notes.note(self.desk, item), self.desk)

    def refuse(self, ruling: Ruling) -> None:
        """Put on record that `toolbox.enforce` refused a call when it was about to be carried out."""
        drive(tools.refuse(self.desk, ruling), self.desk)
