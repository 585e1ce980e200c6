"""A thread that follows what a client sends: goes back where the client went back, holds what is new, fits, answers.

The client is right about what was said; the thread keeps every version of it. What it sent is used byte for byte
wherever a fold does not hide it. Runs on the one thread of its ledger; sends nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Any

from msgspec import Struct

from contextfold import dialects
from contextfold.dialects import Dialect, together, understand
from contextfold.dialects.endpoint import AskedTurn, Endpoint, Envelope
from contextfold.dialects.splices import HiddenPair, call_of, put_back
from contextfold.domain import (
    Appended,
    Checkpointed,
    Detail,
    Message,
    NewEvent,
    Projection,
    StandIn,
    Text,
    View,
    decode,
    encode,
)
from contextfold.errors import CannotCover, NotFound
from contextfold.folding import Report, Steps, longest_answer
from contextfold.layers import System
from contextfold.recall import TOOLS
from contextfold.session import Request, Session, Surroundings, notes
from contextfold.session.answer import offload
from contextfold.session.drivers import drive
from contextfold.session.preparation import fitted
from contextfold.session.request import report_of
from contextfold.session.rewind import place_behind, stand_at
from contextfold.session.telemetry import journal
from contextfold.thread.request_bytes import is_bound

from . import refold
from .clients_model import ClientsModel
from .recognition import START, Normaliser, PrefixIndex, answer_key, items_of
from .records import RequestRecords
from .settings import GatewaySettings

BY_CLIENT = "client"
RECALL_NAMES = frozenset(tool.name for tool in TOOLS)
_MOST_BESIDE = 20  # calls and results between us and the model that are put back where they belong
_MOST_AT_THE_DOOR = 64  # new messages that are looked at one by one; a longer history was not said just now


class Followed(Struct, frozen=True):
    """A thread that stands where the client stands: at `end`, whose prefix is `key`."""

    end: int
    key: str
    base: int  # the newest message that was known before
    sent: Callable[[], Mapping[int, Sequence[bytes]]] = dict  # the client's own bytes of messages, by seq


class FittedTurn(Struct, frozen=True):
    """What goes out: None where the client's own bytes do."""

    messages: Sequence[bytes] | None
    output: int | None  # the longest answer that there is room for, where the client asked for more
    report: Report
    request: Request | None
    tools: Sequence[Mapping[str, Any]] = ()  # ours, beside the client's
    system: Sequence[str] = ()  # what is said behind the client's own system prompt


