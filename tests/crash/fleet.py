"""Several gateways on one store, as people run them: each a process of its own, killed, paused and started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from contextfold.gateway import secrets_in
from contextfold.gateway.door import Visit
from contextfold.gateway.tenants import space_of


class Fleet:
    """Gateways by number, each on a port that it keeps when it is started again."""

    def __init__(self, state: Path, store: str, upstream: str, count: int, settings: str = "") -> None:
        self.store, self._state = store, state
        providers = "".join(f'{name} = "{upstream}"\n' for name in ("anthropic", "openai", "gemini"))
        self._config = state / "settings.toml"
        self._config.write_text(f"[gateway]\n{settings}\n[gateway.upstreams]\n{providers}", "utf-8")
        self._ports = [_free_port() for _ in range(count)]
        self._processes: list[subprocess.Popen[str] | None] = [None] * count
        self._lock = threading.Lock()
        self._starting: threading.Thread | None = None
        self.kills = 0

    def __len__(self) -> int:
        return len(self._ports)

    def url(self, number: int) -> str:
        """The base of every request to a gateway, its token included."""
        return f"http://127.0.0.1:{self._ports[number]}/{secrets_in(self._state / 'contextfold').token}"

    def space(self, key: str) -> str:
        """The space of the store that holds the conversations of whoever has this key."""
        tenant = secrets_in(self._state / "contextfold").tenant_key
        return space_of(Visit("POST", b"/", b"", ((b"x-api-key", key.encode()),)), tenant)

    def start(self, number: int) -> None:
        """Start a gateway, and wait until it listens."""
        where = ("--port", str(self._ports[number]), "--store", self.store)
        environment = {**os.environ, "XDG_STATE_HOME": str(self._state), "CONTEXTFOLD_CONFIG": str(self._config)}
        command = [sys.executable, "-m", "contextfold", "serve", *where]
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=self._state
        )
        assert process.stdout is not None
        assert process.stdout.readline(), "the gateway did not start"
        self._processes[number] = process

    def kill(self, number: int) -> None:
        """End a gateway as a crash would, and start it again meanwhile; while another one starts nobody is killed."""
        with self._lock:
            if self._starting is not None and self._starting.is_alive():
                return
            self._end(number, signal.SIGKILL)
            self.kills += 1
            self._starting = threading.Thread(target=self.start, args=(number,))
            self._starting.start()

    def pause(self, number: int) -> None:
        """Stop a gateway where it is; nobody notices but those who wait for it."""
        process = self._processes[number]
        assert process is not None
        process.send_signal(signal.SIGSTOP)

    def resume(self, number: int) -> None:
        process = self._processes[number]
        assert process is not None
        process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End every gateway as a user does: what it heard is kept."""
        if self._starting is not None:
            self._starting.join()
        for number in range(len(self)):
            self._end(number, signal.SIGTERM)

    def _end(self, number: int, how: signal.Signals) -> None:
        process, self._processes[number] = self._processes[number], None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
            process.send_signal(how)
        process.wait(60)
        if process.stdout is not None:
            process.stdout.close()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def fleet(state: Path, store: str, upstream: str, count: int, settings: str = "") -> Iterator[Fleet]:
    """So many gateways for the length of a test."""
    gateways = Fleet(state, store, upstream, count, settings)
    try:
        starting = [threading.Thread(target=gateways.start, args=(number,)) for number in range(count)]
        for each in starting:
            each.start()
        for each in starting:
            each.join()
        yield gateways
    finally:
        gateways.close()
