"""The strict server as tests use it: start it on the loopback interface, script it, look at what it saw, stop it."""

from __future__ import annotations

import asyncio
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .app import build
from .bill import TokenBill
from .provider import Exchange, Flavour, Strictness, Vendor, flavour_named
from .script import Step


class _Connection(H11Protocol):
    """Lets the application reach its connection, which faults break."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # narrower in uvicorn
        self.app_state = {**self.app_state, "transport": transport}
        super().connection_made(transport)


class _Server(uvicorn.Server):
    """Runs until told to stop, instead of looking ten times a second."""

    def __init__(self, config: uvicorn.Config, closing: asyncio.Event, ready: threading.Event) -> None:
        super().__init__(config)
        self._closing, self._ready = closing, ready

    async def main_loop(self) -> None:
        self._ready.set()
        await self._closing.wait()


class ServerThread:
    """One server from start to stop."""

    def __init__(self, provider: Vendor) -> None:
        self._provider = provider
        self._ready, self._closing = threading.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._error: BaseException | None = None
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run, name="contextfold-strict-server", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001  # told to whoever started the thread
            self._error = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        settings: dict[str, Any] = {"lifespan": "off", "ws": "none", "log_config": None, "log_level": "critical"}
        config = uvicorn.Config(
            build(self._provider, self._closing),
            http=_Connection,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=5,
            **settings,
        )
        await _Server(config, self._closing, self._ready).serve(sockets=[self._socket])


class StrictServer:
    """A provider on the loopback interface that refuses what real ones refuse.

    `url` is the base for every SDK; `token` is the only key it takes.
    """

    def __init__(self, provider: Vendor, port: int) -> None:
        self._provider = provider
        self.token = provider.settings.token
        self.url = f"http://127.0.0.1:{port}"

    def answer(self, *steps: Step) -> None:
        """Say these next, in this order: texts, `Say`, faults, `Held`, or functions of the request."""
        self._provider.script.add(*steps)

    def always(self, step: Step) -> None:
        """Say this whenever the script is at its end."""
        self._provider.script.end_with(step)

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """Every request so far, refused ones too."""
        return tuple(self._provider.exchanges)

    @property
    def last(self) -> Exchange:
        return self._provider.exchanges[-1]

    @property
    def refused(self) -> Sequence[Exchange]:
        """Requests that broke a rule; scripted faults are not among them."""
        return [each for each in self.exchanges if each.refused is not None and each.refused.rule != "fault"]

    @property
    def usage(self) -> TokenBill:
        """Everything billed so far."""
        return sum((each.usage for each in self.exchanges), TokenBill())

    @property
    def cost(self) -> float:
        """USD billed so far, at the catalogue's prices."""
        return sum(each.cost for each in self.exchanges)

    def forget_cache(self) -> None:
        self._provider.cache.forget()

    def forget(self) -> None:
        """Start afresh: no script, no exchanges, an empty cache. What was signed stays valid."""
        self._provider.script.clear()
        self._provider.exchanges.clear()
        self._provider.cache.forget()

    def wait_for(self, requests: int, timeout: float = 30.0) -> None:
        """Until so many requests have come to an end."""
        if not self._provider.wait_for(requests, timeout):
            raise TimeoutError(f"{len(self.exchanges)} of {requests} requests came within {timeout:g} seconds.")


@contextmanager
def strict_server(
    *,
    token: str | None = None,
    window: int | None = None,
    flavour: str | Flavour = "openai",
    trust_foreign_seals: bool = False,
    bind_prefix: bool = True,
    clock: Callable[[], float] = time.time,
    seed: bytes | None = None,
    models: Iterable[str] = (),
) -> Iterator[StrictServer]:
    """A server for the length of a `with` block.

    `window` replaces every model's own. `flavour` is that of chat completions. With `trust_foreign_seals` reasoning and
    compaction items that this server did not make are taken as valid, for recorded histories. `bind_prefix=False` is an
    account from before prefixes were checked. `seed` makes ids and signatures the same in every run. With `models` only
    these names are served, letter by letter; any other is not found.
    """
    key = seed if seed is not None else secrets.token_bytes(16)
    said = flavour_named(flavour) if isinstance(flavour, str) else flavour
    settings = Strictness(
        token or f"sk-strict-{secrets.token_urlsafe(12)}",
        window,
        said,
        trust_foreign_seals,
        bind_prefix,
        names=frozenset(models),
    )
    provider = Vendor(settings, clock, key)
    running = ServerThread(provider)
    running.start()
    try:
        yield StrictServer(provider, running.port)
    finally:
        running.stop()
