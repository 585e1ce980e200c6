"""A wire between a client and PostgreSQL that counts trips and can be cut at any message."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

_READY = ord("Z")  # what a server says at the end of each trip


class Wire:
    """Listens on a port of the loopback and passes everything on to a server's socket.

    `trips` is how often the server was ready for the next question. With `cut_after`, every connection is cut when so
    many messages of the server have passed in all, before the next one reaches the client.
    """

    def __init__(self, target: Path) -> None:
        self._target = str(target)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.trips = self.messages = 0
        self.cut_after: int | None = None
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()
        self.cut()

    def cut(self) -> None:
        """Cut every connection there is."""
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()
            self._open.clear()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else each trip takes 40 ms
                far = socket.socket(socket.AF_UNIX)
                try:
                    far.connect(self._target)
                except OSError:
                    near.close()
                    far.close()
                    continue
                with self._lock:
                    self._open |= {near, far}
                for work in (self._there, self._back):
                    threading.Thread(target=work, args=(near, far), daemon=True).start()

    def _there(self, near: socket.socket, far: socket.socket) -> None:
        with suppress(OSError):
            while piece := near.recv(65536):
                far.sendall(piece)
        self._end(near, far)

    def _back(self, near: socket.socket, far: socket.socket) -> None:
        """Message by message: a byte for the kind, four for the length."""
        with suppress(OSError, EOFError):
            while True:
                head = _read(far, 5)
                rest = _read(far, int.from_bytes(head[1:], "big") - 4)
                self.messages += 1
                if self.cut_after is not None and self.messages > self.cut_after:
                    self.cut_after = None
                    break
                self.trips += head[0] == _READY  # first: whoever gets the answer may ask for the count at once
                near.sendall(head + rest)
        self._end(near, far)

    def _end(self, *both: socket.socket) -> None:
        with self._lock:
            for each in both:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()
                self._open.discard(each)


def _read(source: socket.socket, size: int) -> bytes:
    pieces = bytearray()
    while len(pieces) < size:
        piece = source.recv(size - len(pieces))
        if not piece:
            raise EOFError
        pieces += piece
    return bytes(pieces)
