"""Taking recorded conversations over into a thread: messages at their own times, what was hidden as folds.

Nothing is left out. A fold that would part a call from its result hides the rest, whole atoms only; where nothing
remains to hide, its words become a message, and the import says so. Every event has a key, so that reading the same
recording again adds only what is new.

A thread that comes from elsewhere has the outlines that its bytes measure, whatever it says itself. Notes keep the
outline they came with: how they are shown depends on more than their bytes, and it is never counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from contextfold import dialects, models, tokens
from contextfold.domain import (
    Appended,
    Attached,
    Detail,
    Event,
    Folded,
    FoldKind,
    Measured,
    Message,
    NewEvent,
    Projection,
    SpokenBy,
    StandIn,
    Text,
    appended,
    check_cover,
    cover_of,
    encode,
    is_unanswered,
)
from contextfold.errors import CannotCover
from contextfold.loggers import logger
from contextfold.logs import Outline
from contextfold.thread import Thread
from contextfold.thread.thread import stand_in_shape
from contextfold.transcripts import BILLED, DIALECT, Compaction, Recorded, RooEvent, RooSaid, RooTask


def outline_for(settings: Mapping[str, str]) -> Outline:
    """Measures as the model of the thread counts."""
    counter = tokens.counter_for(models.find(settings.get("model", "")))

    def measured(event: Event, body: bytes) -> Event:
        match event:
            case Appended():
                message, claimed = dialects.find(event.dialect).parse(body), event.shape.spoken_by
                spoken_by = claimed if claimed in ("client", "tool") else ""  # that a person spoke is judged anew
                again = appended(counter.shape(message), message, is_first=False, spoken_by=spoken_by)
                return replace(event, shape=again.shape)
            case Folded():
                words = msgspec.json.decode(body, type=StandIn)
                return replace(event, shape=stand_in_shape(counter, event.cover, words))
            case Attached():
                text = msgspec.json.decode(body, type=str)
                return replace(event, shape=counter.shape(Message("user", (Text(text),))))
            case _:
                return event

    return measured


log = logger("takeover")


class Takeover:
    """One recording on its way into one thread. `source` names the recording in the keys of what it adds."""

    def __init__(self, thread: Thread, source: str) -> None:
        self._thread, self._source = thread, source
        self._known = {logged.key: logged.seq for logged in thread.events if logged.key}
        self._waiting: list[NewEvent] = []  # words without a place, until no call waits for its result
        self.unplaced: list[str] = []  # what could not be placed as it was, for people
        self.added = 0  # messages that are new

    @property
    def name(self) -> str:
        """Of the thread."""
        return self._thread.name

    def say(self, message: Message, key: str, at: float | None = None, *, spoken_by: SpokenBy = "") -> int:
        """Append a message as of then; its seq. `spoken_by` is what the recording says of it."""
        event = self._appended(message, spoken_by)
        last = self._thread.branch.last
        seq = self._write(event, message.raw, key, at)
        self.added += seq > last
        self._say_waiting()
        return seq

    def bill(self, key: str, at: float | None, usage: dict[str, Detail]) -> None:
        """What an answer's request was billed, right behind the answer."""
        if usage:
            billed = dialects.bill(usage).input
            self._write(Measured(0, self._thread.model.name, billed, 0, usage), b"", key, at)

    def fold(
        self,
        seqs: Iterable[int],
        text: str,
        key: str,
        at: float | None = None,
        *,
        kind: FoldKind = "summary",
        sizes: tuple[int, int] = (0, 0),
        details: dict[str, Detail] | None = None,
    ) -> int | None:
        """Hide these messages and stand-ins as far as whole atoms go; the fold's seq, None where nothing is hidden."""
        name = f"{self._source}:{key}"
        if name in self._known:
            return self._known[name]
        words = StandIn(text)
        shape = self._thread.lens.counter.shape(Message("user", (Text(text),)))

        def drafting(now: Projection) -> list[NewEvent]:
            whole = _whole(now, seqs)
            folds = [seq for seq in whole if seq in now.folds]
            cover = cover_of(now, [seq for seq in whole if seq not in now.folds], (), folds)
            check_cover(now, cover)
            event = Folded(kind, cover, shape, *sizes, details=details or {})
            return [NewEvent(event, now.head, self._at(at), encode(words), name)]

        try:
            return self._thread.write(drafting)[-1].seq
        except CannotCover as error:
            if kind == "window":  # a marker says only that something is hidden, which would not be true here
                self._tell(f"{text.strip()!r} ({key}) is left out, because nothing is hidden: {error}")
            else:
                self._keep_words(text, key, at, str(error))
            return None

    def finish(self) -> None:
        """Say what still waits, whatever is open."""
        self._say_waiting(whatever=True)

    def _keep_words(self, text: str, key: str, at: float | None, why: str) -> None:
        self._tell(f"the summary {key} hides nothing here and is kept as a message: {why}")
        message = dialects.find(DIALECT).parse(encode({"role": "user", "content": text}))
        event = self._appended(message, "client")
        if text.strip():
            self._waiting.append(NewEvent(event, 0, self._at(at), message.raw, f"{self._source}:{key}"))
        self._say_waiting()

    def _appended(self, message: Message, spoken_by: SpokenBy) -> Appended:
        shape, path = self._thread.lens.counter.shape(message), self._thread.branch.items.items
        return appended(shape, message, is_first=is_unanswered(path), spoken_by=spoken_by)

    def _tell(self, unplaced: str) -> None:
        log.warning("%s: %s", self._thread.name, unplaced)
        self.unplaced.append(unplaced)

    def _say_waiting(self, *, whatever: bool = False) -> None:
        while self._waiting and (whatever or not self._thread.branch.items.is_open):
            draft = self._waiting.pop(0)
            self._thread.write(lambda now, it=draft: [NewEvent(it.event, now.head, it.at, it.body, it.key)])  # type: ignore[misc]

    def _write(self, event: Appended | Measured, body: bytes, key: str, at: float | None) -> int:
        name = f"{self._source}:{key}"
        return self._thread.write(lambda now: [NewEvent(event, now.head, self._at(at), body, name)])[-1].seq

    def _at(self, at: float | None) -> float:
        return at or self._thread.now()


