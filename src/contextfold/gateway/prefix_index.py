"""Where histories are kept: prefixes, tool calls and answers of some threads, by the keys and outlines of their events.

Never out of step with the log, and no table of its own: reading it costs what was written since it was last looked at.
Calls only find candidates. A prefix leads to a message only where every word up to it is the same. Writes nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from contextfold.dialects.loose_words import NO_WORDS, LooseWords
from contextfold.domain import Appended, Logged, Message, form_of
from contextfold.thread import Thread

from .recognition import OLD_START, START, Normaliser, NumberedHistory, branch_key, items_of

_ANSWER = "#"  # between the number of a prefix and the digest of the answer's id
_OWN = "="  # between that and what its provider calls it
_MOST_COMPARED = 16  # threads whose calls are compared, the newest ones
_MOST_READ = 400  # messages that are read to compare calls
LEAST_ANCHORS = 2  # tool calls that must be known, in order, for a history whose beginning changed

ReadMessage = Callable[["Place"], Message | None]  # the message at a place; None where its words are gone
NormaliserOf = Callable[[str, str], Normaliser]  # by thread and dialect


class Place(NamedTuple):
    """A message of a thread."""

    thread: str
    seq: int


class KnownAnswer(NamedTuple):
    """An answer that a later request may go on from by its id."""

    place: Place
    prefix: str
    own: str = ""  # what its provider calls it, where its client calls it otherwise


def answer_key(prefix: str, answer: str, own: str = "") -> str:
    """The key of an answer that has an id by which its client goes on from it; of that id only a digest is kept.

    `own` is its provider's name for it where that is another.
    """
    if not answer:
        return prefix
    return f"{prefix}{_ANSWER}{answer_digest(answer)}" + (f"{_OWN}{own}" if own else "")


def answer_in(key: str) -> str:
    """The digest of the id of the answer that has this key; empty where it is no answer's, or has no id."""
    return key.partition(_ANSWER)[2].partition(_OWN)[0]


def answer_digest(answer: str) -> str:
    """What is kept of an answer's id."""
    return blake2b(answer.encode(), digest_size=12).hexdigest()


def answered_calls(messages: Iterable[Message]) -> list[bytes]:
    """The calls of a history that were answered, in order: the id, what was asked, and what came back."""
    asked: dict[str, bytes] = {}
    answered: list[bytes] = []
    for message in messages:
        for call in message.calls:
            asked[call.id] = form_of(Message("assistant", (call,)))
        answered += [
            result.call.encode() + call_form + form_of(Message("user", (result,)))
            for result in message.results
            if (call_form := asked.pop(result.call, None)) is not None
        ]
    return answered


