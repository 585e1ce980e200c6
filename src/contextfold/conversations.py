"""Conversations that somebody else runs, each a session of one store: what frameworks and SDKs are adapted with.

An owner's list is followed, a request that fits is made of it, and the answer is written behind it. The owner's
messages are read and never changed. Safe from several threads: one conversation is one at a time, others go on. Where
the owner runs in an event loop, stores are read and written beside it; only what is in memory and short is done there.
"""

from __future__ import annotations

import operator
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from hashlib import sha256
from threading import Lock, RLock
from typing import Any, ParamSpec, TypeAlias, TypeVar

from msgspec import Struct, field

from contextfold import dialects
from contextfold.aio.worker import Aside
from contextfold.dialects import elements, fields, understand
from contextfold.folding import Policy
from contextfold.preferences import Chosen
from contextfold.session import Hook, Hooks, Request, Session, Surroundings, System, Tools, preparation, telemetry
from contextfold.session.drivers import StepsEnd, started
from contextfold.session.rewind import place_behind, stand_at
from contextfold.store import Store
from contextfold.store import open as open_store

BY_OWNER = "owner"
_REFUSED = 400  # the status of a refusal that an error speaks of
MOST_OPEN = 64  # conversations that are held ready; one that was let go is opened again from its store
MOST_AT_ONCE = 16  # new messages that an event loop may be held up for

P = ParamSpec("P")
T = TypeVar("T")

Place: TypeAlias = str | os.PathLike[str] | Store | None  # a file, a store that is open, or memory


class FoldSettings(Struct, frozen=True):
    """How conversations are folded: what `Session.open` takes, for all of them."""

    policy: Policy | str | None = None
    profile: Chosen = None
    window: int | None = None
    limit: int | None = None
    on_fold: Hook = None


class OwnerFormat(Struct, frozen=True):
    """How an owner's objects are written and read, in which field a request holds them, and which are cut apart."""

    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]
    field: str = "messages"
    apart: Callable[[Any], Sequence[Any]] = lambda message: (message,)


class OwnedObjects:
    """An owner's objects as they were written, and those that went out last: a turn looks only at what is new.

    An object is taken as it was when it came; one that is changed where it stands is not written again.
    """

    def __init__(self) -> None:
        self.bytes: list[bytes] = []  # what the objects were written as, in order
        self._objects: list[Any] = []
        self._pieces: list[Any] = []  # the objects, those cut apart that their format says
        self._ends: list[int] = []  # how many pieces there are up to each object
        self._out, self._fresh = list[Any](), 0
        self._sent: tuple[bytes, object] = b"", None  # the body that went out last, and of which series it is
        self._answer: tuple[Any, bytes] = (None, b"")  # written before it comes in the owner's list
        self._around: tuple[System, Tools] = None, None  # what stood around them last

    def take(self, objects: Sequence[Any], form: OwnerFormat) -> None:
        """Write what is new in the list; what is equal to what stood there stays written as it is."""
        objects, known = list(objects), len(self._objects)
        if len(objects) < known or not all(map(operator.is_, self._objects, objects)):
            known = self._taken_anew(objects, form)
        fresh = [form.apart(each) for each in objects[known:]]
        known_answer, answer = self._answer
        written = [answer if piece is known_answer else form.write(piece) for pieces in fresh for piece in pieces]
        end = self._ends[known - 1] if known else 0
        del self._ends[known:], self._pieces[end:], self.bytes[end:]
        for pieces in fresh:
            self._pieces += pieces
            self._ends.append(len(self._pieces))
        self.bytes += written
        self._objects, self._fresh = objects, min(self._fresh, end)

    def answered(self, message: Any, form: OwnerFormat) -> bytes:
        """Write an answer, which the owner will put into the list."""
        self._answer = message, form.write(message)
        return self._answer[1]

    def around(self, system: System, tools: Tools) -> tuple[System, Tools]:
        """System and tools; where they say what they said last, those of last time, which are weighed already."""
        if (system, tools) != self._around:
            self._around = system, tools
        return self._around

    def out(self, request: Request, form: OwnerFormat) -> list[Any]:
        """What a request shows: the owner's own objects wherever nothing was changed, else new ones."""
        body, (sent, series) = request.json, self._sent
        end = len(sent) - len("]}")
        # It says more behind what went out last; within a series nobody has to look.
        is_longer = sent and body[end : end + 1] == b","
        if is_longer and (request.series is series or body.startswith(sent[:end])):
            self._out += self._given_back(b"[" + body[end + 1 : -1], form, self._fresh)
        else:
            self._out = self._given_back(bytes(fields(body)[form.field]), form, 0)
        self._sent, self._fresh = (body, request.series), len(self._pieces)
        return self._out[:]

    def _taken_anew(self, objects: list[Any], form: OwnerFormat) -> int:
        """How many objects at the front are equal to those of last time, in whose place they stand from now on."""
        known = min(len(self._objects), len(objects))
        if self._objects[:known] != objects[:known]:
            pairs = enumerate(zip(self._objects, objects, strict=False))
            known = next(place for place, (old, new) in pairs if old is not new and old != new)
        if not all(map(operator.is_, self._objects[:known], objects)):
            end = self._ends[known - 1]
            self._sent, self._pieces[:end] = (
                (b"", None),
                [piece for each in objects[:known] for piece in form.apart(each)],
            )
        return known

    def _given_back(self, messages: bytes, form: OwnerFormat, since: int) -> list[Any]:
        """Of objects that are written alike the newest, none twice."""
        sent, written, pieces = [bytes(raw) for raw in elements(messages)], self.bytes[since:], self._pieces[since:]
        if sent == written:
            return pieces
        owned: dict[bytes, list[Any]] = {}
        for raw, piece in zip(written, pieces, strict=True):
            owned.setdefault(raw, []).append(piece)
        found = [stack.pop() if (stack := owned.get(raw)) else form.read(raw) for raw in reversed(sent)]
        return found[::-1]


