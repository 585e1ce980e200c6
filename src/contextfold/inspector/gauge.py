"""What fills the window now: the parts of the next request to scale, and where folding begins.

Every number comes from one place: the session's own decision. Parts are what it counted, weighed as it weighs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from contextfold.domain import Appended, Attached, Folded, ViewItem
from contextfold.session import Session
from contextfold.session.desk import live_request

_ORDER = (
    "system",
    "tools",
    "fixed",
    "layer",
    "stand_in",
    "user",
    "answer",
    "reasoning",
    "call",
    "result",
    "cleared",
    "note",
)


class GaugePart(Struct, frozen=True, omit_defaults=True):
    """So many tokens of the next request; `name` tells tools and kinds of folds apart."""

    part: str
    tokens: int
    name: str = ""


class Gauge(Struct, frozen=True):
    """The window as it stands. `parts` together are `used`; `reserve` is kept for the answer."""

    model: str
    policy: str
    window: int
    usable: int
    used: int
    newest: int  # of it the newest turn, which no fold takes
    reserve: int
    threshold: int  # where folding begins by size; 0 where nothing begins it
    reason: str
    action: str
    is_exact: bool
    method: str
    factor: float  # bills taught this correction
    is_window_assumed: bool
    parts: tuple[GaugePart, ...]


def gauge_of(session: Session) -> Gauge:
    """The gauge of a session as it stands."""
    decision, budget, model = session.preview(), session.desk.budget(), session.model
    view, lens = session.view, session.thread.lens
    sizes = _parts(session)
    rest = decision.used - sum(sizes.values())
    if rest > 0:  # what the request holds beside them is a part too, so that they add up
        sizes["fixed", ""] += rest
    ordered = sorted(sizes.items(), key=lambda each: (_ORDER.index(each[0][0]), -each[1]))
    parts = tuple(GaugePart(part, tokens, name) for (part, name), tokens in ordered if tokens > 0)
    fired = [firing for each in session.policy.triggers if (firing := each.fires(budget.window, budget, model))]
    threshold = min((firing.threshold for firing in fired), default=0) if session.policy.automatic else 0
    return Gauge(
        model.name,
        session.policy.name,
        model.window,
        decision.usable,
        decision.used,
        lens.calibration.scaled(view.tokens(live_request(view))),
        budget.reserve,
        min(threshold, decision.usable),
        decision.reason,
        decision.action,
        view.count.exact,
        view.count.method,
        round(lens.calibration.factor, 4),
        model.assumed,
        parts,
    )


def _parts(session: Session) -> Counter[tuple[str, str]]:
    frame, scaled = session.desk.turn.frame, session.thread.lens.calibration.scaled
    sizes: Counter[tuple[str, str]] = Counter()
    sizes["system", ""] = scaled(frame.system_tokens)
    sizes["tools", ""] = scaled(frame.tool_tokens)
    view, raw = session.view, Counter[tuple[str, str]]()
    for place in range(view.length):
        item = view.item(place)
        raw.update(dict(_of_item(session, item, view.tokens(place, place + 1))))
    for key, tokens in raw.items():
        sizes[key] += scaled(tokens)
    return sizes


def _of_item(session: Session, item: ViewItem, whole: int) -> Iterator[tuple[tuple[str, str], int]]:
    """The tokens of one item by part; what no block accounts for goes with its speaker."""
    events = session.thread.branch.events
    if item.kind == "stand_in":
        event = events[item.seq - 1].event
        yield ("stand_in", event.kind if isinstance(event, Folded) else "fold"), whole
        return
    if item.kind == "attachment":
        event = events[item.seq - 1].event
        yield ("layer" if isinstance(event, Attached) and event.kind == "layer" else "note", ""), whole
        return
    weigh, left = session.thread.lens.counter, whole
    folded = {part.block for part in item.folded}
    found: Counter[tuple[str, str]] = Counter()
    for place, block in enumerate(item.shape.blocks):
        if place not in folded and block.kind in ("result", "call", "reasoning"):
            tokens = min(left, weigh.block_tokens(block.measure))
            tool = _tool(session, item.seq, block.call) if block.kind == "result" else ""
            found[block.kind, tool] += tokens
            left -= tokens
    rest = "cleared" if folded else "user" if item.shape.role == "user" else "answer"
    if item.shape.results and not folded:
        rest = "result"
    found[rest, ""] += left
    yield from found.items()


def _tool(session: Session, seq: int, call: str) -> str:
    for logged in reversed(session.thread.branch.events[max(0, seq - 40) : seq]):
        if isinstance(logged.event, Appended):
            for block in logged.event.shape.blocks:
                if block.kind == "call" and block.call == call:
                    return block.name
    return ""
