"""What a web server of ours holds of a client before its request's head is complete, on real sockets."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn

from contextfold.listeners import HeadLimits, IdleConnections
from contextfold.listeners.h11_heads import h11_protocol

httptools_heads = pytest.importorskip("contextfold.listeners.httptools_heads", reason="needs httptools")

pytestmark = pytest.mark.finding("K14")

PARSERS: dict[str, Callable[[HeadLimits, IdleConnections], type[asyncio.Protocol]]] = {
    "httptools": httptools_heads.httptools_protocol,
    "h11": h11_protocol,
}
SHORT = HeadLimits(seconds=0.3, connections=8, held=256 * 1024)
LONG = HeadLimits(seconds=600)
GET = b"GET /%s HTTP/1.1\r\nhost: here\r\n\r\n"
Message = MutableMapping[str, Any]


@dataclass
class Listener:
    """A server whose application answers /slow when it may, /body when a body came, and all else at once."""

    port: int
    idle: IdleConnections
    may_answer: threading.Event
    is_asked: threading.Event
    answered: int = 0

    @contextmanager
    def client(self) -> Iterator[socket.socket]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            yield connection

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        words = b"ok"
        if scope["path"] == "/slow":
            self.is_asked.set()
            await asyncio.get_running_loop().run_in_executor(None, self.may_answer.wait, 60)
        if scope["path"] == "/body":
            words = b""
            while (message := await receive())["type"] == "http.request":
                words += message["body"]
                if not message["more_body"]:
                    break
        self.answered += 1
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-said", b"%d" % len(words))]})
        await send({"type": "http.response.body", "body": words})


@contextmanager
def listener(parser: str, limits: HeadLimits) -> Iterator[Listener]:
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    idle = IdleConnections(limits)
    app = Listener(listening.getsockname()[1], idle, threading.Event(), threading.Event())
    options: dict[str, Any] = {"http": PARSERS[parser](limits, idle), "h11_max_incomplete_event_size": limits.bytes}
    config = uvicorn.Config(app, lifespan="off", ws="none", log_config=None, log_level="critical", **options)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
    thread.start()
    try:
        yield app
    finally:
        app.may_answer.set()
        server.should_exit = True
        thread.join(60)
        listening.close()


def rest(connection: socket.socket) -> bytes:
    """Everything until the server ends the connection; a test that waits in vain fails by the socket's own limit."""
    heard = b""
    try:
        while piece := connection.recv(1 << 16):
            heard += piece
    except ConnectionResetError:
        pass
    return heard


def send(connection: socket.socket, data: bytes) -> None:
    """Send what the other side takes; it may close before all of it came."""
    with suppress(ConnectionResetError, BrokenPipeError):
        connection.sendall(data)


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    "begin", [b"G", b"GET / HTTP/1.1\r\nhost: h", b"GET / HTTP/1.1\r\nhost: here\r\nx: " + b"y" * 9_000]
)
def test_a_head_that_does_not_come_to_its_end_is_given_up(parser: str, begin: bytes) -> None:
    with listener(parser, SHORT) as server, server.client() as connection:
        send(connection, begin)
        assert rest(connection).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("parser", PARSERS)
def test_a_connection_that_says_nothing_is_ended_without_a_word(parser: str) -> None:
    with listener(parser, SHORT) as server, server.client() as connection:
        assert rest(connection) == b""


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    "flood",
    [
        b"GET /" + b"a" * 70_000,
        b"GET / HTTP/1.1\r\nx: " + b"y" * 70_000,
        b"GET / HTTP/1.1\r\n" + b"x" * 70_000,
        b"GET / HTTP/1.1\r\n" + b"x-any: yyyyyyyyyyyyyyyyyy\r\n" * 4_000,
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nhost: here\r\n\r\n",
    ],
)
def test_a_head_above_the_limit_is_refused_before_it_is_whole(parser: str, flood: bytes) -> None:
    with listener(parser, LONG) as server, server.client() as connection:
        send(connection, flood)
        assert rest(connection).startswith(b"HTTP/1.1 431 " if parser == "httptools" else b"HTTP/1.1 4")
        assert server.answered == 0


@pytest.mark.parametrize("flood", [b"\r\n" * 50_000, GET[:-2] % b"" + b"a: b\r\n" * 257 + b"\r\n"])
def test_empty_lines_and_many_headers_are_no_way_around_it(flood: bytes) -> None:
    with listener("httptools", LONG) as server, server.client() as connection:
        send(connection, flood)
        assert rest(connection).startswith(b"HTTP/1.1 431 ")
        assert server.answered == 0


