"""A provider without rules: it records what arrives byte for byte and says what a test tells it, piece by piece."""

from __future__ import annotations

import socketserver
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

EVENTS = "text/event-stream"


@dataclass(frozen=True)
class Answer:
    """What to say: pieces as they are to arrive. `is_cut` ends the connection without a proper end."""

    pieces: Iterable[bytes]
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    is_cut: bool = False


@dataclass(frozen=True)
class Arrived:
    """A request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class PlainUpstream:
    """`url` is its address; `arrived` holds every request so far."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.arrived: list[Arrived] = []
        self.script: deque[Answer] = deque()
        self.always = Answer([b"{}"])

    def answer(self, *answers: Answer) -> None:
        self.script.extend(answers)


@contextmanager
def plain_upstream() -> Iterator[PlainUpstream]:
    class Server(socketserver.ThreadingTCPServer):
        daemon_threads, allow_reuse_address, block_on_close = True, True, False

    class Connection(socketserver.StreamRequestHandler):
        disable_nagle_algorithm = True

        def handle(self) -> None:
            try:
                while self._one():
                    pass
            except OSError:
                return

        def _one(self) -> bool:
            first = self.rfile.readline().decode("latin-1").split()
            if not first:
                return False
            headers: dict[str, str] = {}
            while line := self.rfile.readline().decode("latin-1").strip():
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            body = self.rfile.read(int(headers.get("content-length", 0)))
            upstream.arrived.append(Arrived(first[0], first[1], headers, body))
            return self._say(upstream.script.popleft() if upstream.script else upstream.always, first[0])

        def _say(self, answer: Answer, method: str) -> bool:
            lines = [f"HTTP/1.1 {answer.status} Said", *(f"{name}: {value}" for name, value in answer.headers.items())]
            if method == "HEAD":
                self.wfile.write("\r\n".join([*lines, "content-length: 0", "", ""]).encode())
                return True
            self.wfile.write("\r\n".join([*lines, "transfer-encoding: chunked", "", ""]).encode())
            for piece in answer.pieces:
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                self.wfile.flush()
            if answer.is_cut:
                return False
            self.wfile.write(b"0\r\n\r\n")
            return True

    server = Server(("127.0.0.1", 0), Connection)
    upstream = PlainUpstream(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield upstream
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
