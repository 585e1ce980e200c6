"""The gateway as an ASGI application: the door, a few pages of its own, turns of conversations, and everything else.

Whatever is no turn passes untouched. Errors of ours come in the shape that the client's format has for them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace

import aiohttp

from contextfold.dialects import Dialect, all_known
from contextfold.dialects.endpoint import AskedTurn, Endpoint, ProviderAddress
from contextfold.domain import LONG, encode
from contextfold.errors import BadMessage, ContextFoldError
from contextfold.listeners import HeadLimits
from contextfold.session.telemetry import journal

from .arrivals import Arrival, RefusedTurn
from .credentials import Identity
from .door import Door, TurnedAway, Visit
from .health import LIMIT, StoreHealth, readiness
from .keeper import Keeper
from .neighbours import Neighbours
from .relay import HungUp, Outgoing, Receive, Scope, Send, TooLarge, TooSlow, Upstreams, body_of, relay
from .settings import GatewaySettings
from .status import ConversationStatus, GatewayStatus, Metrics, Outage, counted
from .tenant_store import OpenSpace
from .tenants import GatewaySecrets, Tenants

HEALTH = b"/healthz"
_ACCEPTED = range(200, 300)  # statuses by which a provider shows that it knows who asks
_TOO_MANY = "Too many requests at once from this client. Wait for some."
_MOST_SHOWN = 20  # conversations, and tenants, on the page about itself
_TEXT = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
_JSON = [(b"content-type", b"application/json")]


class Gateway:
    """One listener's application. `close` when it ended; `begin_to_close` makes it say that it is not ready."""

    def __init__(
        self,
        settings: GatewaySettings,
        secrets: GatewaySecrets,
        open_space: OpenSpace,
        *,
        port: int = 0,
        health: StoreHealth | None = None,
        neighbours: Neighbours | None = None,
    ) -> None:
        self.metrics, self.health = Metrics(), health or StoreHealth()
        self._settings, self._secrets, self._port = settings, secrets, port
        self._door = self._hung(settings)
        self._upstreams = Upstreams(settings.addresses())
        self.tenants = Tenants(secrets.tenant_key, settings, open_space)
        self._neighbours = neighbours or Neighbours()
        self._keeper = Keeper(settings, self.metrics, self._upstreams, self.health, self._neighbours)
        self.is_closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        admitted = self._door.admit(scope)
        if isinstance(admitted, TurnedAway):
            self.metrics.add("turned_away_total", status=str(admitted.status))
            await _say(send, admitted.status, admitted.reason)
            return
        self.metrics.add("under_way")
        try:
            await self._served(admitted, receive, send)
        except HungUp:
            return
        finally:
            self.metrics.add("under_way", -1)

    def take(self, settings: GatewaySettings) -> None:
        """Go by other settings from now on; where it listens and its limits of size stay as they are for who is in."""
        self._settings, self._door = settings, self._hung(settings)
        self._upstreams.take(settings.addresses())
        self.tenants.take(settings)
        self._keeper.go_by(settings)

    @property
    def head_limits(self) -> HeadLimits:
        """What a client may take up before its request's head is complete; read once, when the server starts."""
        return HeadLimits(self._settings.most_head_bytes, self._settings.head_patience)

    def begin_to_close(self) -> None:
        """Say from now on that it is not ready; what is under way goes on."""
        self.is_closing = True

    def _hung(self, settings: GatewaySettings) -> Door:
        names = frozenset(name.lower() for name in settings.hosts)
        return Door(
            self._secrets.token,
            names,
            self._port,
            free=frozenset({HEALTH}),
            run_token=self._secrets.run_token,
            owners=frozenset({b"/metrics", b"/status"}),
        )

    async def standing(self) -> GatewayStatus:
        """Whether it keeps what passes, what it counted, and the conversations it worked on last."""
        outage = await self.outage()
        rows: list[ConversationStatus] = []
        for ledger in self.tenants.ledgers[:_MOST_SHOWN]:
            if self.health.known((ledger,)) is None:
                with suppress(ContextFoldError, TimeoutError):  # its store is out of order: the next look tells that
                    async with asyncio.timeout(LIMIT):
                        rows += await ledger.clerk.kept(lambda ledger=ledger: ledger.standing(_MOST_SHOWN))  # type: ignore[misc]
        newest = sorted(rows, key=lambda row: row.at, reverse=True)[:_MOST_SHOWN]
        under_way = self.metrics.value("under_way") - 1  # without this question
        counts = counted(self.metrics)
        return GatewayStatus(self._settings.mode, under_way, counts, newest, self.is_closing, outage)

    async def outage(self) -> Outage | None:
        """Why and since when nothing is kept; None where every log in use committed a write just now."""
        outage = await self.health.check(self.tenants.in_use)
        self.metrics.put("ready", int(outage is None and not self.is_closing))
        self.metrics.put("unkept_since_seconds", 0 if outage is None else int(outage.since))
        self.metrics.put("unkept_requests", 0 if outage is None else outage.requests)
        return outage

    async def settle(self) -> None:
        """Wait until everything that was heard so far is kept."""
        await self._keeper.settle()

    async def close(self) -> None:
        """Keep what was heard, then let go of stores and connections."""
        await self._keeper.settle()
        await self.health.close()
        await self._upstreams.close()
        await asyncio.get_running_loop().run_in_executor(None, self.tenants.close)
        self._neighbours.close()

    async def _served(self, visit: Visit, receive: Receive, send: Send) -> None:
        if visit.header(b"upgrade").lower() == "websocket":
            await _say(send, 426, "No WebSockets here; use HTTP.")
        elif visit.path == HEALTH:
            await _say(send, 200, "ok")
        elif visit.path == b"/readyz":
            await _say(send, *await self._readiness())
        elif visit.path == b"/metrics":
            await self.outage()
            await _say(send, 200, self.metrics.text())
        elif visit.path == b"/status" and visit.method == "GET":
            await _answer(send, 200, _JSON, encode(await self.standing()))
        elif visit.path == b"/" and visit.method in ("HEAD", "GET"):
            await _say(send, 200, "" if visit.method == "HEAD" else "contextfold gateway")
        else:
            await self._forwarded(visit, receive, send)

    async def _readiness(self) -> tuple[int, str]:
        """Whether requests may come: every log in use takes writes, as one that was just committed shows."""
        if self.is_closing:
            return 503, "closing"
        return readiness(await self.outage(), self._settings.mode)

    async def _forwarded(self, visit: Visit, receive: Receive, send: Send) -> None:
        upstream = ""
        first, _, rest = visit.path.removeprefix(b"/").partition(b"/")
        if (named := first.decode("latin-1")) in self._upstreams.names():
            # A provider that the path names before everything else, and the path without it.
            upstream, visit = named, replace(visit, path=b"/" + rest)
        elif self._settings.by_name:
            names = ", ".join(f"/{name}" for name in self._upstreams.names())
            await _say(send, 404, f"This path names no provider. Begin it with one of {names}.")
            return
        found = _turn_asked(visit)
        upstream = upstream or (_provider(visit).name if found is None else found[1].provider.name)
        endpoint = None if found is None else found[1]
        identity = self.tenants.identity(visit, upstream)
        with self.tenants.entered(identity.own) as is_in:
            if not is_in:
                await _refuse(send, endpoint, 429, "", _TOO_MANY)
                return
            try:
                body = await body_of(receive, self._settings.most_bytes, self._settings.patience)
            except TooLarge:
                words = f"The request is larger than the {self._settings.most_bytes:,} bytes that pass here."
                await _refuse(send, endpoint, 413, "", words)
                return
            except TooSlow:
                await _refuse(send, endpoint, 408, "", "The request did not arrive in time.")
                return
            if found is None:
                await self._relayed(Outgoing(upstream, visit, body), endpoint, receive, send)
            else:
                arrival = Arrival(upstream, visit, *found, body, identity.is_proven)
                await self._answered(identity, arrival, receive, send)
        for ledger in self.tenants.left():
            self.health.forget(ledger)
            await asyncio.get_running_loop().run_in_executor(None, ledger.close)

    async def _answered(self, identity: Identity, arrival: Arrival, receive: Receive, send: Send) -> None:
        """Have a turn kept in the space that it belongs to, and forwarded."""
        endpoint, asking = arrival.endpoint, None
        if identity.account or identity.is_renewed:
            with suppress(BadMessage):  # what cannot be read belongs to its very credential
                is_long = len(arrival.body) > LONG
                asking = await asyncio.to_thread(arrival.opened) if is_long else arrival.opened()
        space = await self.tenants.home(identity, arrival.visit, arrival.upstream, asking)
        with nullcontext(True) if space == identity.own else self.tenants.entered(space) as is_in:
            if not is_in:
                await _refuse(send, endpoint, 429, "", _TOO_MANY)
                return
            outgoing = await self._keeper.take(self.tenants.ledger(space), arrival)
            if isinstance(outgoing, RefusedTurn):
                await _refuse(send, endpoint, outgoing.status, outgoing.kind, outgoing.words)
            elif await self._relayed(outgoing, endpoint, receive, send) in _ACCEPTED:
                self.tenants.accept(identity)

    async def _relayed(self, outgoing: Outgoing, endpoint: Endpoint | None, receive: Receive, send: Send) -> int:
        """Forward a request; the status of the answer, or of the error that its client was told."""
        begun, start = False, time.perf_counter()

        async def sending(message: dict[str, object]) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            status = await relay(self._upstreams, outgoing, receive, sending)  # type: ignore[arg-type]  # what we send
            self.metrics.add("requests_total", provider=outgoing.upstream, status=str(status))
            seconds = round(time.perf_counter() - start, 3)
            journal(logging.INFO, "answered", upstream=outgoing.upstream, status=status, seconds=seconds)
            return status
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            late = isinstance(error, TimeoutError)
            self.metrics.add("requests_total", provider=outgoing.upstream, status="504" if late else "502")
            journal(logging.WARNING, "upstream failed", upstream=outgoing.upstream, error=type(error).__name__)
            if begun:
                raise BrokenOff from None  # nothing more can be said: the connection ends without its proper end
            told = "did not answer in time" if late else "cannot be reached, or broke off before it answered"
            await _refuse(send, endpoint, 504 if late else 502, "", f"The provider {told}. Try again.")
            return 504 if late else 502