@pytest.mark.parametrize("parser", PARSERS)
def test_a_head_just_below_the_limit_is_let_in(parser: str) -> None:
    with listener(parser, LONG) as server, server.client() as connection:
        send(connection, b"GET / HTTP/1.1\r\nhost: here\r\nconnection: close\r\nx: " + b"y" * 65_000 + b"\r\n\r\n")
        assert rest(connection).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("parser", PARSERS)
def test_a_body_that_nobody_wants_ends_the_connection_in_time(parser: str) -> None:
    with listener(parser, SHORT) as server, server.client() as connection:
        send(connection, b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 1000\r\n\r\nbegin")
        assert rest(connection).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("parser", PARSERS)
def test_an_unwanted_body_that_came_to_its_end_leaves_no_connection_behind(parser: str) -> None:
    with listener(parser, SHORT) as server, server.client() as connection:
        send(connection, b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 1000\r\n\r\nbegin")
        assert connection.recv(1_000).startswith(b"HTTP/1.1 200 ")
        send(connection, b"x" * 995)
        rest(connection)


@pytest.mark.parametrize("parser", PARSERS)
def test_a_few_pipelined_requests_are_all_answered(parser: str) -> None:
    with listener(parser, LONG) as server, server.client() as connection:
        last = GET[:-2] % b"last" + b"connection: close\r\n\r\n"
        send(connection, GET % b"a" + GET % b"b" + GET % b"c" + last)
        assert rest(connection).count(b"HTTP/1.1 200 ") == 4


def test_many_pipelined_requests_are_not_waited_upon() -> None:
    with listener("httptools", LONG) as server, server.client() as connection:
        send(connection, GET % b"slow" + GET % b"x" * 100)
        rest(connection)
        assert server.answered == 0


@pytest.mark.parametrize("parser", PARSERS)
def test_an_answer_under_way_is_not_cut_by_half_a_request_behind_it(parser: str) -> None:
    with listener(parser, SHORT) as server, server.client() as connection, server.client() as other:
        send(connection, GET % b"slow")
        assert server.is_asked.wait(60)
        send(connection, b"GET /")
        rest(other)  # as long as a head may take
        with server.client() as third:
            rest(third)
        server.may_answer.set()
        assert rest(connection).startswith(b"HTTP/1.1 200 ")


CHUNKED = b"POST /body HTTP/1.1\r\nhost: here\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("parser", PARSERS)
def test_a_chunked_body_and_its_trailers_are_taken(parser: str) -> None:
    with listener(parser, LONG) as server, server.client() as connection:
        send(connection, CHUNKED + b"5;a=b\r\nhello\r\n" * 20_000 + b"0\r\nx-sum: 1\r\n\r\n")
        assert b"x-said: 100000" in rest(connection)


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    "flood", [b"0\r\nx: " + b"y" * 300_000, b"0\r\n" + b"x: yyyy\r\n" * 20_000, b"5;" + b"a" * 300_000]
)
def test_trailers_and_extensions_of_chunks_have_the_same_limit(parser: str, flood: bytes) -> None:
    with listener(parser, LONG) as server, server.client() as connection:
        send(connection, CHUNKED + b"5\r\nhello\r\n" + flood)
        assert not rest(connection).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("parser", PARSERS)
def test_connections_that_wait_longest_make_room_for_new_ones(parser: str) -> None:
    limits = HeadLimits(seconds=600, connections=8)
    with listener(parser, limits) as server:
        waiting = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(40)]
        for connection in waiting[:32]:
            assert rest(connection) == b""
        send(waiting[39], GET[:-2] % b"" + b"connection: close\r\n\r\n")
        assert rest(waiting[39]).startswith(b"HTTP/1.1 200 ")
        assert len(server.idle) <= 8
        for connection in waiting:
            connection.close()


@pytest.mark.parametrize("parser", PARSERS)
def test_unfinished_heads_together_have_a_limit(parser: str) -> None:
    limits = HeadLimits(seconds=600, held=256 * 1024)
    with listener(parser, limits) as server:
        waiting = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(20)]
        for connection in waiting:
            send(connection, b"GET / HTTP/1.1\r\nx: " + b"y" * 40_000)
        for connection in waiting[:13]:
            assert rest(connection) == b""
        for connection in waiting:
            connection.close()
