"""What is written when somebody speaks in a session, and when a provider compacts.

A message, large outputs offloaded at the door, and for an answer what was sent and what it cost, in one transaction. An
answer that streams is handed on piece by piece and written at its end; one that breaks is written as far as it may be
sent back. What a provider compacted by itself is bound to its model, and nothing in front of it is read: a fold hides
what it stands for, in the same transaction, and whoever takes that fold back also hides the provider's block.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from msgspec.structs import asdict, replace

from contextfold import dialects
from contextfold.dialects import Heard, Listener, neutral_bill, refuse_empty, understand
from contextfold.domain import (
    Appended,
    Bill,
    Detail,
    Logged,
    Measured,
    Message,
    NewEvent,
    Opaque,
    Projection,
    Reply,
    StandIn,
    ToolResult,
    Unfolded,
    ViewItem,
    appended,
    is_unanswered,
)
from contextfold.errors import BadMessage, CannotCover
from contextfold.folding import (
    Context,
    PlannedFold,
    Record,
    Steps,
    after_folds,
    content_of,
    draft_fold,
    draft_folds,
    record,
    save,
    tell,
)
from contextfold.session import tools
from contextfold.summaries import cleared_text, window_text

from .desk import Desk
from .drivers import drive
from .request import Request
from .telemetry import journal

# -- asking for it --------------------------------------------------------------------------------------------------


def compaction_options(desk: Desk, dialect: str) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """What a request says about compaction, where it may: settings, and the names of the features they belong to."""
    made = {str(event.details.get("form")) for _, event in desk.natives.live()} & {"threshold", "on-demand"}
    clears, at = desk.policy.native == "clear", desk.compacts_at(dialect)
    wish = dialects.Wish(desk.model, desk.budget().usable, at, frozenset(made), clears)
    return dialects.find(dialect).compacting(wish)


# -- what came back -------------------------------------------------------------------------------------------------


def compaction_in(message: Message) -> int | None:
    """Where an answer holds what its provider made of everything before it."""
    found = None
    for place, block in enumerate(message.blocks):
        if isinstance(block, Opaque) and block.kind == "compaction":
            found = place
    return found


def compaction_drafts(
    desk: Desk, now: Projection, before: list[NewEvent], place: int | None, cleared: int
) -> list[NewEvent]:
    """The fold of what the provider left out for this answer, which is in `before`: all, or so many results."""
    then = now.copy()
    for draft in before:
        then.take(Logged(then.last + 1, draft.parent, draft.at, draft.event))
    answered = next(now.last + number for number, draft in enumerate(before, 1) if isinstance(draft.event, Appended))
    view = then.view(desk.lens)
    front = [item for item in view.items if item.seq < answered and item.shape.role != "system"]
    details: dict[str, Detail] = {"trigger": "provider", "strategy": "native", "model": desk.model.name}
    if place is None:
        planned = _cleared_by_provider(desk, front, cleared)
    else:
        planned = _compacted_by_provider(desk, front, then.last + 1)
        details |= {"form": "threshold", "message": answered, "block": place}
    context = Context(desk.counter, desk.now, view.tokens(), 0, desk.lens.calibration.factor, details)
    try:
        return [draft_fold(then, planned, planned.words(then.last + 1, ""), then.head, context)]
    except CannotCover:
        return []  # something there must stay: everything is sent again, and the provider reads what it reads


def _compacted_by_provider(desk: Desk, front: Sequence[ViewItem], fold: int) -> PlannedFold:
    """Everything in front of the answer; the provider reads nothing of it, but a person may."""
    seqs = tuple(item.seq for item in front if item.kind in ("message", "attachment"))
    folds = tuple(item.seq for item in front if item.kind == "stand_in")
    ranges = ((seqs[0], seqs[-1]),) if seqs else ((0, 0),)
    text = window_text(fold, ranges, len(seqs), desk.language())
    return PlannedFold("native", lambda _fold, _text: StandIn(text), seqs, folds)


def _cleared_by_provider(desk: Desk, front: Sequence[ViewItem], most: int) -> PlannedFold:
    """The oldest results, as the provider counts them."""
    places = [
        (item, index)
        for item in front
        if item.kind == "message"
        for index, block in enumerate(item.shape.blocks)
        if block.kind == "result" and all(part.block != index for part in item.folded)
    ][:most]
    texts = tuple(
        cleared_text("a tool", "", item.seq, desk.weigh_block(item, index), desk.language()) for item, index in places
    )
    blocks = tuple((item.seq, index) for item, index in places)
    return PlannedFold(
        "native", lambda _fold, _text: StandIn(blocks=texts), blocks=blocks, details={"form": "clearing"}
    )


# -- letting go -----------------------------------------------------------------------------------------------------


def let_go(desk: Desk) -> Steps[None]:
    """Another model cannot read what this one's provider made: the originals come back, and are folded as usual."""
    for fold, event in desk.natives.live():
        if event.details.get("form") != "clearing" and event.details.get("model") not in (
            desk.model.name,
            desk.model.id,
        ):
            yield from record(lambda now, fold=fold: undone(desk, now, fold))  # type: ignore[misc]