_AT_ONCE: ContextVar[bool] = ContextVar("contextfold_at_once", default=False)  # whether an event loop is held up


class _TakesTimeError(Exception):
    """What an event loop asks for may take its time: it is asked for again beside the loop."""


class TurnLock:
    """Of whoever uses a conversation, as often as it likes. An event loop does not wait for it."""

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=not _AT_ONCE.get()):
            raise _TakesTimeError

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Conversation(Struct, frozen=True):
    """One conversation: its session, and whoever holds the lock may use it."""

    session: Session
    lock: TurnLock = field(default_factory=TurnLock)
    owned: OwnedObjects = field(default_factory=OwnedObjects)

    def folded(
        self,
        objects: Sequence[Any],
        form: OwnerFormat,
        *,
        system: System = None,
        tools: Tools = None,
        max_tokens: int | None = None,
        usage: Mapping[str, Any] | None = None,
    ) -> list[Any]:
        """The owner's objects that are to be sent. `usage` is what the first new answer among them was billed."""
        with self.lock:
            self._refuse_long_work(len(objects))
            self.owned.take(objects, form)
            system, tools = self.owned.around(system, tools)
            self.session.follow(self.owned.bytes, usage=usage)
            if not _AT_ONCE.get():
                request = self.session.prepare(system=system, tools=tools, max_tokens=max_tokens)
            else:
                request = self._prepared_at_once(Surroundings(system, tools, max_tokens))
            return self.owned.out(request, form)

    def turn(
        self,
        messages: Iterable[object],
        *,
        system: System = None,
        tools: Tools = None,
        max_tokens: int | None = None,
        cache: bool | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Request:
        """Follow the owner's list, and make the request that is to be sent."""
        with self.lock:
            self.session.follow(messages)
            return self.session.prepare(
                system=system, tools=tools, max_tokens=max_tokens, cache=cache, **dict(settings or {})
            )

    def answered_with(self, message: Any, form: OwnerFormat, usage: Mapping[str, Any] | None = None) -> int:
        """Write an object of the owner that came back, and what it was billed."""
        with self.lock:
            self._refuse_long_work()
            desk = self.session.desk
            lens = desk.lens
            reply = understand(self.owned.answered(message, form), lens.dialect, lens.named)
            seq = self.session.append(reply, usage=usage)
            desk.owned.hear(seq, lens.times_forgotten, reply.message)
            return seq

    def answered(
        self,
        message: object,
        usage: Mapping[str, Any] | None = None,
        *,
        dialect: str | None = None,
        request: Request | None = None,
    ) -> int:
        """Write what came back, and what it was billed: behind the request it answers, where that is told.

        An owner may ask several questions of one conversation at once; it goes on from where it asked last.
        """
        with self.lock:
            desk = self.session.desk
            if request is None or request is desk.requests.newest:
                return self.session.append(message, usage=usage, dialect=dialect)
            before, place = desk.thread.branch.head, place_behind(desk.thread.branch, request.head)
            stand_at(desk, place, BY_OWNER)
            desk.requests.resume(request)
            seq = self.session.append(message, usage=usage, dialect=dialect)
            if before != place:
                stand_at(desk, before, BY_OWNER)
            return seq

    def overflowed(self, error: BaseException) -> bool:
        """Whether a provider's error says that the request was too long; then the next one is shorter."""
        told = str(error).encode("utf-8", "replace")
        endpoints = [dialect.endpoint for dialect in dialects.all_known() if dialect.endpoint is not None]
        if not any(endpoint.overflows(_REFUSED, told) for endpoint in endpoints):
            return False
        with self.lock:
            self.session.overflowed(error)
        return True

    def _refuse_long_work(self, listed: int = 0) -> None:
        """Before anything is done: a loop is held up neither by many new messages, nor by a summary."""
        if _AT_ONCE.get():
            desk = self.session.desk
            is_summarized = desk.background.wanted is not None or desk.background.ahead is not None
            if is_summarized or listed > len(desk.owned.numbers) + MOST_AT_ONCE:
                raise _TakesTimeError

    def _prepared_at_once(self, around: Surroundings) -> Request:
        """A request that asks for nothing, as most do. Where one does, nothing has happened yet, and all is left."""
        if telemetry.is_heard():
            raise _TakesTimeError
        steps = preparation.prepare(self.session.desk, around, None, {})
        first = started(steps, self.session.desk)
        if isinstance(first, StepsEnd):
            request: Request = first.value
            return request
        steps.close()
        raise _TakesTimeError


class Conversations:
    """The conversations of one store by the names of their threads; a file is opened when the first one begins."""

    def __init__(self, place: Place, folding: FoldSettings | None = None) -> None:
        self._place, self._folding = place, folding or FoldSettings()
        self._store = place if isinstance(place, Store) else None
        self._open: OrderedDict[tuple[str, str, str], Conversation] = OrderedDict()
        self._lock = Lock()
        self.aside = Aside()

    async def promptly(self, function: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        """A piece of a turn, for an owner in an event loop: at once where all is in memory and short, else aside.

        The function begins with a conversation, and is called again if that turns out to take its time.
        """
        if self._place is None:
            token = _AT_ONCE.set(True)
            try:
                return function(*arguments, **options)
            except _TakesTimeError:
                pass
            finally:
                _AT_ONCE.reset(token)
        return await self.aside(function, *arguments, **options)

    @property
    def store(self) -> Store:
        """The store, opened by now."""
        if self._store is None:
            assert not isinstance(self._place, Store)  # noqa: S101  # it would be open
            self._store = open_store(self._place)
        return self._store

    def of(self, thread: str, model: str, dialect: str) -> Conversation:
        """The conversation of this name, begun or gone on with."""
        key = (thread, model, dialect)
        with self._lock:
            found = self._open.get(key)
            if found is None:
                if _AT_ONCE.get():
                    raise _TakesTimeError  # settings are read from files
                how = self._folding
                session = Session.on(
                    self.store,
                    thread,
                    model or None,
                    how.policy,
                    Hooks(on_fold=how.on_fold),
                    dialect=dialect,
                    profile=how.profile,
                    window=how.window,
                    limit=how.limit,
                )
                found = self._open[key] = Conversation(session)
            self._open.move_to_end(key)
            idle = self._open.popitem(last=False)[1] if len(self._open) > MOST_OPEN else None
        if idle is not None:
            _let_go(idle)
        return found

    def close(self) -> None:
        """Let go of every conversation, and of the store if it was opened here."""
        with self._lock:
            held, self._open = list(self._open.values()), OrderedDict()
            for each in held:
                _let_go(each)
            if self._store is not None and not isinstance(self._place, Store):
                self._store.close()
                self._store = None
        self.aside.close()


def _let_go(conversation: Conversation) -> None:
    with conversation.lock:
        conversation.session.close()


def name_of(first: bytes, prefix: str, digest: Callable[[bytes], Any] = sha256) -> str:
    """A name for a conversation that has none: by what it begins with."""
    return f"{prefix}-{digest(first).hexdigest()[:12]}"
