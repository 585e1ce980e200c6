"""The inspector on a socket of this machine, until it is told to stop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from contextfold.errors import BadConfiguration
from contextfold.listeners import HeadLimits, limited_http

from .app import Inspector

HOST, PORT = "127.0.0.1", 8788
_GRACE = 2  # seconds in which answers may finish


def listening_on(port: int) -> socket.socket:
    """A socket of the loopback interface; another free port where the usual one is taken."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
    except OSError as error:
        found.close()
        raise BadConfiguration(
            f"The inspector cannot listen on {HOST}:{port} ({error.strerror or error}). Choose another with --port."
        ) from error
    return found


class InspectorServer(uvicorn.Server):
    """A web server around one inspector; says when it is ready."""

    def __init__(
        self, inspector: Inspector, ready: Callable[[], None] = lambda: None, *, limits: HeadLimits | None = None
    ) -> None:
        options: dict[str, Any] = {"lifespan": "off", "ws": "none", "log_config": None, "log_level": "critical"}
        options |= limited_http(limits or HeadLimits())
        config = uvicorn.Config(
            inspector,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
            **options,
        )
        super().__init__(config)
        self._inspector, self._tell_ready = inspector, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._tell_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._inspector.close()
        await super().shutdown(sockets)


def serve(inspector: Inspector, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serve in this thread until the process is told to stop."""
    asyncio.run(InspectorServer(inspector, ready).serve(sockets=[listening]))
