"""What the model saw: one request as it was sent, rebuilt and proven, beside everything said until then.

Each message of it names the event behind it; what was left out names the fold that kept it out. Two requests are
compared part by part.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from contextfold.domain import Appended, Folded, LiveBranch, View, ViewItem
from contextfold.errors import NotFound
from contextfold.folding import rates_of
from contextfold.session import Session
from contextfold.thread import PastRequest, RequestPart, Thread

from .request_history import Requests, SentRequest
from .rows import first_words

_MOST_CHANGES = 400  # parts of two requests that are told apart one by one
_CHANGES = ("same", "new", "gone", "changed")
_LISTS = {"messages", "contents", "input"}
_WIRE = 400  # bytes that are shown of a part that no event is behind


class MapRun(Struct, frozen=True, omit_defaults=True):
    """Neighbours in the history with one fate: sent as they were said, sent with parts folded, or behind a stand-in."""

    first: int
    last: int
    messages: int
    tokens: int
    who: str
    fate: str  # "kept", "touched", "folded"
    fold: int | None = None


class SentPart(Struct, frozen=True, omit_defaults=True):
    """One message of a request: the event behind it, and how it begins."""

    seq: int
    kind: str  # "message", "stand_in", "attachment", "completion", "frame"
    who: str
    tokens: int
    size: int
    text: str
    is_touched: bool = False


class KeptOut(Struct, frozen=True):
    """What one fold kept out of a request. `cost` is what sending it along would have added, from the cache."""

    fold: int
    kind: str
    messages: int
    tokens: int
    reason: str
    cost: float


class ShownRequest(Struct, frozen=True):
    """What the model saw."""

    request: SentRequest
    total: int  # requests of the thread
    size: int  # bytes
    dialect: str
    is_exact: bool  # proven against what was recorded when it was sent
    problem: str  # why it is not
    system: int  # tokens
    tools: int
    parts: tuple[SentPart, ...]
    history: tuple[MapRun, ...]
    said: int  # tokens of everything said by then
    left_out: tuple[KeptOut, ...]
    unit: str  # of costs: "USD", or "tokens" where prices are not known


class PartChange(Struct, frozen=True):
    """How a part differs between two requests."""

    change: str  # "same", "new", "gone", "changed"
    count: int
    part: SentPart | None = None  # None where several are the same


class RequestDiff(Struct, frozen=True):
    """Two requests of a thread, the earlier one first."""

    before: int
    after: int
    same: int
    new: int
    gone: int
    changed: int
    fields: tuple[str, ...]  # of the body beside its messages that differ
    changes: tuple[PartChange, ...]
    is_cut: bool


def shown_request(session: Session, requests: Requests, request: SentRequest) -> ShownRequest:
    """A request as it was sent, beside everything said until then."""
    thread = session.thread
    view = thread.view_at(request.seq)
    past: PastRequest | None = None
    problem = ""
    try:
        past = thread.request(request.seq)
    except NotFound as error:
        problem = str(error)
    scaled = thread.lens.calibration.scaled
    weights: dict[tuple[int, str], int] = {
        (item.seq, item.kind): scaled(view.tokens(at, at + 1)) for at, item in enumerate(view.items)
    }
    parts = tuple(_parts(thread, view, past, weights))
    path = _path_to(thread, request.head)
    runs, folded = _runs(thread, path, view)
    said = scaled(sum(thread.lens.weigh(item) for item in path))
    frame = session.desk.turn.frame
    rates = rates_of(session.model, request.tokens)
    left = tuple(
        KeptOut(fold, kind, many, tokens, reason, round(tokens * rates.read, 6))
        for fold, (kind, many, tokens, reason) in sorted(folded.items())
    )
    return ShownRequest(
        request,
        requests.total,
        0 if past is None else len(past.json),
        "" if past is None else past.dialect,
        past is not None,
        problem,
        scaled(frame.system_tokens),
        scaled(frame.tool_tokens),
        parts,
        tuple(runs),
        said,
        left,
        rates.unit,
    )


def _parts(
    thread: Thread, view: View, past: PastRequest | None, weights: Mapping[tuple[int, str], int]
) -> Iterator[SentPart]:
    if past is None:
        for item in view.items:
            yield _part_of(thread, item, weights[item.seq, item.kind], 0)
        return
    items: dict[tuple[int, str], ViewItem] = {(item.seq, item.kind): item for item in view.items}
    for part in past.parts:
        found = items.get((part.seq, part.kind))
        if found is None:
            text = part.wire[:_WIRE].decode("utf-8", "replace")
            yield SentPart(part.seq, part.kind, "system", 0, len(part.wire), text)
        else:
            shown = _part_of(thread, found, weights[found.seq, found.kind], len(part.wire))
            yield SentPart(shown.seq, shown.kind, shown.who, shown.tokens, shown.size, shown.text, part.is_touched)


def _part_of(thread: Thread, item: ViewItem, tokens: int, size: int) -> SentPart:
    return SentPart(
        item.seq, item.kind, who_of(item), tokens, size, first_words(thread.lens.shown(item)), item.is_touched
    )


def who_of(item: ViewItem) -> str:
    """Who speaks in an item: for its colour."""
    if item.kind == "stand_in":
        return "stand_in"
    if item.kind == "attachment":
        return "note"
    results = item.shape.results
    return "tool" if results and len(results) == len(item.shape.blocks) else item.shape.role


def _path_to(thread: Thread, head: int) -> list[ViewItem]:
    """Everything said on the way to a place, on whatever branch it is."""
    branch = thread.branch
    if branch.is_on_path(head) or not head:
        items = branch.items.items
        return [
            item for item in items[: bisect_right(items, head, key=lambda item: item.seq)] if item.kind != "completion"
        ]
    found, seq = [], head
    while seq:
        logged = branch.events[seq - 1]
        if isinstance(logged.event, Appended):
            found.append(ViewItem(seq, "message", logged.event.shape))
        seq = logged.parent
    return found[::-1]


def _runs(
    thread: Thread, path: Sequence[ViewItem], view: View
) -> tuple[list[MapRun], dict[int, tuple[str, int, int, str]]]:
    """The history to scale, and what each fold kept out of the request."""
    shown = {item.seq: item for item in view.items if item.kind in ("message", "attachment")}
    standing = sorted((item.seq for item in view.items if item.kind == "stand_in"), reverse=True)
    covers = [(fold, _CoveredSeqs(thread.branch, fold)) for fold in standing]
    scaled, weigh = thread.lens.calibration.scaled, thread.lens.weigh
    runs: list[MapRun] = []
    folded: dict[int, tuple[str, int, int, str]] = {}
    for item in path:
        kept = shown.get(item.seq)
        fold = None if kept is not None else next((fold for fold, cover in covers if item.seq in cover), None)
        fate = "folded" if kept is None else "touched" if kept.is_touched else "kept"
        tokens = scaled(weigh(item))
        if fold is not None:
            event = thread.branch.events[fold - 1].event
            kind, reason = "fold", ""
            if isinstance(event, Folded):
                kind = event.kind
                reason = str(event.details.get("reason") or event.details.get("trigger") or "")
            _, many, sofar, _ = folded.get(fold, ("", 0, 0, ""))
            folded[fold] = kind, many + 1, sofar + tokens, reason
        last = runs[-1] if runs else None
        if last is not None and fate == "folded" == last.fate and last.fold == fold and last.who == who_of(item):
            runs[-1] = MapRun(last.first, item.seq, last.messages + 1, last.tokens + tokens, last.who, fate, fold)
        else:
            runs.append(MapRun(item.seq, item.seq, 1, tokens, who_of(item), fate, fold))
    return runs, folded


class _CoveredSeqs:
    """The seqs that a fold hides, those of folds inside it included; asked, not listed."""

    def __init__(self, branch: LiveBranch, fold: int) -> None:
        waiting = [fold]
        spans: list[tuple[int, int]] = []
        while waiting:
            event = branch.events[waiting.pop() - 1].event
            if isinstance(event, Folded):
                spans += event.cover.ranges
                waiting += event.cover.folds
        self._spans = sorted(spans)
        self._starts = [start for start, _ in self._spans]

    def __contains__(self, seq: int) -> bool:
        at = bisect_right(self._starts, seq) - 1
        return at >= 0 and any(start <= seq <= stop for start, stop in self._spans[max(0, at - 3) : at + 1])


# -- two requests -----------------------------------------------------------------------------------------------------


def difference(thread: Thread, before: SentRequest, after: SentRequest) -> RequestDiff:
    """What is the same, new, gone or shown otherwise, part by part."""
    old, new = thread.request(before.seq), thread.request(after.seq)
    earlier = {(part.seq, part.kind): part for part in old.parts}
    later = {(part.seq, part.kind) for part in new.parts}
    changes: list[PartChange] = []
    for part in new.parts:
        known = earlier.get((part.seq, part.kind))
        change = "new" if known is None else "same" if known.wire == part.wire else "changed"
        _add(changes, change, _told(thread, part))
    for part in old.parts:
        if (part.seq, part.kind) not in later:
            _add(changes, "gone", _told(thread, part))
    counts = {name: sum(each.count for each in changes if each.change == name) for name in _CHANGES}
    body, other = old.body, new.body
    fields = tuple(sorted(n for n in {*body, *other} - _LISTS if body.get(n) != other.get(n)))
    cut = len(changes) > _MOST_CHANGES
    return RequestDiff(
        before=before.seq,
        after=after.seq,
        **counts,
        fields=fields,
        changes=tuple(changes[:_MOST_CHANGES]),
        is_cut=cut,
    )


def _add(changes: list[PartChange], change: str, part: SentPart) -> None:
    if change != "same":
        changes.append(PartChange(change, 1, part))
    elif changes and changes[-1].change == "same":
        changes[-1] = PartChange("same", changes[-1].count + 1)
    else:
        changes.append(PartChange("same", 1))


def _told(thread: Thread, part: RequestPart) -> SentPart:
    """A part by the event behind it, else by its bytes."""
    event = thread.branch.events[part.seq - 1].event if part.seq else None
    if part.kind == "message" and isinstance(event, Appended):
        item = ViewItem(part.seq, "message", event.shape)
        words = first_words(thread.lens.read(item))
        return SentPart(part.seq, part.kind, who_of(item), 0, len(part.wire), words, part.is_touched)
    who = {"stand_in": "stand_in", "attachment": "note"}.get(part.kind, "system")
    return SentPart(part.seq, part.kind, who, 0, len(part.wire), part.wire[:_WIRE].decode("utf-8", "replace"))
