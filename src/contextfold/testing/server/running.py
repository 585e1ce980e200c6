"""A web server in a thread of its own, on a free port of the loopback interface, stopped without waiting."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .app import build
from .provider import Provider


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


class Running:
    """One server from start to stop."""

    def __init__(self, provider: Provider) -> None:
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
