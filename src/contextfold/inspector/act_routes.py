"""What can be changed. Every act that changes what the model sees can be asked first what it would do."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from contextfold.errors import BadConfiguration

from . import acts
from .acts import Outcome, Undo
from .routes import ApiRoute, OfFold, OfThread, Seq, changing
from .stores import OpenStores


class FoldNow(OfThread, frozen=True, kw_only=True):
    """Fold now, or with `preview` say what that would do."""

    instructions: Annotated[str, Meta(max_length=20_000)] = ""
    to: Annotated[int, Meta(ge=1)] | None = None
    preview: bool = False


def fold(stores: OpenStores, asked: FoldNow) -> Outcome:
    """Fold now."""
    opened = stores.thread(asked.space, asked.thread) if asked.preview else changing(stores, asked)
    return acts.fold(opened, asked.instructions, asked.to, preview=asked.preview)


class UnfoldNow(OfThread, frozen=True, kw_only=True):
    """Take a fold back; with `make_room` something older is folded for it."""

    fold: Seq
    make_room: bool = False
    preview: bool = False


def unfold(stores: OpenStores, asked: UnfoldNow) -> Outcome:
    """Take a fold back; everything said since stays."""
    opened = stores.thread(asked.space, asked.thread) if asked.preview else changing(stores, asked)
    return acts.unfold(opened, asked.fold, make_room=asked.make_room, preview=asked.preview)


def refold(stores: OpenStores, asked: OfFold) -> Outcome:
    """Hide again what a fold hid, behind the same words."""
    return acts.refold(changing(stores, asked), asked.fold)


class PinAsked(OfThread, frozen=True, kw_only=True):
    """A message to pin, or no longer."""

    seq: Seq
    preview: bool = False


def pin(stores: OpenStores, asked: PinAsked) -> Outcome:
    """Keep a message in every view."""
    opened = stores.thread(asked.space, asked.thread) if asked.preview else changing(stores, asked)
    return acts.pin(opened, asked.seq, is_pinned=True, preview=asked.preview)


def unpin(stores: OpenStores, asked: PinAsked) -> Outcome:
    """Let a message be folded again."""
    opened = stores.thread(asked.space, asked.thread) if asked.preview else changing(stores, asked)
    return acts.pin(opened, asked.seq, is_pinned=False, preview=asked.preview)


class RewindAsked(OfThread, frozen=True, kw_only=True):
    """Where to go: just before or after an event, or to a checkpoint, with its files if asked for."""

    before: Seq | None = None
    after: Seq | None = None
    to: Seq | None = None
    files: bool = False
    preview: bool = False


def rewind(stores: OpenStores, asked: RewindAsked) -> Outcome:
    """Move the head to an earlier place; what came later stays in the log."""
    opened = stores.thread(asked.space, asked.thread) if asked.preview else changing(stores, asked)
    return acts.rewind(
        opened, before=asked.before, after=asked.after, to=asked.to, files=asked.files, preview=asked.preview
    )


def redo(stores: OpenStores, asked: OfThread) -> Outcome:
    """Return to where the last rewind came from."""
    return acts.redo(changing(stores, asked))


class ForkAsked(OfThread, frozen=True, kw_only=True):
    """Where the new thread begins: after `at`, on whatever branch that is, else now."""

    at: Seq | None = None
    name: str = ""


def fork(stores: OpenStores, asked: ForkAsked) -> Outcome:
    """Another thread that shares this one's past."""
    made = changing(stores, asked).thread.fork(at=asked.at, name=asked.name or None)
    return Outcome(thread=made.name, undo=(Undo("archive", {"thread": made.name}),))


class RenameAsked(OfThread, frozen=True, kw_only=True):
    """Another name for a thread."""

    to: Annotated[str, Meta(min_length=1, max_length=400)]


def rename(stores: OpenStores, asked: RenameAsked) -> Outcome:
    """Call a thread by another name; its earlier ones still lead to it."""
    opened = changing(stores, asked)
    before = opened.thread.name
    opened.store.rename(asked.thread, asked.to)
    stores.drop(asked.space, asked.thread)
    return Outcome(thread=asked.to, undo=(Undo("rename", {"thread": asked.to, "to": before}),))


def archive(stores: OpenStores, asked: OfThread) -> Outcome:
    """Put a thread away, out of the list."""
    changing(stores, asked).store.archive(asked.thread)
    return Outcome(thread=asked.thread, undo=(Undo("unarchive", {"thread": asked.thread}),))


def unarchive(stores: OpenStores, asked: OfThread) -> Outcome:
    """List a thread among the others again."""
    changing(stores, asked).store.unarchive(asked.thread)
    return Outcome(thread=asked.thread, undo=(Undo("archive", {"thread": asked.thread}),))


class ForgetAsked(OfThread, frozen=True, kw_only=True):
    """What to erase for good: a message, or the whole thread. `confirm` is the seq or the thread's name, typed."""

    seq: Seq | None = None
    confirm: str


def forget(stores: OpenStores, asked: ForgetAsked) -> Outcome:
    """Erase a message or a thread for good. This cannot be undone."""
    opened = changing(stores, asked)
    wanted = opened.thread.name if asked.seq is None else str(asked.seq)
    if asked.confirm != wanted:
        raise BadConfiguration("Nothing was erased: type exactly what is to be erased, its name or its number.")
    erased = opened.store.forget(asked.thread, asked.seq)
    stores.drop(asked.space, asked.thread)
    return Outcome(messages=erased, thread=asked.thread)


ACT_ROUTES = (
    ApiRoute("POST", "/threads/{thread}/fold", fold),
    ApiRoute("POST", "/threads/{thread}/unfold", unfold),
    ApiRoute("POST", "/threads/{thread}/refold", refold),
    ApiRoute("POST", "/threads/{thread}/pin", pin),
    ApiRoute("POST", "/threads/{thread}/unpin", unpin),
    ApiRoute("POST", "/threads/{thread}/rewind", rewind),
    ApiRoute("POST", "/threads/{thread}/redo", redo),
    ApiRoute("POST", "/threads/{thread}/fork", fork),
    ApiRoute("POST", "/threads/{thread}/rename", rename),
    ApiRoute("POST", "/threads/{thread}/archive", archive),
    ApiRoute("POST", "/threads/{thread}/unarchive", unarchive),
    ApiRoute("POST", "/threads/{thread}/forget", forget),
)
