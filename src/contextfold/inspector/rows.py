"""What a list of a conversation shows, row by row: who spoke, the first words, the size, and what became of it.

Rows come as they were said, each fold's card before the first message that it hides. A list is numbers: the seq of an
event, or below zero the id of a fold whose card stands there. What is hidden is left out unless its card is open. A
turn more costs that turn; a fold, a pin or a rewind has the lists made anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from contextfold.domain import (
    Appended,
    Attached,
    Checkpointed,
    Detail,
    Event,
    Folded,
    LiveBranch,
    Logged,
    Measured,
    Message,
    Noted,
    Pinned,
    Reasoning,
    Rewound,
    Sent,
    Text,
    ToolCall,
    ToolResult,
    ToolsProjected,
    Unfolded,
    Unpinned,
    ViewItem,
)
from contextfold.errors import BadMessage
from contextfold.thread import Thread
from contextfold.thread.timeline import RowState, TimelineRow

_WORDS = 240  # characters of a row's first words
NEAR = 400  # events in which the other half of a tool call is looked for
_GAP = 16  # rows this near to each other are read in one page
_MOST_KEPT = 20_000  # first words that are remembered


class ListedRow(Struct, frozen=True, omit_defaults=True):
    """One row: a message, an event, or the card of a fold, whose `seq` is the fold's id."""

    seq: int
    kind: str  # "message", "attachment", "fold", or the kind of the event
    at: float
    who: str = ""  # "user", "assistant", "system", "tool", "note"
    text: str = ""
    tokens: int = 0
    size: int = 0  # bytes
    state: RowState = "visible"
    fold: int | None = None  # the one that hides it
    is_pinned: bool = False
    calls: tuple[str, ...] = ()  # tools that are called
    results: tuple[str, ...] = ()  # tools that answer
    is_error: bool = False
    images: int = 0
    cleared: tuple[int, ...] = ()  # folds that hide parts of it
    reasoning: bool = False
    facts: dict[str, Detail] = {}  # of an event or a fold


class RowPage(Struct, frozen=True):
    """Some rows of a list, and how long it is now."""

    start: int
    total: int
    last: int  # the newest seq of the thread
    head: int
    rows: tuple[ListedRow, ...]


class NewestRows(Struct, frozen=True):
    """The end of a conversation, folds closed; `is_whole` where nothing stands before it."""

    is_whole: bool
    last: int
    rows: tuple[ListedRow, ...]


class RowPlace(Struct, frozen=True):
    """Where an event stands in a list; `fold` hides it, where its card has to be opened first."""

    index: int
    seq: int
    fold: int | None = None


Listing: TypeAlias = Literal["said", "people", "tools", "shown", "hidden", "everything"]

_QUIET = (Appended, Attached, Noted, Sent, Measured, Checkpointed, ToolsProjected)  # they leave what is listed in place
_SAID = (Appended, Attached, Noted, Rewound, Checkpointed)
_MOST_LISTS = 8


class ListOrder:
    """The lists of one thread, kept in step with it."""

    def __init__(self, thread: Thread, since: int = 1) -> None:
        self._thread, self._since = thread, since  # nothing before this seq is listed
        self._branch: LiveBranch | None = None
        self._upto = 0
        self._hidden: dict[int, int] = {}  # seq of a message, and the fold that hides it
        self._cards: dict[int, int] = {}  # seq of the first message that a fold hides, and the fold
        self._lists: dict[tuple[Listing, frozenset[int]], list[int]] = {}
        self.version = 0  # grows when something listed may have changed its place

    def entries(self, listing: Listing, open_folds: Iterable[int] = ()) -> list[int]:
        """What is listed; not to be changed."""
        self._follow()
        key = listing, frozenset(open_folds)
        if key not in self._lists:
            while len(self._lists) >= _MOST_LISTS:
                del self._lists[next(iter(self._lists))]
            self._lists[key] = list(self._listed(self._thread.branch.events[self._since - 1 :], *key))
        return self._lists[key]

    def fold_over(self, seq: int) -> int | None:
        """The fold whose stand-in is shown instead of a message."""
        self._follow()
        return self._hidden.get(seq)

    def _follow(self) -> None:
        branch = self._thread.branch
        new = branch.events[self._upto :] if branch is self._branch else ()
        if branch is not self._branch or not all(isinstance(each.event, _QUIET) for each in new):
            self._begin(branch)
        for (listing, open_folds), entries in self._lists.items():
            entries.extend(self._listed(new, listing, open_folds))
        self._upto = branch.last

    def _begin(self, branch: LiveBranch) -> None:
        self._branch, self._lists, self.version = branch, {}, self.version + 1
        self._hidden, self._cards = {}, {}
        items, view = branch.items.items, branch.view(self._thread.lens)
        shown = {item.seq for item in view.items if item.kind in ("message", "attachment")}
        for fold in branch.folds.outermost():
            seqs = [items[place].seq for start, stop in fold.spans for place in range(start, stop)]
            gone = [seq for seq in seqs if seq not in shown]
            self._hidden.update(dict.fromkeys(gone, fold.seq))
            if gone:
                self._cards[min(gone)] = fold.seq

    def _listed(self, events: Iterable[Logged], listing: Listing, open_folds: frozenset[int]) -> Iterator[int]:
        with_cards = listing not in ("people", "tools")
        for logged in events:
            seq, fold = logged.seq, self._hidden.get(logged.seq)
            if with_cards and seq in self._cards:
                yield -self._cards[seq]
            if fold is not None and fold not in open_folds and listing in ("said", "shown", "everything"):
                continue
            if self._is_listed(logged, listing, fold):
                yield seq

    def _is_listed(self, logged: Logged, listing: Listing, fold: int | None) -> bool:
        event = logged.event
        if listing == "everything":
            return True
        if listing == "said":
            return isinstance(event, _SAID)
        if not isinstance(event, Appended | Attached):
            return False
        if listing in ("shown", "hidden"):
            is_out = fold is not None or not self._thread.branch.is_on_path(logged.seq)
            return is_out if listing == "hidden" or fold is not None else not is_out
        kinds = {block.kind for block in event.shape.blocks}
        if listing == "tools":
            return bool(kinds & {"call", "result"})
        return isinstance(event, Appended) and event.shape.role == "user" and "result" not in kinds


