"""A gateway for the length of a test, in front of whatever a test puts behind it, on real sockets."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from msgspec.structs import replace

import contextfold as cf
from contextfold.domain import Appended, decode
from contextfold.gateway import Gateway, GatewaySecrets, GatewaySettings, spaces_in
from contextfold.gateway.door import Visit
from contextfold.gateway.server import GatewayServer, bound
from contextfold.gateway.tenant_store import OpenSpace
from contextfold.gateway.tenants import space_of

SECRETS = GatewaySecrets("tok-0123456789abcdef", b"k" * 32)


@cache
def web() -> httpx.Client:
    """The client of all tests; one made anew costs more than a request. Every request has a connection of its own."""
    return httpx.Client(timeout=60, limits=httpx.Limits(max_keepalive_connections=0))


@dataclass
class House:
    """A running gateway: `url` is the base for every SDK, its token included."""

    gateway: Gateway
    port: int
    path: Path
    settings: GatewaySettings
    _loop: asyncio.AbstractEventLoop

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/{SECRETS.token}"

    def settle(self) -> None:
        """Until everything that was heard is in the store."""
        asyncio.run_coroutine_threadsafe(self.gateway.settle(), self._loop).result(60)

    def reload(self, **settings: Any) -> None:
        """Go by these settings beside those it has, as after a hang-up."""

        async def take() -> None:
            self.gateway.take(replace(self.settings, **settings))

        asyncio.run_coroutine_threadsafe(take(), self._loop).result(10)

    def occupy(self, credential: str, work: Callable[[], object]) -> None:
        """Give the one who works for a credential something to do; others of it wait for that."""

        async def ask() -> None:
            ledger = self.gateway.tenants.ledger(_space(credential))
            self._busy = asyncio.ensure_future(ledger.clerk.kept(work))

        asyncio.run_coroutine_threadsafe(ask(), self._loop).result(60)

    def until(self, is_so: Callable[[], bool]) -> None:
        """Until something is so that nobody tells."""
        longest = time.monotonic() + 60
        while not is_so():
            assert time.monotonic() < longest
            threading.Event().wait(0.01)

    @contextmanager
    def store(self, credential: str) -> Iterator[cf.Store]:
        """What the gateway kept for one credential."""
        self.settle()
        with cf.open(self.path, space=_space(credential)) as store:
            yield store

    def threads(self, credential: str, begins: str = "") -> dict[str, list[Any]]:
        """Threads by name, with the messages on their live branches as they were sent.

        `begins`: those that are named so, where several tests share a house.
        """
        with self.store(credential) as store:
            return {row.title: said(store.thread(row.title)) for row in store.threads(prefix=begins)}


def _space(credential: str) -> str:
    return space_of(Visit("POST", b"/", b"", ((b"x-api-key", credential.encode()),)), SECRETS.tenant_key)


def said(thread: cf.Thread) -> list[Any]:
    """Everything that was said on the live branch, folded or not."""
    branch = thread.branch
    seqs = [seq for seq in branch.path if isinstance(branch.events[seq - 1].event, Appended)]
    return [decode(thread.message(seq).raw) for seq in seqs]


@contextmanager
def gateway(
    path: Path,
    upstream: str,
    secrets: GatewaySecrets = SECRETS,
    *,
    open_space: OpenSpace | None = None,
    **settings: Any,
) -> Iterator[House]:
    """A gateway in a thread of its own, every provider at one address. `open_space` opens its store otherwise."""
    addresses = dict.fromkeys(("anthropic", "openai", "gemini"), upstream)
    told = GatewaySettings(port=0, upstreams={**addresses, **settings.pop("upstreams", {})}, **settings)
    listening = bound(told)
    port = 0 if told.socket else int(listening.getsockname()[1])
    app = Gateway(told, secrets, open_space or spaces_in(path, told), port=port)
    ready, started = threading.Event(), []
    failed: list[BaseException] = []

    async def main() -> None:
        started.append(asyncio.get_running_loop())
        await server.serve_gateway(listening)

    def run() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:  # noqa: BLE001  # told to the test
            failed.append(error)
        finally:
            ready.set()

    server = GatewayServer(app, ready.set)
    thread = threading.Thread(target=run, name="gateway", daemon=True)
    thread.start()
    ready.wait()
    try:
        yield House(app, port, path, told, started[0])
    finally:
        server.should_exit = True
        thread.join(60)
    assert failed == []


FORMATS: Sequence[str] = ("anthropic", "openai-chat", "openai-responses", "gemini")