def _whole(now: Projection, seqs: Iterable[int]) -> list[int]:
    """Of these messages and stand-ins those that show, less every message whose atom is not covered whole."""
    path = now.items
    showing = {fold.seq: fold for fold in now.folds.outermost()}
    named = set(seqs)
    hidden = {place for fold in showing.values() for start, stop in fold.spans for place in range(start, stop)}
    taken = {
        place for seq in named & showing.keys() for start, stop in showing[seq].spans for place in range(start, stop)
    }
    wanted = {place for place in range(len(path)) if path.items[place].seq in named} - hidden
    covered = wanted | taken
    whole = [place for place in sorted(wanted) if _is_covered(now, covered, path.atom(place))]
    return [*dict.fromkeys(path.items[place].seq for place in whole), *(named & showing.keys())]


def _is_covered(now: Projection, covered: set[int], atom: tuple[int, int]) -> bool:
    start, stop = atom
    is_open = now.items.is_open and stop == len(now.items)
    return not is_open and all(place in covered for place in range(start, stop))


# -- recorded sessions ------------------------------------------------------------------------------------------------


class RecordingTakeover(Takeover):
    """Turns and compactions of a recording, in order. What a product showed instead of earlier turns is a fold."""

    def __init__(self, thread: Thread, source: str) -> None:
        super().__init__(thread, source)
        self._seqs: list[int] = []  # of turns, in order
        self._stand_in: int | None = None  # the newest fold, or words kept in its place

    def turn(self, turn: Recorded) -> None:
        """Say it, at the time it was said."""
        default = self._thread.lens.dialect
        message = dialects.understand(turn.raw, default).message
        spoken_by: SpokenBy = "client" if turn.is_meta else "tool" if turn.is_output else ""
        self._seqs.append(self.say(message, str(len(self._seqs)), turn.at, spoken_by=spoken_by))

    def compaction(self, compaction: Compaction) -> None:
        """Fold everything before it, less what the log says was kept."""
        if not compaction.summary.strip():
            return  # nothing was said: what was cleared or cut is all here
        kept = compaction.kept_from if compaction.kept_from is not None else compaction.after_index
        named = self._seqs[:kept] if self._stand_in is None else [self._stand_in, *self._seqs[:kept]]
        key = f"fold:{compaction.after_index}:{compaction.lines[0] if compaction.lines else 0}"
        at = self._thread.events[-1].at if self._seqs else None
        self._stand_in = self.fold(named, compaction.summary, key, at, sizes=(compaction.before_tokens, 0))


# -- tasks of Roo Code ------------------------------------------------------------------------------------------------


