"""A conversation's request and answer, kept on their way; and one more try where a request was too long.

Keeping never stands in the way of forwarding: what cannot be read passes as it came, and that it was not kept is
counted and written down. Only a strict gateway refuses instead. Keys pass through; nothing here looks at them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import aiohttp
from msgspec import structs

from contextfold.aio.driver import drive_async, in_turn
from contextfold.dialects.endpoint import TooManyMessages
from contextfold.dialects.held_body import HeldBody
from contextfold.errors import BadMessage, CannotFit, ContextFoldError, StoreError
from contextfold.session.telemetry import journal

from .arrivals import Arrival, RefusedTurn
from .clients_model import SummaryCall, answer_in
from .door import Visit, client_name
from .families import Asking
from .followed import RECALL_NAMES
from .health import StoreHealth
from .ledger import Ledger
from .neighbours import Neighbours
from .relay import Outgoing, Send, Upstreams
from .rounds import HeardBytes, Rounds
from .settings import ClientPolicy, GatewaySettings
from .status import Metrics, facts_of
from .turns import BusyThread, KeptTurn, OpenTurn, PartKept, when_free

_IDENTITY = ("", "identity")
_OUT_OF_ORDER, _UNREADABLE = "the store was out of order", "a request that cannot be read"
_TOO_MANY = "a request with too many messages"
_MOST_ROUNDS = 5  # times that a model may ask for what is hidden before its client is answered
_MOST_DISPLACED = 5  # times that a fold is begun again because others moved the conversation
_HELD = 2.0  # seconds for which an answer's end waits until the answer is kept
_HEAD_START = 0.001  # seconds in which a request gets on its way before somebody reads it


class Keeper:
    """Keeps the turns of all tenants."""

    def __init__(
        self,
        settings: GatewaySettings,
        metrics: Metrics,
        upstreams: Upstreams,
        health: StoreHealth,
        neighbours: Neighbours,
    ) -> None:
        self.settings, self.metrics, self._upstreams = settings, metrics, upstreams
        self._health, self._neighbours = health, neighbours
        self._pending: set[asyncio.Task[Any]] = set()

    def go_by(self, settings: GatewaySettings) -> None:
        """Other settings hold from now on."""
        self.settings = settings

    async def take(self, ledger: Ledger, arrival: Arrival) -> Outgoing | RefusedTurn:
        """Keep a request, and say what goes out for it."""
        plain = Outgoing(arrival.upstream, arrival.visit, arrival.body)
        if arrival.visit.header(b"content-encoding").lower() not in _IDENTITY:
            self.metrics.add("unread_total", why="compressed request")
            return plain
        policy = self._policy(arrival.visit)
        answer = TurnAnswer(self, ledger, arrival, plain)
        is_free = self.settings.passes_at_once(policy, len(arrival.body)) and not ledger.clerk.is_behind
        # It may go on from an answer that the provider keeps, or may have to be mended: then it is read first.
        signs = (arrival.endpoint.chain.encode(), arrival.endpoint.broken)
        if is_free and not any(sign in arrival.body for sign in signs if sign):
            answer.taking = asyncio.ensure_future(self._taken_beside(answer))
            self.later(answer.taking, ledger)
            return replace(plain, exchange=answer)
        try:
            turn = await self._taken(answer, is_strict=policy.mode == "strict")
        except BadMessage as error:
            if isinstance(error, TooManyMessages) and policy.mode == "strict":
                return RefusedTurn(413, "", str(error))
            self._unread(answer, _why_bad(error), error.with_traceback(None))  # nothing on the way is held by it
            return plain
        except Exception as error:  # noqa: BLE001  # whatever it is, the client's request is not at fault
            if policy.mode == "strict":
                self._health.missed(ledger, error)
                journal(logging.ERROR, "refused", why=_OUT_OF_ORDER, **facts_of(error))
                return RefusedTurn(503, "", "The gateway cannot keep this conversation now, and is set to be strict.")
            self._unread(answer, _OUT_OF_ORDER, error)
            return plain
        if isinstance(turn, CannotFit):
            self.metrics.add("cannot_fit_total")
            return RefusedTurn(400, "too_long", str(turn))
        return answer.outgoing()

    async def _taken(self, answer: TurnAnswer, *, is_strict: bool) -> CannotFit | None:
        """Have a request kept and made to fit; the error where it cannot be."""
        turn = await self.turned(answer, answer.take, is_strict=is_strict)
        if isinstance(turn, CannotFit):
            return turn
        self.metrics.add("turns_total", client=turn.client)
        if turn.fitted is not None and turn.fitted.report.folds:
            report = turn.fitted.report
            await answer.ledger.clerk.kept(_nothing)  # who folds next must know of this fold, also after a crash
            self.metrics.add("folds_total", len(report.folds), client=turn.client)
            self.metrics.add("tokens_hidden_total", max(0, report.before - report.after), client=turn.client)
        return None

    async def turned(
        self,
        answer: TurnAnswer,
        take: Callable[[], KeptTurn | OpenTurn | BusyThread | PartKept | CannotFit],
        *,
        is_strict: bool,
    ) -> KeptTurn | CannotFit:
        """A turn as it goes out. What is worked out, or asked of a model, on the way holds up nobody else."""
        ledger = answer.ledger

        async def run(work: Callable[[], Any]) -> Any:
            if is_strict:
                return await ledger.clerk.kept(work)
            found = await ledger.clerk.ahead(work, lambda error: self._unread(answer, _OUT_OF_ORDER, error))
            if isinstance(found, PartKept):
                await ledger.clerk.kept(_nothing)  # others may write only once this part is on the disk
            return found

        for _ in range(_MOST_DISPLACED):
            found = await when_free(run, take)
            if isinstance(found, OpenTurn):
                found = await self._folded(answer, found, run)
            if isinstance(found, CannotFit):
                return found
            assert isinstance(found, KeptTurn)  # noqa: S101  # it is neither busy nor open any more
            if not found.is_displaced:
                answer.goes_on(found)
                return found
        raise StoreError("Other gateways moved this conversation while it was folded. Send the request again.")

    async def _folded(
        self, answer: TurnAnswer, opened: OpenTurn, run: Callable[[Callable[[], Any]], Any]
    ) -> KeptTurn | CannotFit:
        """Carry out what the steps of a turn ask for; the conversation is nobody else's meanwhile."""
        thread = opened.turn.thread
        try:
            writer = thread.writer
            with nullcontext() if writer is None else writer.lent(answer.summary_call(self._upstreams)):
                fitted = await drive_async(opened.steps, thread.session.desk, in_turn(run), opened.effect)
        except CannotFit as error:
            return error
        finally:
            answer.ledger.free(opened.turn)
        return structs.replace(opened.turn, fitted=fitted)

    async def _taken_beside(self, answer: TurnAnswer) -> None:
        """Have a request kept that is on its way already, since nothing of it will be changed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_HEAD_START):
                await answer.is_over.wait()
        answer.in_line.set()
        try:
            await self._taken(answer, is_strict=False)
        except Exception as error:  # noqa: BLE001  # the client's request is not at fault, and was sent
            self._unread(answer, _why_bad(error) if isinstance(error, BadMessage) else _OUT_OF_ORDER, error)

    async def settle(self) -> None:
        """Wait until everything that was heard is kept."""
        while self._pending:
            await asyncio.wait(self._pending)

    def later(self, keeping: asyncio.Task[Any], ledger: Ledger) -> None:
        """Let something be kept while nobody waits for it; its ledger stays open for so long."""
        ledger.clerk.expect(keeping)
        self._pending.add(keeping)
        keeping.add_done_callback(self._pending.discard)

    def _unread(self, answer: TurnAnswer, why: str, error: Exception) -> None:
        is_bad = why in (_UNREADABLE, _TOO_MANY)
        outage = None if is_bad else self._health.missed(answer.ledger, error, int(not answer.is_missed))
        answer.is_missed = True
        self.metrics.add("unread_total", why=why)
        known = {} if outage is None else {"since": outage.began, "requests": outage.requests}
        journal(logging.WARNING, "not kept", why=why, **known, **facts_of(error))
        answer.ledger.missed(why)

    def _policy(self, visit: Visit) -> ClientPolicy:
        return self.settings.policy_of(client_name(visit, "", "").client, "")

    def _is_strict(self, visit: Visit) -> bool:
        return self._policy(visit).mode == "strict"

    async def kept(self, answer: TurnAnswer, error: BaseException | None) -> None:
        """Have an answer kept: before the client has its end where the gateway is strict or not alone, else soon after.

        In any case it stands in line, behind its request, before its client can say anything more.
        """
        answer.is_over.set()
        if answer.taking is not None:
            await answer.in_line.wait()
        keeping = asyncio.ensure_future(self._keep(answer, error))
        if self._is_strict(answer.visit):
            await keeping
            return
        self.later(keeping, answer.ledger)
        if error is None and (answer.ledger.kept_in.is_served or self._neighbours.are_there):
            _, waiting = await asyncio.wait({keeping}, timeout=_HELD)
            if waiting:
                journal(logging.WARNING, "answer let go before it was kept", seconds=_HELD)

    async def _keep(self, answer: TurnAnswer, error: BaseException | None) -> None:
        clerk = answer.ledger.clerk
        try:
            await when_free(clerk.kept, lambda: answer.write(error))
            if answer.taking is not None and not answer.is_written:  # its request waits for a fold of others
                await answer.taking
                await when_free(clerk.kept, lambda: answer.write(error))
        except Exception as raised:
            self._unread(answer, "an answer that could not be kept", raised)
            if self._is_strict(answer.visit):
                raise


def _why_bad(error: BadMessage) -> str:
    """Why a request was not kept that is at fault itself."""
    return _TOO_MANY if isinstance(error, TooManyMessages) else _UNREADABLE


def _nothing() -> None:
    """Waits in line, and is done when all before it is on the disk."""


class TurnAnswer:
    """The answer to one turn: told what comes back, and asked once whether to try again."""

    def __init__(self, keeper: Keeper, ledger: Ledger, arrival: Arrival, plain: Outgoing) -> None:
        self.ledger, self.visit = ledger, arrival.visit
        self.taking: asyncio.Task[None] | None = None  # where the request is kept while it is on its way
        self.is_over, self.in_line = asyncio.Event(), asyncio.Event()  # all was heard; the clerk was asked to take it
        self.is_written = self.is_missed = False
        self._keeper, self._arrival, self._plain = keeper, arrival, plain
        self._asking: Asking | None = None
        self._kept: tuple[Asking, KeptTurn] | None = None
        self._heard = HeardBytes()
        self._sent: bytes | HeldBody = plain.body  # what went out
        self._further: list[bytes] = []  # what was asked and answered between us and the model
        self._rounds, self._was_retried = 0, False
        self._opened = 0  # how often the store had been opened when the request was kept

    def take(self) -> KeptTurn | OpenTurn | BusyThread | PartKept | CannotFit:
        """Keep the request. Belongs on the clerk's thread."""
        arrival = self._arrival
        if self._asking is None:
            self._asking = arrival.opened(is_sent=self.taking is not None)
        found = self.ledger.take(self._asking)
        self._opened = self.ledger.kept_in.opened
        if isinstance(found, KeptTurn):
            self.goes_on(found)  # here, since its answer may be next in line
        return found

    def goes_on(self, turn: KeptTurn) -> None:
        """The request is kept, and what goes out for it is known."""
        assert self._asking is not None  # noqa: S101  # it was taken
        self._kept = self._asking, turn

    def summary_call(self, upstreams: Upstreams) -> SummaryCall:
        """The request as something by which its model can be asked for a summary."""
        assert self._asking is not None  # noqa: S101  # it was taken
        arrival, most = self._arrival, self._keeper.settings.most_answer_bytes
        model = self._asking.envelope.model
        return SummaryCall(upstreams, self._plain, arrival.dialect, arrival.endpoint, arrival.asked, model, most)

    def outgoing(self) -> Outgoing:
        """What goes out, remembered for the log; the answer that it goes on from is called as its provider calls it."""
        self._sent = self._body()
        chain = "" if self._asking is None else self._asking.envelope.chain
        if chain and (own := self.ledger.own_ids.get(chain)):
            whole = self._sent if isinstance(self._sent, bytes) else self._sent.whole
            self._sent = self._arrival.endpoint.going_on_from(whole, own)
        return replace(self._plain, body=self._sent, exchange=self)

    def _body(self) -> bytes | HeldBody:
        """The client's own bytes where nothing had to change."""
        if self._kept is None:
            return self._plain.body
        asking, turn = self._kept
        if turn.fitted is None or (self.taking is not None and not self._was_retried):
            return self._plain.body
        messages, output = turn.fitted.messages, turn.fitted.output
        if turn.may_fold and asking.endpoint.broken and asking.endpoint.broken in self._plain.body:
            sent = asking.envelope.messages if messages is None else messages
            mended = asking.endpoint.mended(sent)
            messages = messages if mended == list(sent) else mended
        tools, system = turn.fitted.tools, turn.fitted.system
        if messages is None and output is None and not system:
            return self._plain.body
        return asking.endpoint.close(asking.envelope, messages, output, tools=tools, system=system)

    async def hands_on(self, upstreams: Upstreams, answer: aiohttp.ClientResponse, send: Send) -> bool:
        """Several answers become one where the model may ask for what is hidden."""
        splice = self._arrival.endpoint.splice
        fitted = None if self._kept is None else self._kept[1].fitted
        if splice is None or fitted is None or not fitted.tools:
            return False
        await Rounds(upstreams, self, splice(RECALL_NAMES), self._arrival.dialect.name, send).hand_on(answer)
        return True

    async def next_round(self, reply: Mapping[str, Any] | None) -> Outgoing | None:
        """The request that goes on from an answer which only asks for what is hidden; None for any other."""
        self._rounds += 1
        if reply is None or self._kept is None or self._rounds > _MOST_ROUNDS:
            return None
        asking, turn = self._kept
        fitted = turn.fitted
        assert fitted is not None  # noqa: S101  # tools of ours were offered
        recalled = await when_free(self.ledger.clerk.kept, lambda: self.ledger.recalled(turn, reply))
        further = recalled.messages
        if further is None:
            return None
        self._keeper.metrics.add("recalls_total", client=turn.client)
        self._further += further
        # The same request with what the model asked for and was answered behind it.
        sent = [*(fitted.messages or asking.envelope.messages), *self._further]
        tools, system = fitted.tools, fitted.system
        body = asking.endpoint.close(asking.envelope, sent, fitted.output, tools=tools, system=system)
        return replace(self._plain, body=body, exchange=None)

    def goes_by(self, shown: str, own: str) -> None:
        """Remember what the provider calls an answer whose client calls it otherwise."""
        self.ledger.remember(shown, own)

    def began(self, status: int, headers: Mapping[str, str]) -> None:
        encoding = headers.get("content-encoding", "").lower()
        is_stream = "event-stream" in headers.get("content-type", "")
        self._heard.begin(is_stream=is_stream, is_deaf=status >= 400 or encoding not in _IDENTITY)
        if encoding not in _IDENTITY:
            self._keeper.metrics.add("unread_total", why="compressed answer")

    def heard(self, piece: bytes) -> None:
        if not self._heard.is_deaf and not self._heard.hear(piece, self._keeper.settings):
            self._keeper.metrics.add("unread_total", why="an answer that is too long")

    async def ended(self, error: BaseException | None) -> None:
        if not self._heard.is_deaf:
            await self._keeper.kept(self, error)

    async def again(self, status: int, refusal: bytes) -> Outgoing | None:
        if self._was_retried or not self._arrival.endpoint.overflows(status, refusal):
            return None
        if self.taking is not None:
            await self.taking
        if self._kept is None or not self._kept[1].may_fold:
            return None
        self._was_retried = True
        before = self._sent
        asking, turn = self._kept
        told = refusal.decode("utf-8", "replace")
        keeper, take = self._keeper, partial(self.ledger.take_again, turn, asking, told)
        turning = asyncio.ensure_future(keeper.turned(self, take, is_strict=True))
        keeper.later(turning, self.ledger)
        try:
            found = await asyncio.shield(turning)  # a fold that has begun is ended, also for a client that hangs up
        except ContextFoldError:
            return None  # the provider's own refusal says best what is wrong
        if isinstance(found, CannotFit) or (again := self.outgoing()).body == before:
            return None
        self._keeper.metrics.add("retries_total")
        return again

    def write(self, error: BaseException | None) -> BusyThread | PartKept | None:
        """Keep what was heard, as far as it may be sent back, once its request is. Belongs on the clerk's thread."""
        if self._kept is None:
            return None
        asking, turn = self._kept
        alone = not self._further
        if (
            self._opened != self.ledger.kept_in.opened
        ):  # the store failed meanwhile: the request is found there, or kept anew
            again = self.ledger.take(structs.replace(asking, is_sent=True))
            if isinstance(again, OpenTurn):
                self.ledger.free(again.turn)
                again = again.turn
            if not isinstance(again, KeptTurn):
                return again if isinstance(again, BusyThread | PartKept) else None
            turn, alone = again, False
        heard = self._heard
        found = answer_in(heard.pieces, self._arrival.dialect.name, is_stream=heard.is_stream, error=error)
        busy = None if found is None else self.ledger.answered(turn, found, self._sent, is_alone=alone)
        self.is_written = busy is None
        return busy