def undone(desk: Desk, now: Projection, fold: int) -> list[NewEvent]:
    """The fold taken back, and the block that stood for what it hid left out from now on."""
    taken = [NewEvent(Unfolded(fold), now.head, desk.now())]
    return [*taken, *block_hidden(desk, now, fold, now.last + 1)]


def block_hidden(desk: Desk, now: Projection, fold: int, parent: int) -> list[NewEvent]:
    """What else goes when a native fold does; nothing for other folds."""
    event = now.folds[fold].event
    message, block = event.details.get("message"), event.details.get("block")
    if not isinstance(message, int) or not isinstance(block, int):
        return []
    planned = PlannedFold("clear", lambda _fold, _text: StandIn(blocks=("",)), blocks=((message, block),))
    context = Context(desk.counter, desk.now, 0, 0, 1.0, {"trigger": "unfold", "strategy": "native"})
    return [draft_fold(now, planned, StandIn(blocks=("",)), parent, context)]


Usage = Bill | Mapping[str, Any]
_NO_BILL = Bill()


def append(
    desk: Desk, given: object, key: str | None, dialect: str | None = None, usage: Usage | None = None
) -> Steps[int]:
    """Write a message, and if it answers the prepared request, what was sent and billed; returns its seq."""
    lens = desk.lens
    reply = given if isinstance(given, Reply) else understand(given, lens.dialect, dialect or lens.named)
    message = reply.message
    bill = _bill(reply, usage) if reply.usage or usage is not None else _NO_BILL
    if not message.blocks:
        refuse_empty(message)
    request = desk.requests.newest if message.role == "assistant" else None
    event = appended(lens.counter.shape(message), message, is_first=is_unanswered(desk.thread.branch.items.items))
    billed, compacted, results = bill.input, compaction_in(message), message.results
    is_whole = compacted is None and not reply.cleared  # else the provider read something else than was sent
    gated = desk.tools.tools is not None
    refused = tools.rulings(desk, message) if gated and message.calls else ()
    if results:
        tools.check_results(desk, message)

    def drafting(now: Projection) -> list[NewEvent]:
        said = NewEvent(event, now.head, desk.now(), message.raw, key or "")
        if request is None:
            drafts = [said]
        else:
            account = desk.books.next_account
            sent = desk.sent(request, {} if account is None else account.details(), now.head)
            drafts = [sent, *(tools.visibility(desk, now) if gated else ()), said]
        if not is_whole:
            drafts += compaction_drafts(desk, now, drafts, compacted, reply.cleared)
        if request is not None and billed:
            seq = now.last + len(drafts)
            account = desk.books.settled(desk.model, bill)
            measured = Measured(
                now.last + 1,
                request.model,
                billed,
                request.report.after,
                _numbers(reply.usage if usage is None else usage),
                bill=bill,
                account={} if account is None else account.details(),
            )
            drafts.append(NewEvent(measured, seq, desk.now()))
        return [*drafts, *tools.refusals(desk, refused, now.head)] if refused else drafts

    logged: tuple[Logged, ...] = yield Record(drafting, () if request is None else request.record.blobs)
    (seq,) = [entry.seq for entry in logged if isinstance(entry.event, Appended)]
    if request is not None:
        desk.requests.answer()
        desk.turn.rest()
        desk.books.answered(desk.model, bill)
        if billed and is_whole and request.raw_tokens:
            yield from learn(desk, request, billed)
    if results:
        yield from offload(desk, seq)
    if desk.background.wanted is not None:
        too_early = yield from desk.background.begin(desk, desk.policy.stages, desk.view().head)
        if too_early is not None:  # nothing to summarize yet: look again when there is more
            desk.turn.signal(after_folds(too_early, 0, folds=0))
    return seq


