"""A thread that follows what a client sends: goes back where the client went back, holds what is new, fits, answers.

The client is right about what was said; the thread keeps every version of it. What it sent is used byte for byte
wherever a fold does not hide it. Runs on the one thread of its ledger; sends nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

from msgspec import Struct

from contextfold.dialects import Dialect, understand
from contextfold.dialects.endpoint import Endpoint, Envelope
from contextfold.dialects.splices import HiddenPair, call_of, put_back
from contextfold.domain import (
    Appended,
    Checkpointed,
    Detail,
    LiveBranch,
    NewEvent,
    Sent,
    StandIn,
    Text,
    View,
    encode,
)
from contextfold.errors import CannotCover, NotFound
from contextfold.folding import Report, Steps, longest_answer
from contextfold.layers import System
from contextfold.recall import TOOLS
from contextfold.session import Request, Session, Surroundings, notes
from contextfold.session.preparation import fitted
from contextfold.session.request import report_of
from contextfold.session.rewind import place_behind
from contextfold.session.telemetry import journal

from . import refold, seen_words
from .clients_model import ClientsModel
from .history_writer import FreshMessage, HistoryWriter
from .outgoing_messages import OutgoingMessages
from .prefix_index import PrefixIndex, answer_key
from .recognition import START, Normaliser, items_of
from .records import RequestRecords
from .settings import GatewaySettings

RECALL_NAMES = frozenset(tool.name for tool in TOOLS)
_MOST_BESIDE = 20  # calls and results between us and the model that are put back where they belong


class Followed(Struct, frozen=True):
    """A thread that stands where the client stands: at `end`, whose prefix is `key`."""

    end: int
    key: str
    base: int  # the newest message that was known before
    sent: Callable[[], Mapping[int, Sequence[bytes]]] = dict  # the client's own bytes of messages, by seq
    keys: Sequence[str] = ()  # of the prefixes of what the client sent


class FittedTurn(Struct, frozen=True):
    """What goes out: None where the client's own bytes do."""

    messages: Sequence[bytes] | None
    output: int | None  # the longest answer that there is room for, where the client asked for more
    report: Report
    request: Request | None
    tools: Sequence[Mapping[str, Any]] = ()  # ours, beside the client's
    system: Sequence[str] = ()  # what is said behind the client's own system prompt


