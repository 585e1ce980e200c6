"""How the items of a thread are read and weighed for one model: the domain's `Lens`, and the words behind events.

Words are read when they are shown and kept for a while. A fork shares its origin's events, so one seq may live in
another thread of the log; only this module knows where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from contextfold import dialects
from contextfold.domain import (
    INTERRUPTED,
    LATE,
    Appended,
    Block,
    BlockShape,
    Count,
    Counter,
    Detail,
    DistantLog,
    Edit,
    EventLog,
    Logged,
    Measure,
    Measured,
    Message,
    Opaque,
    Sent,
    Shape,
    StandIn,
    StandingLog,
    Text,
    ToolCall,
    ToolResult,
    ViewItem,
    Words,
)
from contextfold.models import Model
from contextfold.tokens import Calibration, learn

KEPT_BYTES = 32 * 2**20
_NEAR, _MOST_AHEAD = 8, 128  # events between two bodies that follow each other, and how many are read along at most
FORGOTTEN = "[This was forgotten on request and cannot be shown.]"


class LogStretch(NamedTuple):
    """The part of a lineage that one thread of the log holds: its events up to and including `upto`."""

    thread: str
    upto: int | None


class Bodies:
    """Bodies by seq for one thread and the threads it comes from. The oldest read leave first when room runs out."""

    def __init__(self, log: EventLog, lineage: Sequence[LogStretch], room: int = KEPT_BYTES) -> None:
        self._log, self._lineage, self._room = log, tuple(lineage), room
        self.is_far = isinstance(log, DistantLog)  # each look at the log costs a trip over a network
        self._telling = log if isinstance(log, StandingLog) else None
        self._kept: dict[int, bytes] = {}
        self.size = 0  # bytes kept
        self._ahead, self._read_upto = 1, 0  # how many were read at once when one was missing, and the last of them
        self._bills: dict[tuple[str, str], ModelBills] = {}
        self.times_dropped = 0

    @property
    def erasures(self) -> int:
        """How many events were forgotten so far, whoever did it: words that were read before may not be used after."""
        standing = self.standing
        return sum(len(self._log.forgotten(thread)) for thread, _ in self._lineage) if standing is None else standing[1]

    @property
    def standing(self) -> tuple[int, int] | None:
        """The newest seq of the thread in the log and its erasures, where one look tells both."""
        return None if self._telling is None else self._telling.standing([thread for thread, _ in self._lineage])

    def events(self, after: int = 0) -> Iterable[Logged]:
        """All events of the lineage in order, the oldest thread's first."""
        for thread, upto in self._lineage:
            if upto is None or after < upto:
                for logged in self._log.read(thread, after=after, upto=upto):
                    after = logged.seq
                    yield logged

    def keyed(self, keys: Sequence[str]) -> Mapping[str, int]:
        """Where these keys were used in the lineage; a fork shares what its origin wrote before it."""
        found: dict[str, int] = {}
        for thread, upto in self._lineage:
            written = self._log.keyed(thread, keys)
            found |= {key: seq for key, seq in written.items() if upto is None or seq <= upto}
        return found

    def get(self, seq: int) -> bytes | None:
        """The body of one event; None when it was forgotten. Whoever asks for one after another has the next ones read
        along, twice as many each time: each look at a log is a statement, or a trip over a network."""
        if seq not in self._kept:
            goes_on = self._read_upto < seq <= self._read_upto + _NEAR
            self._ahead = min(2 * self._ahead, _MOST_AHEAD) if goes_on else 1
            self._read_upto = seq + self._ahead - 1
            self.load(range(seq, self._read_upto + 1))
            if self._ahead > 1 and seq not in self._kept:  # those read along left no room for it
                self.load((seq,))
        return self._kept.get(seq)

    def load(self, seqs: Iterable[int]) -> None:
        """Read what is missing of these in one go."""
        missing = [seq for seq in seqs if seq not in self._kept]
        before = 0
        for thread, upto in self._lineage if missing else ():
            own = [seq for seq in missing if seq > before and (upto is None or seq <= upto)]
            if own:
                for seq, body in self._log.bodies(thread, own).items():
                    self.keep(seq, body)
            before = before if upto is None else upto

    def keep(self, seq: int, body: bytes) -> None:
        kept = self._kept
        self.size += len(body) - (len(kept[seq]) if seq in kept else 0)
        kept[seq] = body
        if self.size > self._room:
            self.limit(self._room)

    def limit(self, room: int) -> None:
        """Keep so many bytes at most, and always the body that was read last."""
        self._room, kept = room, self._kept
        while self.size > room and len(kept) > 1:
            self.size -= len(kept.pop(next(iter(kept))))

    def bills(self, model: Model) -> ModelBills:
        """What the thread's bills of this model taught whoever read them last."""
        return self._bills.setdefault((model.id, model.name), ModelBills(model))

    def drop(self) -> None:
        """Keep nothing any longer, because something was forgotten."""
        self._bills.clear()
        self._kept.clear()
        self.size = 0
        self.times_dropped += 1


