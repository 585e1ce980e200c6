"""What is written when somebody speaks in a session: the message, large outputs offloaded at the door, and for an
answer what was sent and what it cost, in one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec.structs import asdict

from contextfold import dialects
from contextfold.dialects import neutral_bill, refuse_empty, understand
from contextfold.domain import (
    Appended,
    Bill,
    Detail,
    Measured,
    NewEvent,
    Projection,
    Reply,
    Sent,
    ToolResult,
)
from contextfold.errors import BadMessage
from contextfold.folding import (
    Context,
    PlannedFold,
    Steps,
    after_folds,
    billed_cost,
    content_of,
    draft_folds,
    rates_of,
    record,
    save,
    tell,
)
from contextfold.models import paid_for

from . import compaction, tools
from .desk import Desk
from .request import Request

Usage = Bill | Mapping[str, Any]


def append(
    desk: Desk, given: object, key: str | None, dialect: str | None = None, usage: Usage | None = None
) -> Steps[int]:
    """Write a message, and if it answers the prepared request, what was sent and billed; returns its seq."""
    reply = given if isinstance(given, Reply) else understand(given, desk.dialect, dialect or desk.thread.lens.named)
    message = reply.message
    bill = _bill(reply, usage)
    refuse_empty(message)
    request = desk.requests.newest if message.role == "assistant" else None
    event = Appended(desk.counter.shape(message), message.dialect)
    billed = bill.input
    blobs = () if request is None else request.record.blobs
    refused = tools.rulings(desk, message) if desk.tools.tools is not None and message.calls else ()
    if message.results:
        tools.check_results(desk, message)

    def drafting(now: Projection) -> list[NewEvent]:
        drafts = [] if request is None else [NewEvent(_sent(desk, request), now.head, desk.now())]
        drafts += tools.visibility(desk, now) if request is not None and desk.tools.tools is not None else []
        drafts.append(NewEvent(event, now.head, desk.now(), message.raw, key or ""))
        drafts += compaction.drafts(desk, now, drafts, reply)
        if request is not None and billed:
            seq = now.last + len(drafts)
            account = desk.books.settled(_billed(desk, request, bill))
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

    logged = yield from record(drafting, blobs)
    seq = next(entry.seq for entry in logged if isinstance(entry.event, Appended))
    if request is not None:
        desk.requests.answer()
        desk.turn.rest()
        desk.books.answered(_billed(desk, request, bill))
    is_whole = compaction.compaction_in(message) is None and not reply.cleared  # else it was billed for something else
    if request is not None and billed and is_whole:
        yield from learn(desk, request, billed)
    yield from offload(desk, seq)
    too_early = yield from desk.background.begin(desk, desk.policy.stages, desk.view().head)
    if too_early is not None:  # nothing to summarize yet: look again when there is more
        desk.turn.signal(after_folds(too_early, 0, folds=0))
    return seq


def learn(desk: Desk, request: Request, billed: int) -> Steps[None]:
    """Correct the counts by what was billed, and say so once when they were far off."""
    drift = desk.books.seen(request, billed)
    desk.thread.lens.learn(request.raw_tokens, billed)
    if billed > desk.budget().window:
        desk.overflowed(None)  # some providers cut in silence what is too long, and bill it
    if drift is not None:
        yield from tell(desk.hooks.on_drift, drift)


def _sent(desk: Desk, request: Request) -> Sent:
    account = desk.books.next_account
    return desk.sent(request, {} if account is None else account.details())


def _billed(desk: Desk, request: Request, bill: Bill) -> float | None:
    """What the request's input really cost, where its bill tells what came from the cache."""
    if desk.model.prices is None or bill.read is None:
        return billed_cost(bill, rates_of(desk.model, request.report.after))
    return paid_for(bill, desk.model.prices).input


def _bill(reply: Reply, usage: Usage | None) -> Bill:
    """What the answer was billed, as its caller says, else as it says itself."""
    told = None if usage is None else neutral_bill(usage)
    if told is not None:
        return told
    own = reply.usage if not isinstance(usage, Mapping) else usage
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
    message = desk.thread.lens.read(item)
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
        yield from _fold_at_the_door(desk, folds)


def _fold_at_the_door(desk: Desk, folds: Sequence[PlannedFold]) -> Steps[None]:
    factor = desk.thread.lens.calibration.factor
    context = Context(desk.counter, desk.now, 0, 0, factor, {"trigger": "door"})
    yield from record(lambda now: draft_folds(now, folds, [""] * len(folds), context))