class Rows:
    """The lists of one thread, in pages."""

    def __init__(self, thread: Thread, layout: ListOrder) -> None:
        self._thread, self._layout = thread, layout
        self._words: dict[int, str] = {}
        self._forgotten = 0
        self._hides: dict[int, tuple[int, int]] = {}  # messages and tokens behind a fold
        self._parts: dict[int, tuple[int, ...]] = {}  # messages of which folds hide parts
        self._version = 0

    def page(self, listing: Listing, open_folds: Sequence[int], start: int, limit: int) -> RowPage:
        """So many rows from a place on."""
        thread = self._thread
        thread.catch_up()
        entries = self._layout.entries(listing, open_folds)
        if self._forgotten != thread.lens.times_forgotten or len(self._words) > _MOST_KEPT:
            self._words, self._forgotten = {}, thread.lens.times_forgotten
        if self._version != self._layout.version:
            self._hides, self._version = {}, self._layout.version
            shown = thread.branch.view(thread.lens).items
            self._parts = {
                item.seq: tuple(sorted({part.fold for part in item.folded})) for item in shown if item.folded
            }
        chosen = entries[max(0, start) : max(0, start) + limit]
        seqs = [seq for seq in chosen if seq > 0]
        rows = {row.seq: row for row in self._read(seqs)}
        thread.lens.load(seq for seq in seqs if seq not in self._words)  # in one go
        listed = tuple(
            self._card(-entry) if entry < 0 else self._row(rows[entry], self._parts.get(entry, ())) for entry in chosen
        )
        return RowPage(max(0, start), len(entries), thread.branch.last, thread.branch.head, listed)

    def place(self, seq: int, listing: Listing, open_folds: Sequence[int]) -> RowPlace:
        """Where an event stands, or the nearest one that is listed."""
        self._thread.catch_up()
        entries, fold = self._layout.entries(listing, open_folds), self._layout.fold_over(seq)
        if fold is not None and fold not in open_folds and -fold in entries:
            return RowPlace(entries.index(-fold), seq, fold)
        for wanted in (seq, -seq):
            if wanted in entries:
                return RowPlace(entries.index(wanted), seq)
        before = sum(1 for entry in entries if 0 < entry < seq)
        return RowPlace(min(before, max(0, len(entries) - 1)), seq)

    def _read(self, seqs: Sequence[int]) -> Iterator[TimelineRow]:
        """The rows of these events, neighbours read together."""
        wanted, at = sorted(set(seqs)), 0
        while at < len(wanted):
            end = at
            while end + 1 < len(wanted) and wanted[end + 1] - wanted[end] <= _GAP:
                end += 1
            asked = set(wanted[at : end + 1])
            page = self._thread.rows(after=wanted[at] - 1, limit=wanted[end] - wanted[at] + 1)
            yield from (row for row in page if row.seq in asked)
            at = end + 1

    def _row(self, row: TimelineRow, cleared: tuple[int, ...]) -> ListedRow:
        event = self._thread.branch.events[row.seq - 1].event
        if not isinstance(event, Appended | Attached):
            text = event.name if isinstance(event, Checkpointed) else ""
            return ListedRow(row.seq, row.kind, row.at, text=text, state=row.state, fold=row.fold, facts=facts(event))
        results, shape = [block.call for block in row.blocks if block.kind == "result"], event.shape
        who = "tool" if shape.results and len(shape.results) == len(shape.blocks) else shape.role
        return ListedRow(
            row.seq,
            "message" if isinstance(event, Appended) else "attachment",
            row.at,
            "note" if isinstance(event, Attached) else who,
            self._first_words(row.seq, event),
            self.tokens(row.seq),
            row.size,
            row.state,
            row.fold,
            row.is_pinned,
            tuple(block.name for block in row.blocks if block.kind == "call"),
            tuple(self.tool(row.seq, call) for call in results),
            any(block.is_error for block in row.blocks),
            event.shape.images,
            cleared,
            event.shape.has_reasoning,
        )

    def _card(self, fold: int) -> ListedRow:
        logged = self._thread.branch.events[fold - 1]
        event = logged.event
        assert isinstance(event, Folded)  # noqa: S101  # the layout names folds
        messages, tokens = self.hidden(fold)
        told = {name: event.details.get(name) for name in ("trigger", "reason", "strategy", "price", "saves", "unit")}
        known: dict[str, Detail] = {name: value for name, value in told.items() if value is not None}
        known.setdefault("reason", told["trigger"])
        words = self._thread.lens.stand_in(fold)
        text = (words.text or "\n".join(words.blocks) or words.wire)[:_WORDS]
        weight = self._thread.lens.weigh(ViewItem(fold, "stand_in", event.shape))
        numbers = {"kind": event.kind, "messages": messages, "hidden": tokens}
        return ListedRow(
            fold, "fold", logged.at, text=text, tokens=self._scaled(weight), size=0, facts={**known, **numbers}
        )

    def hidden(self, fold: int) -> tuple[int, int]:
        """How many messages a fold hides, and their tokens."""
        if fold not in self._hides:
            branch, lens = self._thread.branch, self._thread.lens
            items = branch.items.items
            inside = [items[place] for span in branch.folds[fold].spans for place in range(*span)]
            inside = [item for item in inside if self._layout.fold_over(item.seq) == fold]  # pins stay in view
            messages = sum(item.kind == "message" for item in inside)
            self._hides[fold] = messages, self._scaled(sum(map(lens.weigh, inside)))
        return self._hides[fold]

    def tokens(self, seq: int) -> int:
        """What a message weighs by itself, as it was said."""
        event = self._thread.branch.events[seq - 1].event
        if not isinstance(event, Appended | Attached):
            return 0
        kind = "message" if isinstance(event, Appended) else "attachment"
        return self._scaled(self._thread.lens.weigh(ViewItem(seq, kind, event.shape)))  # type: ignore[arg-type]  # one of two

    def _scaled(self, tokens: int) -> int:
        return self._thread.lens.calibration.scaled(tokens)

    def tool(self, seq: int, call: str) -> str:
        """The tool behind a result, from the call before it."""
        events = self._thread.branch.events
        for logged in reversed(events[max(0, seq - NEAR) : seq]):
            if isinstance(logged.event, Appended):
                for block in logged.event.shape.blocks:
                    if block.kind == "call" and block.call == call:
                        return block.name
        return ""

    def answer_to(self, seq: int, call: str) -> int | None:
        """The message in which a call was answered."""
        for logged in self._thread.branch.events[seq : seq + NEAR]:
            if isinstance(logged.event, Appended) and call in logged.event.shape.results:
                return logged.seq
        return None

    def _first_words(self, seq: int, event: Appended | Attached) -> str:
        if seq not in self._words:
            kind = "message" if isinstance(event, Appended) else "attachment"
            item = ViewItem(seq, kind, event.shape)  # type: ignore[arg-type]  # one of two
            try:
                self._words[seq] = first_words(self._thread.lens.read(item))
            except BadMessage as error:
                self._words[seq] = str(error)[:_WORDS]
        return self._words[seq]


