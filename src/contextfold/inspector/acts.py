"""What can be changed from the page: each act tells before what it would do, and is undone by another act.

Everything but forgetting writes events, so nothing is lost. An answer says how to take the act back.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from contextfold.domain import Detail, Folded
from contextfold.errors import BadConfiguration, NotFound
from contextfold.folding import predicted, rates_of
from contextfold.session import Preview, Session
from contextfold.thread import RewindReport

from .stores import OpenThread


class Undo(Struct, frozen=True):
    """The act that takes one back: its name, and what to send with it."""

    act: str
    values: dict[str, Detail]


class Outcome(Struct, frozen=True, omit_defaults=True):
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


def fold(opened: OpenThread, instructions: str, to: int | None, *, preview: bool) -> Outcome:
    """Fold now."""
    session = opened.session
    foreseen = session.preview_fold(instructions=instructions, to=to)
    told = _told(foreseen, is_preview=preview)
    if preview:
        refused = [attempt.error or str(attempt.refusal or "") for attempt in foreseen.attempts]
        return told if told.folds else replace(told, problem=next(filter(None, refused), "There is nothing to fold."))
    report = session.fold(instructions=instructions, to=to)
    made = tuple(each.id for each in report.folds)
    undo = tuple(Undo("unfold", {"fold": each}) for each in reversed(made))
    return replace(told, before=report.before, after=report.after, folds=made, undo=undo)


def unfold(opened: OpenThread, fold: int, *, make_room: bool, preview: bool) -> Outcome:
    """Take a fold back."""
    session = opened.session
    told = _told(session.preview_unfold(fold, make_room=make_room), is_preview=preview)
    if preview:
        return told
    made = session.unfold(fold, make_room=make_room)
    return replace(told, folds=made, undo=(Undo("refold", {"fold": fold}),))


def refold(opened: OpenThread, fold: int) -> Outcome:
    """Hide again what a fold hid, behind the same words."""
    thread = opened.thread
    thread.catch_up()
    event = thread.branch.events[fold - 1].event if 0 < fold <= thread.branch.last else None
    if not isinstance(event, Folded):
        raise NotFound(f"{fold} is no fold of this thread.")
    before = opened.session.preview()
    made = thread.fold(event.cover, thread.lens.stand_in(fold), kind=event.kind, details=event.details)
    after = opened.session.preview()
    return Outcome(
        before=before.used, after=after.used, usable=after.usable, folds=(made,), undo=(Undo("unfold", {"fold": made}),)
    )


def pin(opened: OpenThread, seq: int, *, is_pinned: bool, preview: bool) -> Outcome:
    """Keep a message in every view, or no longer."""
    session = opened.session
    before = session.preview()
    trial = session.thread.trial()
    chosen = trial if preview else opened.thread
    (chosen.pin if is_pinned else chosen.unpin)(seq)
    after = session.desk.decide(trial.view) if preview else opened.session.preview()
    undo = Undo("unpin" if is_pinned else "pin", {"seq": seq})
    told = predicted(0, before.used - after.used, rates_of(session.model, before.used))
    return Outcome(
        preview,
        before.used,
        after.used,
        after.usable,
        after.fits,
        saves=told.saves,
        unit=told.unit,
        undo=() if preview else (undo,),
    )


def rewind(
    opened: OpenThread, *, before: int | None, after: int | None, to: int | None, files: bool, preview: bool
) -> Outcome:
    """Move the head to an earlier place; `to` a checkpoint the files of its workspace can go along."""
    if sum(each is not None for each in (before, after, to)) != 1:
        raise BadConfiguration("A rewind goes to just before or after an event, or to a checkpoint. Name one of them.")
    session = opened.session
    used = session.preview().used
    report = session.rewind(before=before, after=after, to=to, files=files, preview=preview)
    return _moved(opened, session, report, used, preview=preview)


def redo(opened: OpenThread) -> Outcome:
    """Return to where the last rewind came from."""
    session = opened.session
    now, came_from = session.preview(), opened.thread.branch.head
    report = session.redo()
    told = _moved(opened, session, report, now.used, preview=False)
    return replace(told, undo=(Undo("rewind", {"after": came_from}),) if came_from else ())


def _moved(opened: OpenThread, session: Session, report: RewindReport, used: int, *, preview: bool) -> Outcome:
    if preview:
        at = session.desk.decide(opened.thread.view_at(report.head) if report.head else None)
    else:
        at = opened.session.preview()
    told = predicted(0, used - at.used, rates_of(session.model, used))
    return Outcome(
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


def _told(foreseen: Preview, *, is_preview: bool) -> Outcome:
    price = foreseen.price
    hides, shows = foreseen.hides, foreseen.shows
    return Outcome(
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
