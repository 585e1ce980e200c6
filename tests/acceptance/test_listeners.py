"""The gateway and the inspector hold little of whoever shows no token, and answer others meanwhile."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

import contextfold as cf

pytestmark = pytest.mark.finding("K14")

COMMANDS = {"gateway": ("serve", "--port", "0"), "inspector": ("inspect", "--port", "0", "--no-open")}
MEBI = 1 << 20
MOST_GROWTH = 64 * MEBI


@contextmanager
def started(command: tuple[str, ...], home: Path, settings: str = "") -> Iterator[tuple[int, int]]:
    """A server of ours as a process of its own: its id, and the port it listens on."""
    (home / "set.toml").write_text(settings)
    cf.open(home / "store.db").close()
    given = (*command, "--store", str(home / "store.db"), "--config", str(home / "set.toml"))
    variables = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "contextfold", *given], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=variables
    )
    assert process.stdout is not None
    try:
        found = next(match for line in process.stdout if (match := re.search(rb"127\.0\.0\.1:(\d+)", line)))
        yield process.pid, int(found[1])
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def resident(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def offer(port: int, data: bytes) -> socket.socket:
    """Send as much of it as is taken."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    with suppress(ConnectionResetError, BrokenPipeError):
        connection.sendall(data)
    return connection


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Memory is read from /proc.")
@pytest.mark.parametrize("server", COMMANDS)
def test_a_flood_of_unfinished_heads_is_neither_held_nor_in_anybodys_way(server: str, tmp_path: Path) -> None:
    with started(COMMANDS[server], tmp_path) as (process, port):
        status = httpx.get(f"http://127.0.0.1:{port}/healthz").status_code
        before = resident(process)
        many = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n" + b"a: b\r\n" * 200 + b"x: "
        held = [offer(port, many + b"y" * 60_000) for _ in range(600)]
        held += [offer(port, b"GET / HTTP/1.1\r\nx: " + b"y" * 4 * MEBI) for _ in range(20)]
        held += [offer(port, b"") for _ in range(200)]
        assert httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == status
        assert resident(process) - before < MOST_GROWTH
        for connection in held:
            connection.close()


@pytest.mark.parametrize("server", COMMANDS)
def test_a_head_above_the_limit_is_refused_by_every_server(server: str, tmp_path: Path) -> None:
    flood = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: " + b"y" * 100_000
    with started(COMMANDS[server], tmp_path) as (_, port), offer(port, flood) as connection:
        assert connection.recv(1_000).split()[1] in (b"431", b"400")


def test_how_long_a_head_may_take_is_a_setting_of_the_gateway(tmp_path: Path) -> None:
    heard: list[bytes] = []

    def listen(connection: socket.socket) -> None:
        heard.append(connection.recv(1_000))

    with started(COMMANDS["gateway"], tmp_path, "[gateway]\nhead_patience = 0.2\n") as (_, port):
        offered = [offer(port, b"GET / HTTP/1.1\r\nhost: 127"), offer(port, b"")]
        threads = [threading.Thread(target=listen, args=(each,)) for each in offered]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        for connection in offered:
            connection.close()
    assert sorted(line.split(b"\r\n")[0] for line in heard) == [b"", b"HTTP/1.1 408 Request Timeout"]