def newest_rows(thread: Thread, since: int, limit: int) -> NewestRows:
    """The end of the conversation, nothing listed before a seq."""
    order = ListOrder(thread, since)
    total = len(order.entries("said"))
    page = Rows(thread, order).page("said", (), max(0, total - limit), limit)
    return NewestRows(since == 1 and total <= limit, page.last, page.rows)


def first_words(message: Message) -> str:
    """How a message begins, on one line."""
    said = next((words for block in message.blocks if (words := _words_of(block)).strip()), "")
    return " ".join(said[: 4 * _WORDS].split())[:_WORDS]


def _words_of(block: object) -> str:
    match block:
        case Text():
            return block.text
        case ToolCall():
            return block.arguments
        case ToolResult():
            return next((words for inner in block.blocks if (words := _words_of(inner)).strip()), "")
        case Reasoning():
            return ""
        case _:
            return ""


def facts(event: Event) -> dict[str, Detail]:
    """What an event says of itself, for a row."""
    match event:
        case Rewound():
            return {"to": event.to, "left": event.left, "intent": event.intent}
        case Sent():
            reason = event.details.get("reason")
            return {"model": event.model, "tokens": event.tokens, "reason": reason, "answered": event.is_answered}
        case Measured():
            read = None if event.bill is None else event.bill.read
            return {"sent": event.sent, "billed": event.billed, "counted": event.counted, "read": read}
        case Pinned() | Unpinned():
            return {"message": event.message}
        case Unfolded():
            return {"fold": event.fold}
        case Folded():
            return {"kind": event.kind, "reason": event.details.get("reason")}
        case Checkpointed():
            return {"head": event.head, "files": bool(event.snapshot)}
        case Noted():
            return {"layer": event.layer}
        case ToolsProjected():
            return {"visible": len(event.visible)}
        case _:
            return {}
