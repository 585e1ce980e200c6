"""Which conversation a stateless request goes on with: prefixes of messages, compared in their normal form.

A client sends its whole history every time. Each message is brought into a form without what changes by itself (marks
for caches, reasoning, renamed ids, reminders), and every prefix of the list gets a number that depends on all of it.
The message is kept under that number as its idempotency key, so the log itself is the index of prefixes: recognition
survives a restart, and a retry never writes twice. Which thread, and which message of it, a prefix or a tool call leads
to is read from the keys and outlines of the events: never out of step with the log, and no table of its own. That costs
what was written since it was last looked at. Nothing is written here.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from contextfold.deferred import expression
from contextfold.dialects import Dialect
from contextfold.domain import Appended, form_of
from contextfold.errors import ContextFoldError
from contextfold.thread import Thread

START = "gw:"  # what every key of a prefix begins with; the prefix of nothing at all
_SIZE = 16  # bytes of a number
_MOST_KEPT = 20_000  # messages whose normal form is remembered by their bytes
_MOST_HISTORIES = 200
_MOST_BYTES = 16 << 20  # of histories that are remembered as they came
_BEGINNING = 2  # messages by which a history is found again

# What clients put into messages by themselves, and change without a word of the user's: reminders, dates, surroundings.
_REMINDER = expression(r"<(system-reminder|environment_details|env|context)>")
_DATED = expression(r"(?m)^(?:Today's date|Current (?:date|time)|Today is)[^\n]{0,200}$")


class _History(NamedTuple):
    """A list of messages as a client sent it, with the keys of its prefixes."""

    messages: Sequence[bytes]
    keys: list[str]
    size: int

    def same(self, messages: Sequence[bytes]) -> int:
        """How many messages at the front are these, byte for byte."""
        known = len(self.messages)
        if messages[:known] == self.messages:
            return known
        pairs = enumerate(zip(self.messages, messages, strict=False))
        return next((place for place, (old, new) in pairs if old != new), min(known, len(messages)))


class Normaliser:
    """Normal forms by bytes: a history that only grows costs what is new."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._known: dict[bytes, bytes] = {}
        self._histories: OrderedDict[tuple[object, ...], _History] = OrderedDict()
        self._size = 0  # bytes of the histories

    def keys(self, messages: Sequence[bytes], start: str = START) -> list[str]:
        """The key of each message: the number of the history that ends with it, begun at `start`.

        What is equal to the history that began alike and came last is not numbered again: comparing costs little.
        """
        begins = (start, *messages[:_BEGINNING])
        known = self._histories.pop(begins, None)
        same = 0 if known is None else known.same(messages)
        keys = known.keys[:same] if known is not None else []
        keys += _rolled(map(self.form, messages[same:]), keys[-1] if keys else start)
        self._size -= 0 if known is None else known.size
        history = self._histories[begins] = _History(messages, keys, sum(map(len, messages)))
        self._size += history.size
        while self._size > _MOST_BYTES or len(self._histories) > _MOST_HISTORIES:
            self._size -= self._histories.popitem(last=False)[1].size
        return keys[:]

    def key_after(self, start: str, messages: Iterable[bytes]) -> str:
        """The key of the last of some messages behind a history."""
        return deque(_rolled(map(self.form, messages), start), 1)[0]

    def form(self, raw: bytes) -> bytes:
        """The digest of one message's normal form; empty where nothing is said in it."""
        own = blake2b(raw, digest_size=_SIZE).digest()
        form = self._known.get(own)
        if form is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            endpoint = self._dialect.endpoint
            try:
                message = self._dialect.parse(raw if endpoint is None else endpoint.unmarked(raw))
            except ContextFoldError:  # what cannot be read goes by its bytes
                form = own
            else:
                form = form_of(message, said, ids=endpoint is None or endpoint.ids)
            self._known[own] = form
        return form


def items_of(raw: bytes) -> Sequence[bytes]:
    """The wire messages that one message of ours consists of: most formats write it as one."""
    if raw.lstrip()[:1] != b"[":
        return (raw,)
    return [bytes(each) for each in msgspec.json.decode(raw, type=list[msgspec.Raw])]


