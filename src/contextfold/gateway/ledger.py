"""All conversations of one tenant: its space of the store, the families in it, and the clerk who works on them.

Everything here happens in the order it was asked for, off the event loop. Holds no key and no header of a request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TypeVar

from contextfold.configuration import configure
from contextfold.dialects import find
from contextfold.dialects.held_body import HeldBody
from contextfold.errors import BadConfiguration, CannotFit, KeyConflict, StoreError
from contextfold.folding import Policy, Steps
from contextfold.preferences import policy_for
from contextfold.session import Session
from contextfold.session.telemetry import FoldNotice, Hooks, journal
from contextfold.store import Store, exclusively

from .clerk import Clerk
from .clients_model import SAME, ClientsModel
from .door import is_compacting
from .families import Asking, Families, PlacedRequest
from .followed import FittedTurn, FollowedThread
from .history_writer import FreshMessage
from .settings import ClientPolicy, GatewaySettings
from .status import ConversationStatus
from .tenant_store import TenantStore
from .turns import BegunTurn, BusyThread, KeptTurn, OpenTurn, PartKept, RecalledAnswer

_MOST_THREADS = 32  # held for each tenant; others are read again when they come
_MOST_PLACED = 8  # times that a thread is chosen again because other gateways wrote to it first
_MOST_RENAMED = 10_000  # answers in several rounds that are known by heart
_MOST_NOTED = 8  # gaps that one commit writes down, at most; there are no more reasons

T = TypeVar("T")


class Ledger:
    """One tenant's conversations. Every verb but `free`, `missed` and `close` belongs on its clerk's thread."""

    def __init__(self, open_store: Callable[[], Store], settings: GatewaySettings) -> None:
        self.kept_in, self.settings = TenantStore(open_store), settings
        self._families = Families(lambda: self.store)
        self._threads: dict[tuple[str, str, str], FollowedThread] = {}
        self._folding: dict[
            str, BusyThread
        ] = {}  # conversations whose newest request is being folded, by whatever model
        self.own_ids: dict[str, str] = {}  # of answers in several rounds, by the id that their client knows
        self._gaps: dict[str, int] = {}  # requests that could not be kept, by why
        self._noted: list[tuple[int, str, int]] = []  # those that were written down, with the commit they are in
        self.clerk = Clerk(self.kept_in.commit, self._start_over)

    def go_by(self, settings: GatewaySettings) -> None:
        """Other settings hold from now on, also in conversations that are open: each when it goes on."""
        self.settings = settings

    def _start_over(self) -> None:
        """A commit failed: what was written in it was taken back."""
        self._believe_the_log()
        for commit, why, requests in self._noted:
            if commit == self.kept_in.commits:
                self._gaps[why] = self._gaps.get(why, 0) + requests
        self._noted.clear()

    def _believe_the_log(self) -> None:
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
        self.kept_in.close()

    @property
    def store(self) -> Store:
        """The tenant's threads; opened when the first request comes."""
        return self.kept_in.get()

    # -- a turn -------------------------------------------------------------------------------------------------------

    def take(self, asking: Asking) -> KeptTurn | OpenTurn | BusyThread | PartKept | CannotFit:
        """Keep what a client sent, and make it fit as far as that goes without asking anybody.

        The error where it cannot fit, since what was said is kept anyway; nothing is kept while the thread is busy.
        A history with very many new messages is kept in parts: it is to be taken again after each.
        """
        for _ in range(_MOST_PLACED):
            place = self._families.placed(asking)
            if place.own:  # another gateway, or one before a restart, may have handed that answer on
                self.remember(asking.envelope.chain, place.own)
            if (busy := self._folding.get(place.thread)) is not None:
                return busy
            kept = self._thread(place.thread, asking, self._policy(asking, place))
            most = self.settings.most_new_messages
            ready, end = kept.writes.read_ahead(place.index, asking.envelope.messages, place.keys, most)
            taken = self._in_turn(place.thread, partial(self._taken, asking, place, ready, end))
            if taken is not None:
                return taken if isinstance(taken, PartKept) else self._begun(taken)
        raise StoreError("Other gateways begin conversations of this name all the time. Send the request again.")

    def _policy(self, asking: Asking, place: PlacedRequest) -> ClientPolicy:
        return self.settings.policy_of(place.name.client, asking.envelope.model)

    def _taken(
        self, asking: Asking, chosen: PlacedRequest, ready: dict[str, FreshMessage], end: int
    ) -> BegunTurn | PartKept | None:
        """Follow the client in a thread that nobody else writes to meanwhile; None where it belongs to another.

        Another gateway may have written to it, or to another thread of its family, since it was chosen. Of a long new
        history only the messages up to `end` are written.
        """
        envelope, known = asking.envelope, self.store.thread(chosen.thread)
        known.catch_up()
        is_as_chosen = known.branch.last and not chosen.index.take(known)
        place = chosen if is_as_chosen else self._families.placed(asking)
        if place.thread != chosen.thread:
            return None
        policy = self._policy(asking, place)
        kept = self._thread(place.thread, asking, policy)
        followed = kept.follow(place.index, envelope.messages[:end], place.keys[:end], place.base, ready)
        if end < len(envelope.messages):
            return PartKept()
        gaps = dict(self._gaps)
        for why, requests in gaps.items():
            kept.note_gap(why, requests)
        is_compaction = bool(envelope.messages) and is_compacting(asking.visit, envelope.messages[-1])
        may_fold = policy.mode != "observe" and place.may_fold
        recalls = bool(policy.recall) and may_fold and not is_compaction
        turn = KeptTurn(kept, place.index, followed, None, place.name.client, may_fold, is_compaction, recalls)
        return BegunTurn.of(turn, _fitted(turn, asking), gaps)

    def holds(self, asking: Asking) -> bool:
        """Whether all that a request says was said before its newest turn is kept here, word for word."""
        return self._families.holds(asking)

    def take_again(self, turn: KeptTurn, asking: Asking, told: str) -> KeptTurn | OpenTurn | BusyThread | CannotFit:
        """The same turn after the provider refused it as too long."""
        if (busy := self._folding.get(turn.name)) is not None:
            return busy

        def again() -> BegunTurn:
            turn.thread.overflowed(told, turn.followed)
            steps = turn.thread.fit(asking.envelope, turn.followed, may_fold=True, recalls=turn.recalls)
            return BegunTurn.of(turn, steps)

        return self._begun(self._in_turn(turn.name, again))

    def _begun(self, begun: BegunTurn) -> KeptTurn | OpenTurn | CannotFit:
        """What is in the log now. Where something has to be asked for, nobody else folds here until it is there."""
        for why, requests in begun.gaps.items():
            self._gaps[why] -= requests
            if not self._gaps[why]:
                del self._gaps[why]
            if not self.kept_in.is_served:  # else it is committed by now
                self._noted = [*self._noted[-_MOST_NOTED:], (self.kept_in.commits, why, requests)]
        if isinstance(begun.turn, OpenTurn):
            self._folding[begun.turn.turn.name] = BusyThread(Future())
        return begun.turn

    def _in_turn(self, thread: str, work: Callable[[], T]) -> T:
        """Work on a thread while no gateway else writes to it; done again where a lost connection took it back."""
        tries = 0

        def attempt() -> T:
            nonlocal tries
            tries += 1
            if tries > 1:
                self._believe_the_log()
            return work()

        try:
            return _beside_others(lambda: exclusively(self.store, thread, attempt))
        except BaseException:
            self._believe_the_log()
            raise

    def free(self, turn: KeptTurn) -> None:
        """A turn is folded, or cannot be: others of its conversation go on."""
        busy = self._folding.pop(turn.name, None)
        if busy is not None:
            busy.until.set_result(None)

    def answered(
        self, turn: KeptTurn, reply: Mapping[str, object], sent: bytes | HeldBody, *, is_alone: bool = True
    ) -> BusyThread | None:
        """Keep what came back for the bytes that were sent; nothing is kept while the thread is busy."""
        named = reply.get("id")
        own = self.own_ids.get(named, "") if isinstance(named, str) else ""
        if (busy := self._folding.get(turn.name)) is not None:
            return busy
        thread, indexes = turn.thread, iter([turn.index])

        def keep() -> None:
            # Anew where something was taken back.
            index = next(indexes, None) or self._families.index_of(thread.session.thread)
            recorded = turn.sent_as(sent, is_alone=is_alone)
            seq = thread.answered(index, reply, turn.followed, recorded.request, own)
            if turn.is_compaction:
                thread.record_compaction(turn.followed, seq)

        self._in_turn(turn.name, keep)
        return None

    def remember(self, shown: str, own: str) -> None:
        """What the provider calls an answer whose client calls it otherwise; of the newest, beside the log."""
        self.own_ids[shown] = own
        if len(self.own_ids) > _MOST_RENAMED:
            del self.own_ids[next(iter(self.own_ids))]

    def recalled(self, turn: KeptTurn, reply: Mapping[str, object]) -> BusyThread | RecalledAnswer:
        """What the model asked for of what is hidden, found in this turn's own history."""
        if (busy := self._folding.get(turn.name)) is not None:
            return busy
        return RecalledAnswer(self._in_turn(turn.name, lambda: turn.thread.recalled(reply, turn.followed)))

    def standing(self, most: int) -> list[ConversationStatus]:
        """The conversations that were spoken in last, the newest first."""
        newest = {name: thread for (name, _, _), thread in self._threads.items()}
        return [ConversationStatus.of(thread.session) for thread in list(reversed(newest.values()))[:most]]

    def missed(self, why: str) -> None:
        """A request passed that could not be kept; written down as soon as something can be."""
        self._gaps[why] = self._gaps.get(why, 0) + 1

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
                self._families.normaliser(asking),
                self.settings,
                pins=policy.pins or 0,
                system=policy.system if policy.mode != "observe" else None,
                writer=writer,
                before=found,
            )
        self._threads[own] = found
        return found


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