class _Fresh(Struct, frozen=True):
    message: Message
    key: str
    form: bytes


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
        # Calls and results that no client sees.
        self.beside: list[HiddenPair] = [] if before is None else before.beside
        self.records = RequestRecords(session, dialect, endpoint)

    def follow(self, index: PrefixIndex, messages: Sequence[bytes], keys: Sequence[str], base: int = 0) -> Followed:
        """Stand where the client stands, with all it said; `base` is the answer that its history goes on from."""
        thread = self.session.thread
        thread.catch_up()
        index.take(thread)
        known = index.longest(keys, thread.name)
        length, seq = (known[0], known[1].seq) if known is not None else (0, base)
        fresh = []
        for raw, key in self._joined(messages[length:], keys[length:]):
            message = understand(raw, self._dialect.name, self._dialect.name).message
            fresh.append(_Fresh(message, key, b"".join(self._normaliser.form(each) for each in items_of(raw))))
        end, target = seq, place_behind(thread.branch, seq)
        if fresh or target != thread.branch.head:
            with self.session.store.batch():
                end = self._write(target, fresh) or seq
                first = thread.branch.items.items[: self._pins]
                for pinned in [item.seq for item in first if item.kind == "message"]:
                    if pinned not in self.session.view.pinned:
                        thread.pin(pinned)
            index.take(thread)
        sent = partial(index.own_bytes, messages, keys, thread.name)
        return Followed(end, keys[-1] if keys else START, seq, sent)

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
        theirs = envelope.fields.get(self._endpoint.tools, b"")
        is_taken = any(f'"{name}"'.encode() in theirs for name in RECALL_NAMES)
        ours = self.session.recall_tools(dialect=self._dialect.name) if recalls and not is_taken else ()
        tools = [*(envelope.tools if isinstance(envelope.tools, list) else []), *ours]
        given = Surroundings(envelope.system or "", tools, envelope.output)  # type: ignore[arg-type]  # as it came
        whole = None if envelope.chain or envelope.is_schema_bound else partial(self._whole, envelope, followed)
        outcome = yield from fitted(desk, given, self._dialect.name, may_fold=may_fold, whole=whole)
        report, view = report_of(outcome), outcome.view
        live = [fold.seq for fold in thread.branch.folds if fold.is_live]
        is_chained = bool(envelope.chain) and max(live, default=0) <= followed.base
        messages = self._messages(view, followed.sent()) if live and not is_chained else None
        if messages is not None and ours:
            messages = reduce(put_back, self.beside, messages)
        output = None
        if may_fold and envelope.output is not None and not desk.model.assumed:
            room = longest_answer(desk.model, desk.budget(), outcome.now.used, envelope.output)
            output = room if room < envelope.output else None
        below = [section.text for section in notes.framed(desk)] if may_fold and self._system is not None else ()
        tools_added = ours if messages is not None else ()
        return FittedTurn(messages, output, report, desk.requests.newest, tools_added, below)

    def _whole(self, envelope: Envelope, followed: Followed, view: View) -> bytes:
        """The client's request as it would go out without another fold: its provider has most of it in its cache."""
        is_folded = any(fold.is_live for fold in self.session.thread.branch.folds)
        messages = self._messages(view, followed.sent()) if is_folded else envelope.messages
        below = [section.text for section in notes.framed(self.session.desk)] if self._system is not None else ()
        return self._endpoint.close(envelope, messages, system=below)

    def recalled(self, reply: Mapping[str, Any]) -> list[bytes] | None:
        """An answer that only asks for what is hidden, and the answers to it, as messages; None for any other.

        What it asks beside the client's own calls is answered in the next request, behind the first of those.
        """
        message = understand(reply, self._dialect.name, self._dialect.name).message
        ours = [call for call in message.calls if call.name in RECALL_NAMES]
        own = [call.id for call in message.calls if call.name not in RECALL_NAMES]
        answers = [given for call in ours if (given := self.session.answer(call)) is not None]
        if own or not ours:
            order = [call.id for call in message.calls]
            for call, result in zip(ours, answers, strict=True):
                if (wire := call_of(message.raw, call.id)) is not None:
                    is_before = order.index(call.id) < order.index(own[0])
                    self.beside.append(HiddenPair(own[0], is_before, wire, result))
            del self.beside[:-_MOST_BESIDE]
            return None
        lists = [name for name in ("content", "parts") if isinstance(answers[0].get(name), list)]
        if lists:  # all results in one message
            name = lists[0]
            answers = [{**answers[0], name: [part for each in answers for part in each[name]]}]
        return [*items_of(message.raw), *map(encode, answers)]

    def overflowed(self, told: str) -> None:
        """The provider refused the last request as too long."""
        self.session.overflowed(told)

    def answered(self, index: PrefixIndex, reply: object, followed: Followed, request: Request | None) -> int:
        """Keep an answer behind what it answers; the same answer twice is kept once.

        An answer may come late, when its client has gone on already: the client stands where it said something last.
        """
        desk, thread = self.session.desk, self.session.thread
        thread.catch_up()
        index.take(thread)
        raw = understand(reply, self._dialect.name, self._dialect.name).message.raw
        key = self._normaliser.key_after(followed.key, items_of(raw))
        known = index.get(key)
        if known is not None and known.thread == thread.name:
            if not thread.branch.is_on_path(known.seq):
                self._move(known.seq)
            return known.seq
        before, target = thread.branch.head, place_behind(thread.branch, followed.end)
        self._move(target)
        if request is not None:
            desk.requests.ask(request)
        named = reply.get("id") if self._endpoint.chain and isinstance(reply, Mapping) else None
        own = answer_key(key, named if isinstance(named, str) else "")
        seq = self.session.append(reply, key=own, dialect=self._dialect.name)
        if before != target:
            self._move(before)
        index.take(thread)
        return seq

    def record_compaction(self, followed: Followed, answer: int) -> None:
        """A client's own summary, kept as a fold of everything that stood before its wish for one."""
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

    # -- writing ------------------------------------------------------------------------------------------------------

    def _joined(self, messages: Sequence[bytes], keys: Sequence[str]) -> Iterator[tuple[bytes, str]]:
        """Messages with their keys; the items that are one answer of the model come as one."""
        if not self._dialect.is_written_in_items:
            yield from zip(messages, keys, strict=True)
            return
        at = 0
        for group in together([decode(raw) for raw in messages], self._dialect.name):
            size = len(group) if isinstance(group, list) else 1
            raws = messages[at : at + size]
            yield (raws[0] if size == 1 else b"[" + b",".join(raws) + b"]"), keys[at + size - 1]
            at += size

    def _write(self, target: int, fresh: Sequence[_Fresh]) -> int:
        """Move the head, write what is new, and fold again what can be; the newest message, 0 without one."""
        branch = self.session.thread.branch
        lost, left, old = [], [], list(branch.path)
        if target != branch.head:
            lost = refold.lost_by(branch, target)
            left = refold.messages_behind(branch, target) if lost else []
        self._move(target)
        new: list[tuple[int, bytes]] = []
        looks = self.session.policy.door is not None and len(fresh) <= _MOST_AT_THE_DOOR
        for group in _stretches(fresh) if looks else [fresh]:
            seqs = self._append(group)
            new += zip(seqs, (each.form for each in group), strict=True)
            if looks and group[-1].message.results:
                drive(offload(self.session.desk, seqs[-1]), self.session.desk)
        if lost:
            self._fold_again(lost, left, new, [seq for seq in old if seq not in left])
        return new[-1][0] if new else 0

    def _move(self, target: int) -> None:
        stand_at(self.session.desk, target, BY_CLIENT)

    def _append(self, fresh: Sequence[_Fresh]) -> list[int]:
        if not fresh:
            return []
        thread, counter = self.session.thread, self.session.desk.counter
        events = [Appended(counter.shape(each.message), each.message.dialect) for each in fresh]

        def drafting(now: Projection) -> list[NewEvent]:
            drafts: list[NewEvent] = []
            for each, event in zip(fresh, events, strict=True):
                parent = now.last + len(drafts) if drafts else now.head
                drafts.append(NewEvent(event, parent, thread.now(), each.message.raw, each.key))
            return drafts

        return [entry.seq for entry in thread.write(drafting)]

    def _fold_again(
        self,
        lost: Sequence[refold.LostFold],
        left: Sequence[int],
        new: Sequence[tuple[int, bytes]],
        kept: Sequence[int],
    ) -> None:
        thread = self.session.thread
        old: list[tuple[int, bytes]] = []
        for seq in left:
            items = items_of(thread.lens.words(seq) or b"{}")
            old.append((seq, b"".join(map(self._normaliser.form, items))))
        pairs, stayed = refold.paired(old, new), list(kept)
        messages = sorted({*(seq for seq in kept if isinstance(thread.branch.events[seq - 1].event, Appended)), *left})
        for fold in lost:
            cover = refold.moved(fold.event.cover, pairs, messages, stayed)
            try:
                if cover is None:
                    raise CannotCover("What it hides is not in the history that the client sent.")
                words, details = thread.lens.stand_in(fold.seq), {**fold.event.details, "again": fold.seq}
                pairs[fold.seq] = thread.fold(cover, words, kind=fold.event.kind, details=details)
            except (CannotCover, NotFound) as error:
                journal(logging.INFO, "fold dropped", thread=thread.name, fold=fold.seq, why=str(error))

    # -- what goes out ------------------------------------------------------------------------------------------------

    def _messages(self, view: View, sent: Mapping[int, Sequence[bytes]]) -> Sequence[bytes]:
        """The view's messages: the client's own bytes, except where something is hidden."""
        desk, thread = self.session.desk, self.session.thread
        binds = is_bound(desk.model)
        chunks = thread.rendering(desk.turn.dialect, binds=binds).chunks(view, thread.lens)
        out = []
        for item, chunk in zip(view.items, chunks, strict=True):
            is_own = item.kind == "message" and not item.is_touched and not (binds and item.shape.has_reasoning)
            own = sent.get(item.seq) if is_own else None
            out.append(self._endpoint.unmarked(chunk) if own is None else b",".join(own))
        written = dialects.find(desk.turn.dialect).body(out, {}, view.item(0) if view.length else None)
        return self._endpoint.open(written, AskedTurn()).messages


def _stretches(fresh: Sequence[_Fresh]) -> Iterator[Sequence[_Fresh]]:
    """Stretches that end with a tool's output, which is looked at as soon as it is there."""
    start = 0
    for at, each in enumerate(fresh, 1):
        if each.message.results or at == len(fresh):
            yield fresh[start:at]
            start = at
