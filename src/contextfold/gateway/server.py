"""The gateway on a socket: bound before anything is printed, stopped without losing what was heard."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn

from contextfold.errors import BadConfiguration, ContextFoldError
from contextfold.listeners import limited_http
from contextfold.session.telemetry import journal

from .app import Gateway
from .freed_memory import keep_large_blocks_apart
from .relay import Receive, Scope, Send
from .settings import GatewaySettings

AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

_BACKLOG = 2_048
_SWITCH = 0.0005  # seconds: a fold that is being computed lets requests pass ten times as often as usual
_GRACE = 30  # seconds in which requests may finish when the gateway stops


def bound(settings: GatewaySettings) -> socket.socket:
    """A socket to listen on, nobody else's; a socket file is its owner's alone."""
    settings.check_reach()
    try:
        if settings.socket:
            return _file(Path(settings.socket))
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        # By its protocol's name: else the loop leaves Nagle's algorithm on, which costs 40 ms a request.
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((settings.host, settings.port))
    except OSError as error:
        place = settings.socket or f"{settings.host}:{settings.port}"
        raise BadConfiguration(
            f"The gateway cannot listen on {place} ({error.strerror or error}). Choose another with --port, or stop "
            f"what listens there."
        ) from error
    return found


def _file(path: Path) -> socket.socket:
    if path.is_socket():
        path.unlink()
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    found.bind(str(path))
    path.chmod(0o600)
    return found


class GatewayServer(uvicorn.Server):
    """A web server around one gateway; `serve_gateway` ends when it is told to stop and all is kept."""

    def __init__(
        self,
        gateway: Gateway,
        ready: Callable[[], None] = lambda: None,
        *,
        page: AsgiApp | None = None,
        reload: Callable[[], GatewaySettings] | None = None,
        ending: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`page` is asked instead of the gateway where something stands in front of it; it passes on the rest.

        `reload` gives the settings as they are now, on SIGHUP; `ending` stops whatever else stops when this does.
        """
        options: dict[str, Any] = {"lifespan": "off", "ws": "none", "log_config": None, "log_level": "critical"}
        options |= limited_http(gateway.head_limits)
        super().__init__(
            uvicorn.Config(
                page or gateway,
                access_log=False,
                server_header=False,
                date_header=False,
                backlog=_BACKLOG,
                timeout_graceful_shutdown=_GRACE,
                **options,
            )
        )
        self._gateway, self._tell_ready = gateway, ready
        self._reload, self._ending = reload, ending

    def _reloaded(self) -> None:
        """Settings that cannot be read change nothing."""
        try:
            if self._reload is not None:
                self._gateway.take(self._reload())
                journal(logging.INFO, "settings read again")
        except ContextFoldError as error:
            journal(logging.ERROR, "settings stay as they were", why=str(error))

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop in good order when asked to; a stop that succeeds is no failure."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        if self._reload is not None and hasattr(signal, "SIGHUP"):
            before[signal.SIGHUP] = signal.signal(signal.SIGHUP, lambda *_: self._reloaded())
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._tell_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._gateway.begin_to_close()
        if self._ending is not None:
            await self._ending()
        await super().shutdown(sockets)

    async def serve_gateway(self, listening: socket.socket) -> None:
        """Serve until stopped, then keep what was heard."""
        try:
            await self.serve(sockets=[listening])
        finally:
            await self._gateway.close()
            with suppress(OSError):
                listening.close()


def serve(server: GatewayServer, listening: socket.socket) -> None:
    """Serve in this thread until the process is told to stop."""
    sys.setswitchinterval(_SWITCH)
    keep_large_blocks_apart()
    gc.freeze()  # what is loaded by now stays: a collection, for which every request waits, need not look at it
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    with suppress(ImportError):
        import uvloop  # noqa: PLC0415  # the faster loop, not to be had on every system

        loop_factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(server.serve_gateway(listening))


@contextmanager
def beside(gateway: Gateway, listening: socket.socket) -> Iterator[None]:
    """A gateway in a thread of its own for as long as something else runs; all is kept when it ends."""
    ready, failed = threading.Event(), list[BaseException]()
    server = GatewayServer(gateway, ready.set)

    def run() -> None:
        try:
            serve(server, listening)
        except BaseException as error:  # noqa: BLE001  # told to whoever started it
            failed.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="gateway", daemon=True)
    thread.start()
    ready.wait()
    try:
        if not failed:
            yield
    finally:
        server.should_exit = True
        thread.join(_GRACE + 10)
    if failed:
        raise failed[0]
