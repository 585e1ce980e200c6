"""What can be changed from the page: each act tells before what it would do, and is undone by another act.

Everything but forgetting writes events, so nothing is lost. An answer says how to take the act back.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from contextfold.domain import Detail, Folded
from contextfold.errors import BadConfiguration, NotFound
from contextfold.folding import predicted, rates_of
from contextfold.session import Preview, Session
from contextfold.thread import RewindReport

from .routes import ApiRoute, OfFold, OfThread, Seq, changing
from .stores import OpenStores, OpenThread


class Undo(Struct, frozen=True):
    """The act that takes one back: its name, and what to send with it."""

    act: str
    values: dict[str, Detail]


class ActOutcome(Struct, frozen=True, omit_defaults=True):
    """What an act did, or with `is_preview` would do, in tokens and money."""

    is_preview: bool = False
    before: int = 0  # tokens of the next request
    after: int = 0
    usable: int = 0
    fits: bool = True
    messages: int = 0  # that leave the view, or come back into it
    folds: tuple[int, ...] = ()  # made, gone or shown again
    price: float | None = None  # on the next request, once
    saves: float | None = None  # on each request after that
    unit: str = "USD"
    files: tuple[str, ...] = ()
    thread: str = ""  # a new one, or the new name
    problem: str = ""
    undo: tuple[Undo, ...] = ()


def _pin(opened: OpenThread, seq: int, *, is_pinned: bool, preview: bool) -> ActOutcome:
    """Keep a message in every view, or no longer."""
    session = opened.session
    before = session.preview()
    trial = session.thread.trial()
    chosen = trial if preview else opened.thread
    (chosen.pin if is_pinned else chosen.unpin)(seq)
    after = session.desk.decide(trial.view) if preview else opened.session.preview()
    undo = Undo("unpin" if is_pinned else "pin", {"seq": seq})
    told = predicted(0, before.used - after.used, rates_of(session.model, before.used))
    return ActOutcome(
        preview,
        before.used,
        after.used,
        after.usable,
        after.fits,
        saves=told.saves,
        unit=told.unit,
        undo=() if preview else (undo,),
    )


def _moved(opened: OpenThread, session: Session, report: RewindReport, used: int, *, preview: bool) -> ActOutcome:
    if preview:
        at = session.desk.decide(opened.thread.view_at(report.head) if report.head else None)
    else:
        at = opened.session.preview()
    told = predicted(0, used - at.used, rates_of(session.model, used))
    return ActOutcome(
        preview,
        used,
        at.used,
        at.usable,
        at.fits,
        len(report.messages),
        report.folds,
        0.0,
        told.saves,
        told.unit,
        tuple(f"{change.kind} {change.path}" for change in report.files),
        undo=() if preview else (Undo("redo", {}),),
    )


def _told(foreseen: Preview, *, is_preview: bool) -> ActOutcome:
    price = foreseen.price
    hides, shows = foreseen.hides, foreseen.shows
    return ActOutcome(
        is_preview,
        foreseen.before,
        foreseen.after,
        foreseen.usable,
        foreseen.fits,
        len(hides.messages) or len(shows.messages),
        tuple(each.id for each in foreseen.folds) or shows.stand_ins,
        None if price is None else price.price,
        None if price is None else price.saves,
        "tokens" if price is None else price.unit,
    )


# -- as routes --------------------------------------------------------------------------------------------------------


class FoldNow(OfThread, frozen=True, kw_only=True):
    """Fold now, or with `preview` say what that would do."""

    instructions: Annotated[str, Meta(max_length=20_000)] = ""
    to: Annotated[int, Meta(ge=1)] | None = None
    preview: bool = False


def fold(stores: OpenStores, asked: FoldNow) -> ActOutcome:
    """Fold now."""
    opened = stores.thread(asked.space, asked.thread) if asked.preview else changing(stores, asked)
    foreseen = opened.session.preview_fold(instructions=asked.instructions, to=asked.to)
    told = _told(foreseen, is_preview=asked.preview)
    if asked.preview:
        refused = [attempt.error or str(attempt.refusal or "") for attempt in foreseen.attempts]
        return told if told.folds else replace(told, problem=next(filter(None, refused), "There is nothing to fold."))
    report = opened.session.fold(instructions=asked.instructions, to=asked.to)
    made = tuple(each.id for each in report.folds)
    undo = tuple(Undo("unfold", {"fold": each}) for each in reversed(made))
    return replace(told, before=report.before, after=report.after, folds=made, undo=undo)


class UnfoldNow(OfThread, frozen=True, kw_only=True):
    """Take a fold back; with `make_room` something older is folded for it."""

    fold: Seq
    make_room: bool = False
    preview: bool = False


def unfold(stores: OpenStores, asked: UnfoldNow) -> ActOutcome:
    """Take a fold back; everything said since stays."""
    opened = stores.thread(asked.space, asked.thread) if asked.preview else changing(stores, asked)
    foreseen = opened.session.preview_unfold(asked.fold, make_room=asked.make_room)
    told = _told(foreseen, is_preview=asked.preview)
    if asked.preview:
        return told
    made = opened.session.unfold(asked.fold, make_room=asked.make_room)
    return replace(told, folds=made, undo=(Undo("refold", {"fold": asked.fold}),))


def refold(stores: OpenStores, asked: OfFold) -> ActOutcome:
    """Hide again what a fold hid, behind the same words."""
    opened, fold = changing(stores, asked), asked.fold
    thread = opened.thread
    thread.catch_up()
    event = thread.branch.events[fold - 1].event if 0 < fold <= thread.branch.last else None
    if not isinstance(event, Folded):
        raise NotFound(f"{fold} is no fold of this thread.")
    before = opened.session.preview()
    made = thread.fold(event.cover, thread.lens.stand_in(fold), kind=event.kind, details=event.details)
    after = opened.session.preview()
    return ActOutcome(
        before=before.used, after=after.used, usable=after.usable, folds=(made,), undo=(Undo("unfold", {"fold": made}),)
    )


class PinAsked(OfThread, frozen=True, kw_only=True):
    """A message to pin, or no longer."""

    seq: Seq
    preview: bool = False


def pin(stores: OpenStores, asked: PinAsked) -> ActOutcome:
    """Keep a message in every view."""
    opened = stores.thread(asked.space, asked.thread) if asked.preview else changing(stores, asked)
    return _pin(opened, asked.seq, is_pinned=True, preview=asked.preview)


def unpin(stores: OpenStores, asked: PinAsked) -> ActOutcome:
    """Let a message be folded again."""
    opened = stores.thread(asked.space, asked.thread) if asked.preview else changing(stores, asked)
    return _pin(opened, asked.seq, is_pinned=False, preview=asked.preview)


class RewindAsked(OfThread, frozen=True, kw_only=True):
    """Where to go: just before or after an event, or to a checkpoint, with its files if asked for."""

    before: Seq | None = None
    after: Seq | None = None
    to: Seq | None = None
    files: bool = False
    preview: bool = False


def rewind(stores: OpenStores, asked: RewindAsked) -> ActOutcome:
    """Move the head to an earlier place; what came later stays in the log."""
    opened = stores.thread(asked.space, asked.thread) if asked.preview else changing(stores, asked)
    if sum(each is not None for each in (asked.before, asked.after, asked.to)) != 1:
        raise BadConfiguration("A rewind goes to just before or after an event, or to a checkpoint. Name one of them.")
    session = opened.session
    used = session.preview().used
    report = session.rewind(
        before=asked.before, after=asked.after, to=asked.to, files=asked.files, preview=asked.preview
    )
    return _moved(opened, session, report, used, preview=asked.preview)


def redo(stores: OpenStores, asked: OfThread) -> ActOutcome:
    """Return to where the last rewind came from."""
    opened = changing(stores, asked)
    session = opened.session
    now, came_from = session.preview(), opened.thread.branch.head
    report = session.redo()
    told = _moved(opened, session, report, now.used, preview=False)
    return replace(told, undo=(Undo("rewind", {"after": came_from}),) if came_from else ())


class ForkAsked(OfThread, frozen=True, kw_only=True):
    """Where the new thread begins: after `at`, on whatever branch that is, else now."""

    at: Seq | None = None
    name: str = ""


def fork(stores: OpenStores, asked: ForkAsked) -> ActOutcome:
    """Another thread that shares this one's past."""
    made = changing(stores, asked).thread.fork(at=asked.at, name=asked.name or None)
    return ActOutcome(thread=made.name, undo=(Undo("archive", {"thread": made.name}),))