def learn(desk: Desk, request: Request, billed: int) -> Steps[None]:
    """Correct the counts by what was billed, and say so once when they were far off."""
    drift = desk.books.seen(request, billed)
    desk.lens.learn(request.raw_tokens, billed)
    if billed > desk.budget().window:
        desk.overflowed(None)  # some providers cut in silence what is too long, and bill it
    if drift is not None:
        yield from tell(desk.hooks.on_drift, drift)


def _bill(reply: Reply, usage: Usage | None) -> Bill:
    """What the answer was billed, as its caller says, else as it says itself."""
    told = None if usage is None else neutral_bill(usage)
    if told is not None:
        return told
    own = reply.usage if not isinstance(usage, Mapping) else usage
    if not own:
        return Bill()
    bill = dialects.find(reply.message.dialect).bill(own)
    if usage is not None and not (bill.input or bill.output) and any(_numbers(own).values()):
        raise BadMessage("This usage holds no number of tokens that we know. Give it as input, read, written, output.")
    return bill


def _numbers(usage: Usage) -> dict[str, Detail]:
    if isinstance(usage, Bill):
        usage = asdict(usage)
    return {
        name: value for name, value in usage.items() if isinstance(value, int | float) and not isinstance(value, bool)
    }


def offload(desk: Desk, seq: int) -> Steps[None]:
    """A large output goes behind a preview as soon as it is in the log; with `artifacts`, also into a file."""
    if desk.policy.door is None:
        return
    view = desk.view()
    item = view.item(view.length - 1) if view.length else None
    if item is None or item.seq != seq or not item.shape.results:
        return
    message = desk.lens.read(item)
    plan = desk.policy.door.plan_for(item, message, desk.situation(desk.decide()))
    folds = list(plan.folds)
    if desk.artifacts is not None:
        for place, planned in enumerate(folds):
            block = message.blocks[planned.blocks[0][1]]
            if isinstance(block, ToolResult):
                yield from save(str(planned.details["artifact"]), content_of(block).encode("utf-8", "backslashreplace"))
                directory = str(desk.artifacts.absolute())  # where it is found again when it is forgotten
                folds[place] = replace(planned, details={**planned.details, "directory": directory})
    if folds:
        context = Context(desk.counter, desk.now, 0, 0, desk.lens.calibration.factor, {"trigger": "door"})
        yield from record(lambda now: draft_folds(now, folds, [""] * len(folds), context))


Piece = TypeVar("Piece")


def written(desk: Desk, heard: Heard, key: str | None) -> Steps[int | None]:
    """Write what was heard, if anything; tell when it was not all."""
    if not heard.is_complete:
        facts = {"error": heard.error, "left_out": list(heard.left_out), "kept": heard.answer is not None}
        journal(logging.WARNING, "stream cut", thread=desk.thread.name, **facts)
    if heard.answer is None:
        return None
    seq = yield from append(desk, heard.answer, key, heard.dialect)
    return seq


class StreamRecording(Generic[Piece]):
    """A stream being recorded: iterate over it once. `seq` and `heard` tell what was written when it has ended."""

    def __init__(self, desk: Desk, stream: Iterable[Piece], key: str | None) -> None:
        self._desk, self._stream, self._key = desk, stream, key
        self._running: weakref.ref[Generator[Piece]] | None = None
        self.seq: int | None = None  # of the message written; None before the end, and where nothing was left to write
        self.heard = Heard()

    def __iter__(self) -> Iterator[Piece]:
        if self._running is not None:
            raise RuntimeError("A stream is heard once. Record the next one by itself.")
        pieces = self._pieces()
        self._running = weakref.ref(pieces)  # weakly: a caller who leaves the loop ends the recording there
        return pieces

    def close(self) -> None:
        """Stop listening now, and write what came so far."""
        running = self._running() if self._running is not None else None
        if running is not None:
            running.close()

    def _pieces(self) -> Generator[Piece]:
        listener = Listener(self._desk.turn.dialect or self._desk.dialect)
        try:
            for piece in self._stream:
                listener.hear(piece)
                yield piece
        except BaseException as error:
            self._write(listener.heard(error))
            raise
        self._write(listener.heard())

    def _write(self, heard: Heard) -> None:
        self.heard = heard
        self.seq = drive(written(self._desk, heard, self._key), self._desk)