class ModelBills:
    """What the bills of one model in one thread taught so far: each is read once, however many sessions begin there."""

    def __init__(self, model: Model) -> None:
        self._names, self._taught = (model.name, model.id), Calibration(model.id)
        self._read, self._raw = 0, dict[int, Detail]()  # events, and the raw tokens of requests among them
        self._lock = Lock()

    def taught_by(self, events: Sequence[Logged]) -> Calibration:
        """The calibration after all of these, the first of which were read before."""
        with self._lock:
            for place in range(self._read, len(events)):
                entry = events[place]
                if isinstance(entry.event, Sent):
                    self._raw[entry.seq] = entry.event.details.get("raw")
                elif isinstance(entry.event, Measured) and entry.event.model in self._names:
                    raw = self._raw.get(entry.event.sent)
                    self._taught = learn(self._taught, raw if isinstance(raw, int) else 0, entry.event.billed)
            self._read = len(events)
            return self._taught


class ModelLens:
    """Reads the items of one thread, weighs them for one model, and says what the sum amounts to."""

    def __init__(self, bodies: Bodies, events: Callable[[], Sequence[Logged]], model: Model, counter: Counter) -> None:
        self._bodies, self._events = bodies, events
        self.words = bodies.get  # the bytes that an event carries; None where they were forgotten
        self.is_far = bodies.is_far  # looking at the log costs a trip over a network
        self.model, self.counter, self.calibration = model, counter, Calibration(model.id)
        self.dialect, self.named = dialects.spoken(model), ""  # `named` by the caller, who writes no other
        self._weighed_again: dict[tuple[int, str], int] = {}  # what was stored for another encoding
        self._readers: dict[str, Callable[[bytes], Message]] = {}  # by the names of dialects

    def over(self, bodies: Bodies, events: Callable[[], Sequence[Logged]]) -> ModelLens:
        """The same look at a twin of the thread."""
        twin = ModelLens(bodies, events, self.model, self.counter)
        twin.calibration, twin.dialect, twin.named = self.calibration, self.dialect, self.named
        return twin

    def speak(self, dialect: str) -> None:
        """Read and write messages in the dialect that the caller names, whatever the model."""
        self.dialect, self.named = dialects.suited(dialect, self.model), dialect

    def assume(self, model: Model) -> None:
        """Believe other limits or prices of the model than its profile says."""
        self.model = model

    def learn(self, raw: int, billed: int) -> None:
        """Correct the counts by what a request of so many raw tokens was billed."""
        self.calibration = learn(self.calibration, raw, billed)

    def learn_again(self) -> None:
        """Correct the counts by every bill of this model that the thread holds, from the first on."""
        self.calibration = self._bodies.bills(self.model).taught_by(self._events())

    def keep_at_most(self, room: int) -> None:
        """Keep so many bytes of words that were read, for everybody who holds the thread; the others are read again."""
        self._bodies.limit(room)

    @property
    def erasures(self) -> int:
        """How many events were forgotten so far, by whoever uses the store."""
        return self._bodies.erasures

    @property
    def times_forgotten(self) -> int:
        """How often words were erased: whoever keeps some that were read from here reads them again."""
        return self._bodies.times_dropped

    def load(self, seqs: Iterable[int]) -> None:
        """Read the words of these events in one go."""
        self._bodies.load(seqs)

    def keyed(self, keys: Sequence[str]) -> Mapping[str, int]:
        """The seqs of events that were written with these keys, whatever branch they are on."""
        return self._bodies.keyed(keys)

    def weigh(self, item: ViewItem) -> int:
        if self.counter.knows(item.shape):
            return self.counter.tokens(item.shape)
        key = item.seq, item.kind
        if item.is_touched or key not in self._weighed_again:
            tokens = self.counter.tokens(self.counter.shape(self.shown(item)))
            if item.is_touched:
                return tokens
            self._weighed_again[key] = tokens
        return self._weighed_again[key]

    def count(self, tokens: int, size: int, images: int) -> Count:
        exact = self.counter.exact and self.calibration.is_neutral
        counted = self.calibration.scaled(tokens)
        return Count(counted, exact, self.counter.method, {"messages": counted}, size, images)

    def read(self, item: ViewItem) -> Message:
        """The words of an item as they were given."""
        if item.kind == "completion":
            results = (ToolResult(call, (Text(INTERRUPTED),), True) for call in item.shape.results)
            return Message("user", tuple(results), dialect=self.dialect_of(item.seq))
        body = self._bodies.get(item.seq)
        if body is None:
            return Message(item.shape.role, tuple(_forgotten(item.shape)), dialect=self.dialect_of(item.seq))
        if item.kind == "stand_in":
            words = self.stand_in(item.seq)
            if words.wire:
                carried = (Opaque("compaction", words.wire),)
                return Message("assistant", carried, words.wire.encode(), words.dialect)
            return Message("user", (Text(words.text),))
        if item.kind == "attachment":
            return Message("user", (Text(msgspec.json.decode(body, type=str)),))
        return self._reader(item.seq)(body)

    def unread(self, item: ViewItem) -> Callable[[], Message]:
        """The words of an item, their bytes taken now and read when they are asked for: that takes the longer part."""
        body = self._bodies.get(item.seq) if item.kind == "message" else None
        if body is None:
            return partial(_itself, self.read(item))
        return partial(self._reader(item.seq), body)

    def size(self, item: ViewItem) -> int:
        """Bytes of an item as it was given, whatever of it is folded."""
        if item.kind != "message" or not item.folded:
            return item.shape.size
        return len(self._bodies.get(item.seq) or b"")

    def _reader(self, seq: int) -> Callable[[bytes], Message]:
        """Who reads the message of this seq; each dialect is looked for once."""
        name = self.dialect_of(seq)
        if name not in self._readers:
            self._readers[name] = dialects.find(name).parse
        return self._readers[name]

    def resolve(self, item: ViewItem) -> ViewItem:
        """The item with the words of its folded blocks in place."""
        if not item.folded:
            return item
        return replace(
            item, edits=tuple(Edit(part.block, self._block_text(part.fold, part.text)) for part in item.folded)
        )

    def shown(self, item: ViewItem) -> Message:
        """The words of an item as the model sees them, its folded blocks replaced."""
        message = self.read(item)
        blocks = list(message.blocks)
        for edit in self.resolve(item).edits:
            blocks[edit.block] = _edited(blocks[edit.block], edit.text)
        return replace(message, blocks=tuple(blocks), raw=b"") if item.folded else message

    def stand_in(self, fold: int) -> StandIn:
        body = self._bodies.get(fold)
        return StandIn(FORGOTTEN) if body is None else msgspec.json.decode(body, type=StandIn)

    def _block_text(self, fold: int, index: int) -> str:
        texts = self.stand_in(fold).blocks
        return texts[index] if index < len(texts) else FORGOTTEN

    def author(self, item: ViewItem) -> str:
        """The model that said this, where it answered a request of ours; empty where nobody knows."""
        sent = self.sent(item)
        return "" if sent is None else sent.model

    def sent(self, item: ViewItem) -> Sent | None:
        """The request of ours that this item answers; it stands right before it in the log."""
        if item.kind != "message" or item.shape.role != "assistant" or item.seq < 2:
            return None
        before = self._events()[item.seq - 2].event
        return before if isinstance(before, Sent) and before.is_answered else None

    def dialect_of(self, seq: int) -> str:
        """The dialect that a message was appended in; empty for what is no message."""
        event = self._events()[seq - 1].event
        return event.dialect if isinstance(event, Appended) else ""


def _itself(message: Message) -> Message:
    return message


def _edited(block: Block, text: str) -> Block:
    if isinstance(block, ToolResult):
        return replace(block, blocks=(Text(text),))
    return Text(text)


def _forgotten(shape: Shape) -> list[Block]:
    """What can still be said of a forgotten message: its calls and results keep their pairs."""
    return [_husk(block) for block in shape.blocks] or [Text(FORGOTTEN)]


def _husk(block: BlockShape) -> Block:
    if block.kind == "call":
        return ToolCall(block.call, block.name)
    if block.kind == "result":
        return ToolResult(block.call, (Text(FORGOTTEN),), block.is_error)
    return Text(FORGOTTEN)


def words_for(counter: Counter) -> Words:
    """The weights of the fixed words a view may add, by the counter of whoever opens the thread first."""

    def weigh(text: str) -> Measure:
        return counter.shape(Message("user", (Text(text),))).blocks[0].measure

    return Words(weigh(INTERRUPTED), weigh(LATE))
