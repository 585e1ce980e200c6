"""Which thread a request belongs to: the families of one tenant's threads, found by the client's id or by its words.

An id of the client's, or how a conversation begins, names a family. In it the longest prefix of the same words decides.
Where there is none, calls that were answered alike, or a beginning that differs only in what its client moves, show the
thread of which the request is a branch; else it is a thread of its own. Reads, and writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain, count

from msgspec import Struct

from contextfold.dialects import Dialect, fields, find, plain
from contextfold.dialects.endpoint import Endpoint, Envelope
from contextfold.domain import Message
from contextfold.errors import ContextFoldError
from contextfold.store import Store
from contextfold.thread import Thread

from .answer_index import AnswerIndex
from .client_shapes import ClientShapes, shapes_named, shapes_of
from .door import ClientName, Visit, client_name, is_named
from .prefix_index import KnownAnswer, Place, PrefixIndex, answer_digest
from .recognition import START, Normaliser, NumberedHistory, chain_start

ASIDE = "aside"
_MOST_FAMILIES = 200  # held for each tenant; others are read again when they come
_NUMBERED = re.compile(r"/\d+$")  # a further thread of a family

_Chained = tuple[PrefixIndex, KnownAnswer]


class Asking(Struct, frozen=True):
    """A request for a turn, as it came."""

    visit: Visit
    dialect: Dialect
    endpoint: Endpoint
    envelope: Envelope
    is_sent: bool = False  # it is on its way as it came: nothing is folded for it
    knows_chains: bool = True  # whoever has this credential may go on from an answer by its id alone
    numbered: dict[str, NumberedHistory] = {}  # its messages' keys once they are known, by where they begin


class PlacedRequest(Struct, frozen=True):
    """Where a request belongs."""

    name: ClientName
    index: PrefixIndex
    thread: str
    keys: Sequence[str]
    base: int  # the answer that its history goes on from, where the provider keeps it
    may_fold: bool
    own: str = ""  # what the provider calls the answer that it goes on from, where its client calls it otherwise


class Families:
    """The families of one tenant's threads."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._normalisers: dict[tuple[str, ClientShapes], Normaliser] = {}
        self._indexes: dict[str, PrefixIndex] = {}
        self._answers = AnswerIndex()

    def clear(self) -> None:
        """Believe nothing but the log."""
        self._indexes.clear()
        self._answers.clear()

    def normaliser(self, asking: Asking) -> Normaliser:
        """What compares messages of this client in this dialect."""
        return self._normaliser(asking.dialect, shapes_of(asking.visit))

    def _normaliser(self, dialect: Dialect, shapes: ClientShapes) -> Normaliser:
        own = dialect.name, shapes
        if own not in self._normalisers:
            self._normalisers[own] = Normaliser(dialect, shapes)
        return self._normalisers[own]

    def placed(self, asking: Asking) -> PlacedRequest:
        """The thread of a request and the keys of its messages."""
        envelope, normaliser = asking.envelope, self.normaliser(asking)
        chained = self._chained(envelope.chain) if envelope.chain and asking.knows_chains else None
        unseen = envelope.chain or envelope.conversation  # only the provider knows what stands before this
        start = chained[1].prefix if chained is not None else chain_start(unseen) if unseen else START
        history = asking.numbered.get(start)
        if history is None:
            history = asking.numbered[start] = normaliser.numbered(envelope.messages, start)
        name = client_name(asking.visit, envelope.family, _first(asking, history.keys).removeprefix(START))
        index = self._family(name.thread) if chained is None else chained[0]
        keys = index.told_apart(history, envelope.messages, normaliser)
        if chained is None and index.longest(keys) is None:
            index = self._look_again(name.thread)
            keys = index.told_apart(history, envelope.messages, normaliser)
        if chained is not None:
            place, own = chained[1].place, chained[1].own
            return PlacedRequest(name, index, place.thread, keys, place.seq, may_fold=True, own=own)
        if self._is_aside(asking, name, keys):
            title = f"{name.thread}/{ASIDE}"
            index = self._family(title)
            keys = index.told_apart(history, envelope.messages, normaliser)
            return PlacedRequest(name, index, title, keys, 0, may_fold=False)
        found, thread = self._thread(asking, name, index, keys, normaliser)
        if found is not index:  # the thread is of another family: what is kept there decides which words are its own
            index, keys = found, found.told_apart(history, envelope.messages, normaliser)
        # What its provider keeps before an answer that is not known here cannot be sent whole: it passes as it came.
        return PlacedRequest(name, index, thread, keys, 0, may_fold=not unseen)

    def holds(self, asking: Asking) -> bool:
        """Whether everything that a request says was said, up to the newest answer and with it, is in one thread here.

        Whoever sends such a request knows every word of what may be sent on for it.
        """
        envelope = asking.envelope
        answers = [
            at
            for at, raw in enumerate(envelope.messages)
            if (message := _parsed(asking, raw)) is not None and message.role == "assistant"
        ]
        if envelope.chain or not answers:
            return False
        known = self.placed(asking)
        longest = known.index.longest(known.keys, known.thread)
        return longest is not None and longest[0] > answers[-1]

    def _thread(
        self, asking: Asking, name: ClientName, index: PrefixIndex, keys: Sequence[str], normaliser: Normaliser
    ) -> tuple[PrefixIndex, str]:
        if (known := index.longest(keys)) is not None:
            return index, known[1].thread
        # Without an id a family is known by how it begins: where that changed, its calls may be known elsewhere.
        has_id = is_named(asking.visit, asking.envelope.family)
        others = () if has_id else reversed(self._indexes.values())
        calling = [each for each in (index, *others) if each.has_calls]
        messages = _calling(asking) if calling else ()
        for each in calling:
            if anchored := each.anchored(messages):
                return each, anchored
        first = _behind_frame(asking) if has_id and index.threads else b""
        if first and (begun := index.begun_like(first, normaliser)):
            return index, begun
        further = (f"{name.thread}/{number}" for number in count(2))
        return index, next(each for each in chain([name.thread], further) if each not in index.threads)

    def _is_aside(self, asking: Asking, name: ClientName, keys: Sequence[str]) -> bool:
        """Titles, routing questions and the like: no tools, and a form for the answer or a lone message, asked anew."""
        envelope = asking.envelope
        if envelope.tools or envelope.chain:
            return False
        is_lone = len(envelope.messages) == 1 and is_named(asking.visit, envelope.family)
        index = self._family(name.thread)
        is_beside = is_lone and name.thread in index.threads and index.longest(keys) is None
        return envelope.is_schema_bound or is_beside

    def _chained(self, answer: str) -> _Chained | None:
        """Where the answer of an id is, which another gateway may have kept; of two with one id nobody knows which.

        What was kept a moment ago may be in the families alone, and not in the store yet.
        """
        digest, store = answer_digest(answer), self._store()
        self._answers.catch_up(store)
        places = set(self._answers.places(digest))
        places.update(known.place for index in self._indexes.values() for known in index.answered(digest))
        if len(places) != 1:
            return None
        (place,) = places
        index = self._family(_NUMBERED.sub("", place.thread))
        thread = store.thread(place.thread)
        thread.catch_up()
        index.take(thread)
        return next(((index, known) for known in index.answered(digest) if known.place == place), None)

    def _family(self, name: str) -> PrefixIndex:
        index = self._indexes.pop(name, None)
        if index is None:
            while len(self._indexes) >= _MOST_FAMILIES:
                del self._indexes[next(iter(self._indexes))]
            index = PrefixIndex(self._members(name), self._message, self._of_thread)
        self._indexes[name] = index
        return index

    def index_of(self, thread: Thread) -> PrefixIndex:
        """An index of one thread, as the log has it now."""
        return PrefixIndex([thread], self._message, self._of_thread)

    def _look_again(self, name: str) -> PrefixIndex:
        """Take what other gateways wrote to a family, threads that they made included."""
        index = self._family(name)
        for thread in self._members(name):
            thread.catch_up()
            index.take(thread)
        return index

    def _members(self, name: str) -> list[Thread]:
        """The threads of a family; one that holds nothing is still free for any conversation."""
        pattern, store = re.compile(re.escape(name) + r"(?:/\d+)?"), self._store()
        rows = store.threads(prefix=name)
        return [store.thread(row.title) for row in rows if row.last and pattern.fullmatch(row.title)]

    def _message(self, place: Place) -> Message | None:
        with suppress(ContextFoldError):  # forgotten, or not to be read
            return self._store().thread(place.thread).message(place.seq)
        return None

    def _of_thread(self, thread: str, dialect: str) -> Normaliser:
        return self._normaliser(find(dialect), shapes_named(thread.partition("/")[0]))


def _parsed(asking: Asking, raw: bytes) -> Message | None:
    try:
        return asking.dialect.parse(raw)
    except ContextFoldError:
        return None


def _calling(asking: Asking) -> list[Message]:
    """The messages of a history that hold calls or results, as far as it can be read; no more of it is held."""
    messages = (_parsed(asking, raw) for raw in asking.envelope.messages)
    return [each for each in messages if each is not None and (each.calls or each.results)]


def _behind_frame(asking: Asking) -> bytes:
    """How a history begins behind its client's own frame."""
    messages = ((raw, _parsed(asking, raw)) for raw in asking.envelope.messages)
    return next((raw for raw, each in messages if each is not None and each.role != "system"), b"")


def _first(asking: Asking, keys: Sequence[str]) -> str:
    """How a conversation without an id begins: up to the first message that is not the client's own frame."""
    for raw, key in zip(asking.envelope.messages, keys, strict=True):
        if raw.lstrip()[:1] != b"{" or plain(fields(raw).get("role")) not in ("system", "developer"):
            return key
    return keys[-1] if keys else "nothing"
