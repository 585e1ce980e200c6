"""Which messages are the same: a number for every prefix of a history that depends on all the words in it.

A client sends its whole history every time. Two messages are the same when everything in them that carries words is:
who speaks, texts, names and arguments of calls, results, documents and pictures. Marks for caches, signatures, ids that
clients rename and the order of fields carry none, nor do lines in which a known client renews a date. What a client may
leave out when it sends an answer back, such as reasoning and annotations, is compared beside the number: it may be
missing, and may not be other.

The message is kept under its prefix's number as its idempotency key, so the log itself is the index of prefixes:
recognition survives a restart, and a retry never writes twice. Nothing is written here.
"""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from contextfold.dialects import Dialect
from contextfold.dialects.loose_words import NO_WORDS, LooseWords, loose_words
from contextfold.dialects.own_words import own_words
from contextfold.domain import LONG, decode, encode, form_of
from contextfold.errors import ContextFoldError

from .client_shapes import PLAIN, ClientShapes

START = "gx:"  # what every key of a prefix begins with; the prefix of nothing at all
OLD_START = "gw:"  # of keys by which conversations that differ in reminders or dates were one; part of every number
_SIZE = 16  # bytes of a number
_MOST_KEPT = 20_000  # messages whose normal form is remembered by their bytes
_MOST_HISTORIES = 200
_MOST_BYTES = 16 << 20  # of histories that are remembered as they came
_BEGINNING = 2  # messages by which a history is found again


class MessageForm(NamedTuple):
    """What one message says: the digest of what must be equal, and digests of what may only be left out."""

    digest: bytes  # empty where nothing is said
    loose: LooseWords = NO_WORDS


class _History(NamedTuple):
    """A list of messages as a client sent it, with the keys of its prefixes."""

    messages: Sequence[bytes]
    keys: list[str]
    loose: list[LooseWords]
    size: int

    def same(self, messages: Sequence[bytes]) -> int:
        """How many messages at the front are these, byte for byte."""
        known = len(self.messages)
        if messages[:known] == self.messages:
            return known
        pairs = enumerate(zip(self.messages, messages, strict=False))
        return next((place for place, (old, new) in pairs if old != new), min(known, len(messages)))


class NumberedHistory(NamedTuple):
    """The key of each message of a history, and the words of each that its key does not depend on."""

    keys: list[str]
    loose: Sequence[LooseWords]


