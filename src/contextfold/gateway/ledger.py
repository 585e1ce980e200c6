"""All conversations of one tenant: its space of the store, the families in it, and the clerk who works on them.

Everything here happens in the order it was asked for, off the event loop. Holds no key and no header of a request.
"""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import chain, count
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from contextfold.configuration import configure
from contextfold.deferred import expression
from contextfold.dialects import Dialect, find
from contextfold.dialects.endpoint import Endpoint, Envelope
from contextfold.domain import decode
from contextfold.errors import BadConfiguration, BadMessage, CannotFit, ContextFoldError, KeyConflict
from contextfold.folding import Effect, Policy, Steps
from contextfold.preferences import policy_for
from contextfold.session import Request, Session
from contextfold.session.drivers import StepsEnd, started
from contextfold.session.telemetry import FoldNotice, Hooks, journal
from contextfold.store import Store, shared_commit

from .clerk import Clerk
from .clients_model import SAME, ClientsModel
from .door import ClientName, Visit, client_name, is_compacting, is_named
from .followed import FittedTurn, Followed, FollowedThread
from .recognition import START, KnownAnswer, Normaliser, PrefixIndex
from .settings import ClientPolicy, GatewaySettings
from .status import ConversationStatus

ASIDE = "aside"
_MOST_FAMILIES, _MOST_THREADS = 200, 32  # held for each tenant; others are read again when they come
_MOST_LOOKED = 200  # threads in which an answer from before a restart is looked for
_NUMBERED = expression(r"/\d+$")  # a further thread of a family

_Chained = tuple[PrefixIndex, KnownAnswer]

T = TypeVar("T")


class Asking(Struct, frozen=True):
    """A request for a turn, as it came."""

    visit: Visit
    dialect: Dialect
    endpoint: Endpoint
    envelope: Envelope
    is_sent: bool = False  # it is on its way as it came: nothing is folded for it


class KeptTurn(Struct, frozen=True):
    """A request that is in the log, and what goes out for it."""

    thread: FollowedThread
    index: PrefixIndex
    followed: Followed
    fitted: FittedTurn | None
    client: str
    may_fold: bool
    is_compaction: bool
    recalls: bool = False

    @property
    def name(self) -> str:
        """Of the conversation that it belongs to."""
        return self.thread.session.thread.name

    @property
    def request(self) -> Request | None:
        return None if self.fitted is None else self.fitted.request

    def sent_as(self, body: bytes, *, is_alone: bool) -> KeptTurn:
        """The turn with what the log is to keep of the bytes that went out for it.

        A bill of several requests together teaches nothing about the size of one: what was counted is left out.
        """
        if self.fitted is None or self.fitted.request is None:
            return self
        request = self.fitted.request
        record = self.thread.records.of(body, request.record, self.followed.sent)
        raw = request.raw_tokens if is_alone else 0
        return replace(
            self, fitted=replace(self.fitted, request=dataclasses.replace(request, record=record, raw_tokens=raw))
        )


class OpenTurn(Struct, frozen=True):
    """A turn that is being folded: the steps that make it fit, and what they ask for now."""

    turn: KeptTurn
    steps: Steps[FittedTurn]
    effect: Effect


class BusyThread(Struct, frozen=True):
    """Another request of the same conversation is being folded; its turn comes when that is done."""

    until: Future[None]