class PrefixIndex:
    """Prefixes, tool calls and answers of some threads."""

    def __init__(self, threads: Iterable[Thread], read: ReadMessage, normaliser: NormaliserOf) -> None:
        self._message, self._normaliser = read, normaliser
        self._read: dict[str, int] = {}
        self._prefixes: dict[str, Place] = {}
        self._calls: dict[str, dict[str, list[int]]] = {}  # seqs with a call or its result, by thread and id
        self._answers: dict[str, list[KnownAnswer]] = {}  # by the digest of their id
        self._loose: dict[Place, LooseWords] = {}
        self._firsts: dict[str, int] = {}  # the seq of each thread's first message that is not the client's frame
        self._adopted: dict[Place, str] = {}  # keys of messages that were kept under one of the old kind
        for thread in threads:
            self.take(thread)

    @property
    def threads(self) -> Sequence[str]:
        """The names of the threads, in the order they were made."""
        return tuple(self._read)

    @property
    def has_calls(self) -> bool:
        """Whether any of them holds a call, by which a history may be known."""
        return bool(self._calls)

    def take(self, thread: Thread) -> bool:
        """Take what was written to a thread since it was last looked at; whether anything was."""
        name, events = thread.name, thread.branch.events
        known = self._read.get(name, 0)
        for entry in events[known:]:
            if not isinstance(entry.event, Appended):
                continue
            place = Place(name, entry.seq)
            if entry.event.shape.role != "system":
                self._firsts.setdefault(name, entry.seq)
            prefix, answer = entry.key.partition(_ANSWER)[0], answer_in(entry.key)
            if prefix.startswith(OLD_START):
                prefix = self._adopted[place] = self._renumbered(place, entry, events)
            if prefix.startswith(START):
                self._prefixes[prefix] = place
            if answer:
                self._answers.setdefault(answer, []).append(
                    KnownAnswer(place, prefix or START, entry.key.partition(_OWN)[2])
                )
            for call in (*entry.event.shape.calls, *entry.event.shape.results):
                self._calls.setdefault(name, {}).setdefault(call, []).append(entry.seq)
        self._read[name] = len(events)
        return len(events) > known

    def _renumbered(self, place: Place, entry: Logged, events: Sequence[Logged]) -> str:
        """The key of a message that was kept under an old one, by its words; empty where these are gone."""
        parent, before = entry.parent, START
        while parent:
            above = events[parent - 1]
            if isinstance(above.event, Appended):
                known = Place(place.thread, above.seq)
                before = self._adopted.get(known, above.key.partition(_ANSWER)[0])
                break
            parent = above.parent
        message = self._message(place)
        if message is None or not before.startswith(START):
            return ""
        return self._normaliser(place.thread, message.dialect).key_after(before, items_of(message.raw))

    def get(self, key: str) -> Place | None:
        """Where a prefix ends."""
        return self._prefixes.get(key)

    def answered(self, digest: str) -> Sequence[KnownAnswer]:
        """The answers of an id, by its digest."""
        return self._answers.get(digest, ())

    def longest(self, keys: Sequence[str], thread: str = "") -> tuple[int, Place] | None:
        """The longest known prefix, in one thread where it is named: how many messages it has, and where it ends."""
        for length in range(len(keys), 0, -1):
            place = self._prefixes.get(keys[length - 1])
            if place is not None and thread in ("", place.thread):
                return length, place
        return None

    def told_apart(self, history: NumberedHistory, messages: Sequence[bytes], normaliser: Normaliser) -> list[str]:
        """The keys of a history; from a message on that brings words which the kept one lacks, those of a branch."""
        keys, loose = history
        at, waiting = 0, NO_WORDS
        while at < len(keys):
            waiting |= loose[at]
            place = self._prefixes.get(keys[at])
            if place is not None:
                if waiting and not waiting <= self._loose_at(place):
                    own = branch_key(keys[at], waiting)
                    keys = [*keys[:at], own, *normaliser.keys(messages[at + 1 :], own)]
                    continue  # that branch may be known, with the same words or less
                waiting = NO_WORDS
            at += 1
        return keys

    def _loose_at(self, place: Place) -> LooseWords:
        known = self._loose.get(place)
        if known is None:
            message = self._message(place)
            known = NO_WORDS
            if message is not None:
                known = self._normaliser(place.thread, message.dialect).whole(message.raw).loose
            self._loose[place] = known
        return known

    def anchored(self, messages: Sequence[Message]) -> str:
        """The thread with at least two answered calls of this history, in this order; empty where none has them.

        Ids find the threads; the calls count where what was asked and what came back are the same.
        """
        ids = list(dict.fromkeys(call.id for message in messages for call in message.calls))
        wanted = answered_calls(messages) if ids else []
        newest = islice(reversed(self._calls.items()), _MOST_COMPARED) if len(wanted) >= LEAST_ANCHORS else ()
        for name, calls in newest:
            seqs = sorted({seq for each in ids for seq in calls.get(each, ())})[:_MOST_READ]
            if len(seqs) < LEAST_ANCHORS:
                continue
            kept = [message for seq in seqs if (message := self._message(Place(name, seq))) is not None]
            if common_calls(wanted, answered_calls(kept)) >= LEAST_ANCHORS:
                return name
        return ""

    def begun_like(self, first: bytes, normaliser: Normaliser) -> str:
        """The newest thread that begins like this message but for what its client moves; empty where none does."""
        begins = normaliser.beginning(first)
        for name in reversed(self._read) if begins else ():
            message = None if (seq := self._firsts.get(name)) is None else self._message(Place(name, seq))
            if message is not None and normaliser.beginning(message.raw) == begins:
                return name
        return ""

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


def common_calls(wanted: Sequence[bytes], known: Sequence[bytes]) -> int:
    """How many of these calls are known, in this order; no more than are needed are counted."""
    places: dict[bytes, list[int]] = {}
    for at, call in enumerate(known):
        places.setdefault(call, []).append(at)
    count, after = 0, 0
    for call in wanted:
        there = places.get(call, ())
        if (next_one := bisect_left(there, after)) < len(there):
            after = there[next_one] + 1
            count += 1
            if count == LEAST_ANCHORS:
                break
    return count