class RooTakeover(Takeover):
    """A task of Roo Code: its tags are read once and become folds, where the panel says that it happened.

    Roo keeps its history in the form of Anthropic's API, whatever model it speaks to.
    """

    def __init__(self, thread: Thread, source: str, task: RooTask) -> None:
        super().__init__(thread, source)
        self._task = task
        self._seqs: dict[int, int] = {}  # of messages and folds, by their place in Roo's list
        self._done: set[int] = set()
        spoken = (each.tags.seq for each in task.said if not each.is_stand_in)
        self._ordinals = {place: number for number, place in enumerate(spoken)}  # same when a summary is put between
        self._made = {call for each in task.said if not each.is_stand_in for call in each.calls}
        self._events = {event.tags.seq: event for event in task.events}
        self._hidden: dict[str, list[RooSaid]] = {}  # by the id of what hides them
        for each in task.said:
            for parent in filter(None, (each.tags.condense_parent, each.tags.truncation_parent)):
                self._hidden.setdefault(parent, []).append(each)

    def take(self) -> None:
        """Say and fold everything in the order it happened."""
        due: dict[int, list[RooSaid]] = {}
        for event in self._task.events:
            due.setdefault(event.after, []).append(self._task.said[event.tags.seq - 1])
        for each in self._task.said:
            if not each.is_stand_in:
                self._message(each, each.raw)
            elif not self._hidden.get(each.id):
                self._tell(f"entry {each.tags.seq} stands for nothing in the task and is kept as a message")
                self._message(each, each.raw)
                self._done.add(each.tags.seq)
            elif grafted := self._grafted(each):
                self._message(each, grafted, "calls:")
            for stand_in in due.pop(each.tags.seq, ()):
                self._fold(stand_in)
        for stand_in in (each for each in self._task.said if each.is_stand_in):
            self._fold(stand_in)
        self.finish()

    def _message(self, said: RooSaid, raw: bytes, key: str = "") -> None:
        name = f"{key}stand-in:{said.tags.seq}" if said.is_stand_in else str(self._ordinals[said.tags.seq])
        spoken_by: SpokenBy = "client" if said.is_stand_in else ""
        seq = self.say(dialects.find(DIALECT).parse(raw), name, said.at, spoken_by=spoken_by)
        if not key:
            self._seqs[said.tags.seq] = seq
        ours = {theirs: own for own, theirs in reversed(BILLED.items())}
        usage: dict[str, Detail] = {
            ours[name]: value for name, value in said.usage.items() if isinstance(value, int | float)
        }
        self.bill(f"bill:{name}", said.at, usage)

    def _grafted(self, stand_in: RooSaid) -> bytes:
        """Calls that Roo moved onto its summary and that stand nowhere else; the others are where they were made."""
        return stand_in.only_calls([call for call in stand_in.calls if call not in self._made])

    def _fold(self, stand_in: RooSaid) -> None:
        place = stand_in.tags.seq
        if place in self._done:
            return
        self._done.add(place)
        hidden = self._hidden[stand_in.id]
        for inner in (each for each in hidden if each.is_stand_in):
            self._fold(inner)
        event = self._events.get(place) or RooEvent(stand_in.tags, 0, at=stand_in.at)
        named = [self._seqs[each.tags.seq] for each in hidden if each.tags.seq in self._seqs]
        seq = self.fold(
            named,
            stand_in.text,
            f"fold:{stand_in.id}",
            event.at or stand_in.at,
            kind="summary" if stand_in.tags.is_summary else "window",
            sizes=(event.before_tokens, event.after_tokens),
            details={"writer_cost": event.cost} if event.cost else {},
        )
        if seq is not None:
            self._seqs[place] = seq


class Taken(Struct, frozen=True):
    """A thread that a recording was taken over into, and what could not be placed there as it was."""

    thread: Thread
    messages: int  # in the recording
    new: int
    unplaced: tuple[str, ...] = ()


def take_task(thread: Thread, task: RooTask) -> Taken:
    """Take a task of Roo Code over."""
    takeover = RooTakeover(thread, task_source(task), task)
    takeover.take()
    spoken = sum(not each.is_stand_in for each in task.said)
    return Taken(thread, spoken, takeover.added, tuple(takeover.unplaced))


def task_source(task: RooTask) -> str:
    """Which task this is, so that reading it again adds only what is new."""
    return f"roo-task:{sha256(task.said[0].raw if task.said else b'').hexdigest()[:12]}"