class Ledger:
    """One tenant's conversations. Every verb but `free`, `missed` and `close` belongs on its clerk's thread."""

    def __init__(self, open_store: Callable[[], Store], settings: GatewaySettings) -> None:
        self._open, self.settings = open_store, settings
        self._store: Store | None = None
        self._normalisers: dict[str, Normaliser] = {}
        self._families: dict[str, PrefixIndex] = {}
        self._threads: dict[tuple[str, str, str], FollowedThread] = {}
        self._folding: dict[
            str, BusyThread
        ] = {}  # conversations whose newest request is being folded, by whatever model
        self._has_looked = False  # for answers from before this gateway began
        self._gaps: dict[str, int] = {}  # requests that could not be kept, by why
        self.clerk = Clerk(lambda: shared_commit(self.store.distant, self.store.batch), self._start_over)

    def go_by(self, settings: GatewaySettings) -> None:
        """Other settings hold from now on, also in conversations that are open: each when it goes on."""
        self.settings = settings

    def _start_over(self) -> None:
        """What was written may have been taken back: believe nothing but the log."""
        self._families.clear()
        self._threads.clear()

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits to be kept here."""
        return self.clerk.is_idle

    def close(self) -> None:
        """Finish what was asked for and let go of the store."""
        self.clerk.close()
        if self._store is not None:
            self._store.close()
            self._store = None

    @property
    def store(self) -> Store:
        """The tenant's threads; opened when the first request comes."""
        if self._store is None:
            self._store = self._open()
        return self._store

    # -- a turn -------------------------------------------------------------------------------------------------------

    def take(self, asking: Asking) -> KeptTurn | OpenTurn | BusyThread | CannotFit:
        """Keep what a client sent, and make it fit as far as that goes without asking anybody.

        The error where it cannot fit, since what was said is kept anyway; nothing is kept while the thread is busy.
        """
        envelope, normaliser = asking.envelope, self._normaliser(asking)
        chained = self._chained(envelope.chain) if envelope.chain else None
        keys = normaliser.keys(envelope.messages, START if chained is None else chained[1].prefix)
        # How a conversation without an id begins: up to the first thing that is not the client's own frame.
        first = keys[-1] if keys else "nothing"
        for raw, key in zip(envelope.messages, keys, strict=True):
            value = decode(raw)
            if not isinstance(value, Mapping) or value.get("role") not in ("system", "developer"):
                first = key
                break
        name = client_name(asking.visit, envelope.family, first.removeprefix(START))
        policy = self.settings.policy_of(name.client, envelope.model)
        is_aside = self._is_aside(asking, name, keys)
        index, thread = self._placed(asking, name, keys, chained, is_aside)
        if (busy := self._folding.get(thread)) is not None:
            return busy
        kept = self._thread(thread, asking, policy)
        base = 0 if chained is None else chained[1].place.seq
        followed = _beside_others(lambda: kept.follow(index, envelope.messages, keys, base))
        for why, requests in list(self._gaps.items()):
            kept.note_gap(why, requests)
            del self._gaps[why]
        is_compaction = bool(envelope.messages) and is_compacting(asking.visit, envelope.messages[-1])
        may_fold = policy.mode != "observe" and not is_aside
        recalls = bool(policy.recall) and may_fold and not is_compaction
        turn = KeptTurn(kept, index, followed, None, name.client, may_fold, is_compaction, recalls)
        return self._begun(turn, _fitted(turn, asking))

    def take_again(self, turn: KeptTurn, asking: Asking, told: str) -> KeptTurn | OpenTurn | BusyThread | CannotFit:
        """The same turn after the provider refused it as too long."""
        if (busy := self._folding.get(turn.name)) is not None:
            return busy
        turn.thread.overflowed(told)
        return self._begun(turn, turn.thread.fit(asking.envelope, turn.followed, may_fold=True, recalls=turn.recalls))

    def _begun(self, turn: KeptTurn, steps: Steps[FittedTurn]) -> KeptTurn | OpenTurn | CannotFit:
        """Where nothing has to be asked for, the turn is ready at once."""
        try:
            first = started(steps, turn.thread.session.desk)
        except CannotFit as error:
            return error
        if isinstance(first, StepsEnd):
            return replace(turn, fitted=first.value)
        self._folding[turn.name] = BusyThread(Future())
        return OpenTurn(turn, steps, first)

    def free(self, turn: KeptTurn) -> None:
        """A turn is folded, or cannot be: others of its conversation go on."""
        busy = self._folding.pop(turn.name, None)
        if busy is not None:
            busy.until.set_result(None)

    def answered(
        self, turn: KeptTurn, reply: Mapping[str, object], sent: bytes, *, is_alone: bool = True
    ) -> BusyThread | None:
        """Keep what came back for the bytes that were sent; nothing is kept while the thread is busy."""
        if (busy := self._folding.get(turn.name)) is not None:
            return busy
        recorded = turn.sent_as(sent, is_alone=is_alone)
        _beside_others(lambda: self._answered(recorded, reply))
        return None

    def _answered(self, turn: KeptTurn, reply: Mapping[str, object]) -> None:
        with self.store.batch():
            seq = turn.thread.answered(turn.index, reply, turn.followed, turn.request)
            if turn.is_compaction:
                turn.thread.record_compaction(turn.followed, seq)

    def standing(self, most: int) -> list[ConversationStatus]:
        """The conversations that were spoken in last, the newest first."""
        newest = {name: thread for (name, _, _), thread in self._threads.items()}
        return [ConversationStatus.of(thread.session) for thread in list(reversed(newest.values()))[:most]]

    def missed(self, why: str) -> None:
        """A request passed that could not be kept; written down as soon as something can be."""
        self._gaps[why] = self._gaps.get(why, 0) + 1

    # -- where it belongs ---------------------------------------------------------------------------------------------

    def _is_aside(self, asking: Asking, name: ClientName, keys: Sequence[str]) -> bool:
        """Titles, routing questions and the like: no tools, and a form for the answer or a lone message, asked anew."""
        envelope = asking.envelope
        if envelope.tools or envelope.chain:
            return False
        is_lone = len(envelope.messages) == 1 and is_named(asking.visit, envelope.family)
        is_beside = is_lone and name.thread in self.store and self._family(name.thread).longest(keys) is None
        return envelope.is_schema_bound or is_beside

    def _placed(
        self, asking: Asking, name: ClientName, keys: Sequence[str], chained: _Chained | None, is_aside: bool
    ) -> tuple[PrefixIndex, str]:
        """The thread a request belongs to, with the index of its family."""
        if chained is not None:
            return chained[0], chained[1].place.thread
        if is_aside:
            title = f"{name.thread}/{ASIDE}"
            return self._family(title), title
        index = self._family(name.thread)
        if (known := index.longest(keys)) is not None:
            return index, known[1].thread
        calls: list[str] = []
        for raw in asking.envelope.messages:
            with suppress(BadMessage, ContextFoldError):  # the history is used as far as it can be read
                calls += [call.id for call in asking.dialect.parse(raw).calls]
        # Without an id a family is known by how it begins: where that changed, its calls may be known elsewhere.
        others = () if is_named(asking.visit, asking.envelope.family) else reversed(self._families.values())
        for each in (index, *others):
            if calls and (anchored := each.anchored(calls)):
                return each, anchored
        further = (f"{name.thread}/{number}" for number in count(2))
        return index, next(each for each in chain([name.thread], further) if each not in index.threads)

    def _chained(self, answer: str) -> _Chained | None:
        """Where the answer of an id is; after a restart it is looked for among the threads that were used last."""
        for index in self._families.values():
            if (found := index.answered(answer)) is not None:
                return index, found
        rows = () if self._has_looked else self.store.threads(order="activity", limit=_MOST_LOOKED)
        self._has_looked = True
        for row in rows:
            index = self._family(_NUMBERED.sub("", row.title))
            if (found := index.answered(answer)) is not None:
                return index, found
        return None

    def _family(self, name: str) -> PrefixIndex:
        found = self._families.pop(name, None)
        if found is None:
            _limit(self._families, _MOST_FAMILIES)
            pattern = re.compile(re.escape(name) + r"(?:/\d+)?")
            rows = self.store.threads(prefix=name)
            found = PrefixIndex([self.store.thread(row.title) for row in rows if pattern.fullmatch(row.title)])
        self._families[name] = found
        return found

    def _thread(self, name: str, asking: Asking, policy: ClientPolicy) -> FollowedThread:
        own = name, asking.envelope.model, asking.dialect.name
        found = self._threads.pop(own, None)
        if found is None or found.settings is not self.settings:
            _limit(self._threads, _MOST_THREADS)
            model = asking.envelope.model
            writer = ClientsModel(model) if policy.summarizer == SAME and model else None
            recipe: Policy | str | None = policy.policy or None
            if writer is not None:
                with suppress(BadConfiguration):  # a policy that has no summaries stays as it is
                    recipe = policy_for(configure(), model, recipe, summarizer=writer)
            session = Session.on(
                self.store,
                name,
                model or None,
                recipe,
                _journaled(name),
                dialect=asking.dialect.name,
                limit=policy.limit,
                window=policy.window,
            )
            found = FollowedThread(
                session,
                find(asking.dialect.name),
                asking.endpoint,
                self._normaliser(asking),
                self.settings,
                pins=policy.pins or 0,
                system=policy.system if policy.mode != "observe" else None,
                writer=writer,
                before=found,
            )
        self._threads[own] = found
        return found

    def _normaliser(self, asking: Asking) -> Normaliser:
        return self._normalisers.setdefault(asking.dialect.name, Normaliser(asking.dialect))