class BrokenOff(Exception):
    """An answer that began and cannot be finished."""


def _turn_asked(visit: Visit) -> tuple[Dialect, Endpoint, AskedTurn] | None:
    for dialect in all_known():
        asked = None if dialect.endpoint is None else dialect.endpoint.asks(visit.method, visit.path)
        if dialect.endpoint is not None and asked is not None:
            return dialect, dialect.endpoint, asked
    return None


def _provider(visit: Visit) -> ProviderAddress:
    """Whose request it is where it asks for no turn: signs in the headers, then in the path."""
    known: Sequence[ProviderAddress] = [each.endpoint.provider for each in all_known() if each.endpoint is not None]
    signed = (each for each in known if each.header and visit.header(each.header))
    placed = (each for each in sorted(known, key=lambda each: not each.header) if each.paths.fullmatch(visit.path))
    return next(signed, None) or next(placed, known[0])


async def _refuse(send: Send, endpoint: Endpoint | None, status: int, kind: str, words: str) -> None:
    if endpoint is None:
        await _say(send, status, words)
    else:
        await _answer(send, status, _JSON, endpoint.refuse(status, kind, words))


async def _say(send: Send, status: int, words: str) -> None:
    await _answer(send, status, _TEXT, words.encode())


async def _answer(send: Send, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})