class RenameAsked(OfThread, frozen=True, kw_only=True):
    """Another name for a thread."""

    to: Annotated[str, Meta(min_length=1, max_length=400)]


def rename(stores: OpenStores, asked: RenameAsked) -> ActOutcome:
    """Call a thread by another name; its earlier ones still lead to it."""
    opened = changing(stores, asked)
    before = opened.thread.name
    opened.store.rename(asked.thread, asked.to)
    stores.drop(asked.space, asked.thread)
    return ActOutcome(thread=asked.to, undo=(Undo("rename", {"thread": asked.to, "to": before}),))


def archive(stores: OpenStores, asked: OfThread) -> ActOutcome:
    """Put a thread away, out of the list."""
    changing(stores, asked).store.archive(asked.thread)
    return ActOutcome(thread=asked.thread, undo=(Undo("unarchive", {"thread": asked.thread}),))


def unarchive(stores: OpenStores, asked: OfThread) -> ActOutcome:
    """List a thread among the others again."""
    changing(stores, asked).store.unarchive(asked.thread)
    return ActOutcome(thread=asked.thread, undo=(Undo("archive", {"thread": asked.thread}),))


class ForgetAsked(OfThread, frozen=True, kw_only=True):
    """What to erase for good: a message, or the whole thread. `confirm` is the seq or the thread's name, typed."""

    seq: Seq | None = None
    confirm: str


def forget(stores: OpenStores, asked: ForgetAsked) -> ActOutcome:
    """Erase a message or a thread for good. This cannot be undone."""
    opened = changing(stores, asked)
    wanted = opened.thread.name if asked.seq is None else str(asked.seq)
    if asked.confirm != wanted:
        raise BadConfiguration("Nothing was erased: type exactly what is to be erased, its name or its number.")
    erased = opened.store.forget(asked.thread, asked.seq)
    stores.drop(asked.space, asked.thread)
    return ActOutcome(messages=erased, thread=asked.thread)


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