def said(text: str) -> str:
    """A text without what clients add to it by themselves.

    Each kind of tag is looked for to the end once at most: a text of opening tags alone costs what it is long.
    """
    kept: list[str] = []
    unclosed: set[str] = set()
    end = 0
    for opened in _REMINDER.finditer(text):
        kind = opened[1]
        if opened.start() < end or kind in unclosed:
            continue
        closed = text.find(f"</{kind}>", opened.end())
        if closed < 0:
            unclosed.add(kind)
            continue
        kept.append(text[end : opened.start()])
        end = closed + len(f"</{kind}>")
    return _DATED.sub("", "".join([*kept, text[end:]])).strip()


def _rolled(forms: Iterable[bytes], start: str) -> Iterator[str]:
    """Each number depends on everything before it; what says nothing is told apart and changes no number."""
    number, _, told = start.partition(".")
    silent = int(told or 0)
    for form in forms:
        if form:
            number = START + blake2b(number.encode() + form, digest_size=_SIZE).hexdigest()
            silent = 0
            yield number
        else:
            silent += 1
            yield f"{number}.{silent}"


# -- where histories are kept -----------------------------------------------------------------------------------------

_ANSWER = "#"  # between the number of a prefix and the digest of the answer's id
LEAST_ANCHORS = 2  # tool calls that must be known, in order, for a history whose beginning changed


class Place(NamedTuple):
    """A message of a thread."""

    thread: str
    seq: int


class KnownAnswer(NamedTuple):
    """An answer that a later request may go on from by its id."""

    place: Place
    prefix: str


def answer_key(prefix: str, answer: str) -> str:
    """The key of an answer that has an id by which its provider knows it; of the id only a digest is kept."""
    return f"{prefix}{_ANSWER}{_digest(answer)}" if answer else prefix


def _digest(answer: str) -> str:
    return blake2b(answer.encode(), digest_size=12).hexdigest()


class PrefixIndex:
    """Prefixes, tool calls and answers of some threads, by their keys and ids."""

    def __init__(self, threads: Iterable[Thread] = ()) -> None:
        self._read: dict[str, int] = {}
        self._prefixes: dict[str, Place] = {}
        self._calls: dict[str, Place] = {}
        self._answers: dict[str, KnownAnswer] = {}
        for thread in threads:
            self.take(thread)

    @property
    def threads(self) -> Sequence[str]:
        """The names of the threads, in the order they were made."""
        return tuple(self._read)

    def take(self, thread: Thread) -> None:
        """Take what was written to a thread since it was last looked at."""
        name, events = thread.name, thread.branch.events
        for entry in events[self._read.get(name, 0) :]:
            if not isinstance(entry.event, Appended):
                continue
            if entry.key.startswith(START):
                prefix, _, answer = entry.key.partition(_ANSWER)
                self._prefixes[prefix] = Place(name, entry.seq)
                if answer:
                    self._answers[answer] = KnownAnswer(Place(name, entry.seq), prefix)
            for call in entry.event.shape.calls:
                self._calls.setdefault(call, Place(name, entry.seq))
        self._read[name] = len(events)

    def get(self, key: str) -> Place | None:
        """Where a prefix ends."""
        return self._prefixes.get(key)

    def answered(self, answer: str) -> KnownAnswer | None:
        """The answer of this id."""
        return self._answers.get(_digest(answer))

    def longest(self, keys: Sequence[str], thread: str = "") -> tuple[int, Place] | None:
        """The longest known prefix, in one thread where it is named: how many messages it has, and where it ends."""
        for length in range(len(keys), 0, -1):
            place = self._prefixes.get(keys[length - 1])
            if place is not None and thread in ("", place.thread):
                return length, place
        return None

    def anchored(self, calls: Iterable[str]) -> str:
        """The thread that holds at least two of these calls, in this order; empty where none does."""
        found: dict[str, list[int]] = {}
        for call in calls:
            if (place := self._calls.get(call)) is not None:
                found.setdefault(place.thread, []).append(place.seq)
        ordered = (name for name, seqs in found.items() if len(seqs) >= LEAST_ANCHORS and seqs == sorted(seqs))
        return next(ordered, "")

    def own_bytes(self, messages: Sequence[bytes], keys: Sequence[str], thread: str) -> dict[int, Sequence[bytes]]:
        """A client's bytes for each message of a thread, by seq; one of ours may be several of its own."""
        found: dict[int, Sequence[bytes]] = {}
        waiting: list[bytes] = []
        for raw, key in zip(messages, keys, strict=True):
            waiting.append(raw)
            place = self._prefixes.get(key)
            if place is not None and place.thread == thread:
                found[place.seq], waiting = waiting, []
        return found