class FollowedThread:
    """One conversation of one client, in one dialect."""

    def __init__(
        self,
        session: Session,
        dialect: Dialect,
        endpoint: Endpoint,
        normaliser: Normaliser,
        settings: GatewaySettings,
        *,
        pins: int = 0,
        system: System | None = None,
        writer: ClientsModel | None = None,
        before: FollowedThread | None = None,
    ) -> None:
        """`pins` messages at the beginning are never folded; `system` is layer L0; `writer` writes the summaries.

        `before` is the same conversation under settings that held until now.
        """
        self.settings = settings
        self.session, self._dialect, self._endpoint, self._normaliser = session, dialect, endpoint, normaliser
        self._pins, self._system, self.writer = pins, system, writer
        session.desk.turn.recall_without_reasoning()  # a client that left it out may be in another conversation
        # Calls and results that no client sees, each with the prefix that ends with the answer it was made in.
        self.beside: list[tuple[str, HiddenPair]] = [] if before is None else before.beside
        self._unbound: list[tuple[Followed, HiddenPair]] = []  # in answers that are not kept yet
        self.records = RequestRecords(session, dialect, endpoint)
        self._outgoing = OutgoingMessages(session, endpoint, normaliser)
        self._newest = _newest_request(session.thread.branch)  # that this gateway has learnt from
        self.writes = HistoryWriter(session, dialect, endpoint, normaliser)

    def follow(
        self,
        index: PrefixIndex,
        messages: Sequence[bytes],
        keys: Sequence[str],
        base: int = 0,
        ready: dict[str, FreshMessage] | None = None,
    ) -> Followed:
        """Stand where the client stands, with all it said; `base` is the answer that its history goes on from.

        What was read ahead is used up.
        """
        thread = self.session.thread
        self._catch_up()
        index.take(thread)
        known = index.longest(keys, thread.name)
        length, seq = (known[0], known[1].seq) if known is not None else (0, base)
        fresh = self.writes.read(messages[length:], keys[length:], {} if ready is None else ready)
        end, target = seq, place_behind(thread.branch, seq)
        if fresh or target != thread.branch.head:
            with self.session.store.batch():
                end = self.writes.write(target, fresh) or seq
                first = thread.branch.items.items[: self._pins]
                for pinned in [item.seq for item in first if item.kind == "message"]:
                    if pinned not in self.session.view.pinned:
                        thread.pin(pinned)
            index.take(thread)
        sent = partial(index.own_bytes, messages, keys, thread.name)
        return Followed(end, keys[-1] if keys else START, seq, sent, keys)

    def _catch_up(self) -> None:
        """Take what other gateways wrote, and learn from their requests and bills: all of them decide alike."""
        thread, desk = self.session.thread, self.session.desk
        thread.catch_up()
        if (newest := _newest_request(thread.branch)) != self._newest:
            self._newest = newest
            desk.lens.learn_again()
            desk.books.resume(thread, desk.turn.frame.tokens)

    def stand(self, followed: Followed) -> int:
        """Stand where a request stood, with the folds that were made for it; where the head was before."""
        self.session.thread.catch_up()
        before = self.session.thread.branch.head
        self.writes.move(place_behind(self.session.thread.branch, followed.end))
        return before

    def note_gap(self, why: str, requests: int) -> None:
        """Write down that requests passed which could not be kept."""
        thread = self.session.thread
        details: dict[str, Detail] = {"why": why, "requests": requests}
        thread.write(lambda now: [NewEvent(Checkpointed("gap", now.head, "", details), now.head, thread.now())])

    def fit(
        self, envelope: Envelope, followed: Followed, *, may_fold: bool, recalls: bool = False
    ) -> Steps[FittedTurn]:
        """What goes out, so that it fits; raises `CannotFit`. Without `may_fold` only folds that are there count.

        With `recalls` the model may ask for what is hidden, from the first fold on.
        """
        desk, thread = self.session.desk, self.session.thread
        if self._system is not None and may_fold:
            yield from notes.define(desk, self._system, None, None)
        # The tools by which the model finds what is hidden; none where the client has tools of these names.
        theirs = bytes(envelope.fields.get(self._endpoint.tools, b""))
        is_taken = any(f'"{name}"'.encode() in theirs for name in RECALL_NAMES)
        ours = self.session.recall_tools(dialect=self._dialect.name) if recalls and not is_taken else ()
        tools = [*(envelope.tools if isinstance(envelope.tools, list) else []), *ours]
        given = Surroundings(envelope.system or "", tools, envelope.output)  # type: ignore[arg-type]  # as it came
        whole = None if envelope.chain or envelope.is_schema_bound else partial(self._whole, envelope, followed)
        seen = self._leave_summaries_of_others(envelope)
        is_shown = seen != seen_words.COVERED
        outcome = yield from fitted(
            desk, given, self._dialect.name, may_fold=may_fold, whole=whole, is_shown=is_shown, seen=seen
        )
        report, view = report_of(outcome), outcome.view
        live = [fold.seq for fold in thread.branch.folds if fold.is_live]
        is_chained = bool(envelope.chain) and max(live, default=0) <= followed.base
        messages = self._outgoing.messages(view, followed.sent(), envelope) if live and not is_chained else None
        if messages is not None and ours:
            beside = [pair for prefix, pair in self.beside if prefix in followed.keys]
            messages = reduce(put_back, beside, messages)
        output = None
        if may_fold and envelope.output is not None and not desk.model.assumed:
            room = longest_answer(desk.model, desk.budget(), outcome.now.used, envelope.output)
            output = room if room < envelope.output else None
        below = [section.text for section in notes.framed(desk)] if may_fold and self._system is not None else ()
        tools_added = ours if messages is not None else ()
        return FittedTurn(messages, output, report, desk.requests.newest, tools_added, below)

    def _leave_summaries_of_others(self, envelope: Envelope) -> str:
        """Take back summaries whose writer read what is not in this request; the mark of those that are written now."""
        thread = self.session.thread
        if not seen_words.are_read(thread.branch, self.session.policy):
            return seen_words.COVERED
        seen = seen_words.SeenWords.of(envelope, self._normaliser)
        for fold in seen_words.folds_of_others(thread.branch, seen):
            self.writes.write_apart()
            thread.unfold(fold)
        return seen.mark if self.writes.shares and seen.can_be_kept else seen_words.COVERED

    def _whole(self, envelope: Envelope, followed: Followed, view: View) -> bytes:
        """The client's request as it would go out without another fold: its provider has most of it in its cache."""
        is_folded = any(fold.is_live for fold in self.session.thread.branch.folds)
        messages = self._outgoing.messages(view, followed.sent(), envelope) if is_folded else envelope.messages
        below = [section.text for section in notes.framed(self.session.desk)] if self._system is not None else ()
        return self._endpoint.close(envelope, messages, system=below)

    def recalled(self, reply: Mapping[str, Any], followed: Followed) -> list[bytes] | None:
        """An answer that only asks for what is hidden, and the answers to it, as messages; None for any other.

        Found in the history that was answered, wherever the head stands by now. What it asks beside the client's own
        calls is answered in requests that go on from that very answer, behind the first of those calls.
        """
        before = self.stand(followed)
        try:
            return self._recalled(reply, followed)
        finally:
            self.writes.move(before)

    def _recalled(self, reply: Mapping[str, Any], followed: Followed) -> list[bytes] | None:
        message = understand(reply, self._dialect.name, self._dialect.name).message
        ours = [call for call in message.calls if call.name in RECALL_NAMES]
        own = [call.id for call in message.calls if call.name not in RECALL_NAMES]
        answers = [given for call in ours if (given := self.session.answer(call)) is not None]
        if own or not ours:
            order = [call.id for call in message.calls]
            beside = call_of(message.raw, own[0]) if own else None
            for call, result in zip(ours, answers, strict=True):
                if beside is not None and (wire := call_of(message.raw, call.id)) is not None:
                    is_before = order.index(call.id) < order.index(own[0])
                    self._unbound.append((followed, HiddenPair(own[0], beside, is_before, wire, result)))
            del self._unbound[:-_MOST_BESIDE]
            return None
        lists = [name for name in ("content", "parts") if isinstance(answers[0].get(name), list)]
        if lists:  # all results in one message
            name = lists[0]
            answers = [{**answers[0], name: [part for each in answers for part in each[name]]}]
        return [*items_of(message.raw), *map(encode, answers)]

    def overflowed(self, told: str, followed: Followed) -> None:
        """The provider refused a request as too long; another of this thread may have come in between."""
        self.stand(followed)
        self.session.overflowed(told)

    def answered(
        self, index: PrefixIndex, reply: object, followed: Followed, request: Request | None, provider_id: str = ""
    ) -> int:
        """Keep an answer behind what it answers; the same answer twice is kept once.

        `provider_id` is what its provider calls it, where its client was shown another id.

        An answer may come late, when its client has gone on already: the client stands where it said something last.
        """
        desk, thread = self.session.desk, self.session.thread
        thread.catch_up()
        index.take(thread)
        raw = understand(reply, self._dialect.name, self._dialect.name).message.raw
        key = self._normaliser.key_after(followed.key, items_of(raw))
        self.beside += [(key, pair) for turn, pair in self._unbound if turn is followed]
        self._unbound = [(turn, pair) for turn, pair in self._unbound if turn is not followed]
        del self.beside[:-_MOST_BESIDE]
        known = index.get(key)
        before, target = thread.branch.head, place_behind(thread.branch, followed.end)
        if known is not None and known.thread == thread.name:
            if before == target and not thread.branch.is_on_path(known.seq):
                self.writes.move(place_behind(thread.branch, known.seq))
            return known.seq
        self.writes.move(target)
        if request is not None:
            desk.requests.ask(request)
        named = reply.get("id") if self._endpoint.chain and isinstance(reply, Mapping) else None
        own = answer_key(key, named if isinstance(named, str) else "", provider_id)
        seq = self.session.append(reply, key=own, dialect=self._dialect.name)
        if before != target:
            self.writes.move(before)
        index.take(thread)
        self._newest = _newest_request(thread.branch)
        return seq

    def record_compaction(self, followed: Followed, answer: int) -> None:
        """A client's own summary, kept as a fold of everything that stood before its wish for one."""
        self.writes.move(place_behind(self.session.thread.branch, answer))
        branch = self.session.thread.branch
        said = [seq for seq in branch.path if seq < followed.end and isinstance(branch.events[seq - 1].event, Appended)]
        shown = [item.seq for item in self.session.view.items if item.kind != "completion" and item.seq < followed.end]
        message = self.session.thread.message(answer)
        words = "\n".join(block.text for block in message.blocks if isinstance(block, Text))
        if not said or not shown or not words:
            return
        try:
            self.session.thread.fold(shown, StandIn(words), details={"trigger": refold.CLIENTS_OWN})
        except (CannotCover, NotFound) as error:
            journal(logging.INFO, "compaction not kept", thread=self.session.thread.name, why=str(error))


def _newest_request(branch: LiveBranch) -> int:
    """The newest request in the log, whichever gateway sent it."""
    return next((entry.seq for entry in reversed(branch.events) if isinstance(entry.event, Sent)), 0)