class Normaliser:
    """Forms of messages in one dialect, by their bytes: a history that only grows costs what is new."""

    def __init__(self, dialect: Dialect, shapes: ClientShapes = PLAIN) -> None:
        self._dialect, self.shapes = dialect, shapes
        self._known: dict[bytes, MessageForm] = {}
        self._beginnings: dict[bytes, bytes] = {}
        self._histories: OrderedDict[tuple[object, ...], _History] = OrderedDict()
        self._size = 0  # bytes of the histories

    def keys(self, messages: Sequence[bytes], start: str = START) -> list[str]:
        """The key of each message: the number of the history that ends with it, begun at `start`."""
        return self.numbered(messages, start).keys

    def numbered(self, messages: Sequence[bytes], start: str = START) -> NumberedHistory:
        """The keys of a history begun at `start`, and what they do not depend on.

        What is equal to the history that began alike and came last is not numbered again: comparing costs little.
        """
        begins = (start, *messages[:_BEGINNING])
        known = self._histories.pop(begins, None)
        same = 0 if known is None else known.same(messages)
        keys = known.keys[:same] if known is not None else []
        loose = known.loose[:same] if known is not None else []
        forms = [self.read(raw) for raw in messages[same:]]
        keys += _rolled((form.digest for form in forms), keys[-1] if keys else start)
        loose += [form.loose for form in forms]
        self._size -= 0 if known is None else known.size
        history = self._histories[begins] = _History(messages, keys, loose, sum(map(len, messages)))
        self._size += history.size
        while self._size > _MOST_BYTES or len(self._histories) > _MOST_HISTORIES:
            self._size -= self._histories.popitem(last=False)[1].size
        return NumberedHistory(keys[:], loose)

    def key_after(self, start: str, messages: Iterable[bytes]) -> str:
        """The key of the last of some messages behind a history."""
        return deque(_rolled(map(self.form, messages), start), 1)[0]

    def form(self, raw: bytes) -> bytes:
        """The digest of what one message says; empty where it says nothing."""
        return self.read(raw).digest

    def read(self, raw: bytes) -> MessageForm:
        """What one message says."""
        own = blake2b(raw, digest_size=_SIZE).digest()
        form = self._known.get(own)
        if form is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            form = self._known[own] = self._read(raw) or MessageForm(own)
        return form

    def whole(self, raw: bytes) -> MessageForm:
        """What one message of ours says, which may be several on the wire."""
        forms = [self.read(item) for item in items_of(raw)]
        return MessageForm(b"".join(form.digest for form in forms), NO_WORDS.union(*(form.loose for form in forms)))

    def beginning(self, raw: bytes) -> bytes:
        """The digest of a message without the blocks that this client moves; empty where nothing is left."""
        own = blake2b(raw, digest_size=_SIZE).digest()
        known = self._beginnings.get(own)
        if known is None:
            if len(self._beginnings) >= _MOST_HISTORIES:
                self._beginnings.clear()
            try:
                known = form_of(self._dialect.parse(raw), self.shapes.anchored)
            except ContextFoldError:
                known = b""
            self._beginnings[own] = known
        return known

    def _read(self, raw: bytes) -> MessageForm | None:
        """What a message says; None where it cannot be read, so that it goes by its bytes."""
        endpoint = self._dialect.endpoint
        try:
            if _says_twice(raw):
                return None
            bare = raw if endpoint is None else endpoint.unmarked(raw)
            message = self._dialect.parse(bare)
            digest = form_of(message, self.shapes.compared, ids=endpoint is None or endpoint.ids)
            loose = loose_words(message)
            if message.role == "assistant":
                return MessageForm(digest, loose)
            # Of its own messages a client leaves nothing out.
            return MessageForm(digest + b"".join(sorted(loose | own_words(raw))))
        except ContextFoldError:
            return None


def _says_twice(raw: bytes) -> bool:
    """Whether an object of some JSON has a field twice: readers differ in which one they take.

    Written without spaces and escapes it has as many bytes as its value: then there is none, as in most messages.
    """
    if len(raw) > LONG or len(encode(decode(raw))) == len(raw):
        return False
    try:
        json.loads(raw, object_pairs_hook=_once)
    except _SaidTwice:
        return True
    except (ValueError, RecursionError):
        return False
    return False


class _SaidTwice(Exception):
    """A field of an object stands there twice."""


def _once(pairs: list[tuple[str, object]]) -> None:
    if len({name for name, _ in pairs}) < len(pairs):
        raise _SaidTwice


def items_of(raw: bytes) -> Sequence[bytes]:
    """The wire messages that one message of ours consists of: most formats write it as one."""
    if raw.lstrip()[:1] != b"[":
        return (raw,)
    return [bytes(each) for each in msgspec.json.decode(raw, type=list[msgspec.Raw])]


def branch_key(key: str, loose: LooseWords) -> str:
    """The key of a message that is another than the one of its number, because it holds other words beside it."""
    return START + _number(key.encode() + b"".join(sorted(loose)))


def chain_start(answer: str) -> str:
    """The prefix of a history whose beginning only the provider knows, by the id of the answer it goes on from."""
    return START + _number(b"chain:" + answer.encode())


def _number(content: bytes) -> str:
    return blake2b(content, digest_size=_SIZE).hexdigest()


def _rolled(forms: Iterable[bytes], start: str) -> Iterator[str]:
    """Each number depends on everything before it; a message that says nothing is counted and changes no number."""
    number, _, counted = start.removeprefix(START).removeprefix(OLD_START).partition(".")
    silent = int(counted or 0)
    for form in forms:
        if form:
            number = _number((OLD_START + number).encode() + form)
            silent = 0
            yield START + number
        else:
            silent += 1
            yield f"{START}{number}.{silent}"