def _beside_others(work: Callable[[], T]) -> T:
    """Another gateway may keep the same message a moment before, from the client's next request; then it is known."""
    try:
        return work()
    except KeyConflict:
        return work()


def _fitted(turn: KeptTurn, asking: Asking) -> Steps[FittedTurn]:
    """What goes out. A client that compacts wants to do it itself: it is left alone as long as what it sends fits."""
    envelope = asking.envelope
    if asking.is_sent:
        return (yield from turn.thread.fit(envelope, turn.followed, may_fold=False))
    if turn.may_fold and turn.is_compaction:
        weighed = yield from turn.thread.fit(envelope, turn.followed, may_fold=False)
        if weighed.report.after <= weighed.report.usable:
            return weighed
    return (yield from turn.thread.fit(envelope, turn.followed, may_fold=turn.may_fold, recalls=turn.recalls))


def _journaled(thread: str) -> Hooks:
    """Folds and how far they are, written down as numbers."""

    def folded(told: FoldNotice) -> None:
        sizes = {"before": told.fold.before, "after": told.fold.after}
        journal(logging.INFO, "folded", thread=thread, fold=told.fold.id, why=told.trigger, **sizes)

    def folding(stage: str, done: int, of: int) -> None:
        journal(logging.INFO, "folding", thread=thread, stage=stage, done=done, of=of)

    return Hooks(on_fold=folded, on_progress=folding)


def _limit(kept: dict[str, T] | dict[tuple[str, str, str], T], most: int) -> None:
    """Make room for one more: what was used longest ago goes first."""
    while len(kept) >= most:
        del kept[next(iter(kept))]  # type: ignore[arg-type]  # a key of the very same mapping
