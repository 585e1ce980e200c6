"""What can befall the store under a running gateway: faults that begin, and end, when a test says so."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from contextfold.logs import open_sqlite
from contextfold.store import Store
from tests.crash.disk import Disk, Fault, failing, full_disk, lost_fsync
from tests.postgres_server import PostgresServer
from tests.unit.logs.postgres.proxy import Wire

HOLDER = """
import apsw, sys
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
print(flush=True)
input()
"""


@dataclass(frozen=True)
class StoreFault:
    """`is_passing`: the store can be used again before anybody ends it. `blocks`: a write waits instead of failing."""

    begin: Callable[[], object]
    end: Callable[[], object] = lambda: None
    is_passing: bool = False
    blocks: bool = False


def failed_write() -> Exception:
    return apsw.IOError("5: write failed")


def read_only() -> Exception:
    return apsw.ReadOnlyError("30: read-only file system")


class DiskStore:
    """A store file behind a link, on a disk that can fail."""

    def __init__(self, folder: Path) -> None:
        self.disk = Disk()
        self.real, self.other, self.away = folder / "one", folder / "two", folder / "away"
        self.real.mkdir()
        self.link = folder / "current"
        self.link.symlink_to(self.real)
        self.path = self.link / "store.db"
        self._file = self.real / "store.db"
        self._holder: subprocess.Popen[str] | None = None

    def open(self, space: str, *, create: bool = True) -> Store:
        return Store(open_sqlite(self.path, space=space, create=create, vfs=self.disk.name))

    def faults(self) -> Mapping[str, StoreFault]:
        file, moved = self._file, self.away
        return {
            "fsync of the WAL fails": self._injected(failing("sync", 1, lost_fsync, "-wal")),
            "writes fail": self._injected(failing("write", 1, failed_write)),
            "the disk is full": self._injected(failing("write", 1, full_disk)),
            "the disk is read-only": self._injected(failing("write", 1, read_only)),
            "the file is moved away": StoreFault(lambda: file.rename(moved), lambda: self._put_back(moved)),
            "the file is replaced by another": StoreFault(lambda: self._replace(), lambda: self._put_back(moved)),
            "the folder is moved away": StoreFault(lambda: self.real.rename(moved), lambda: self._return()),
            "the link leads elsewhere": StoreFault(lambda: self._switch(self.other), lambda: self._switch(self.real)),
            "the WAL is removed": StoreFault(lambda: self._beside("-wal").unlink(), is_passing=True),
            "the shared memory is removed": StoreFault(lambda: self._beside("-shm").unlink(), is_passing=True),
            "another process holds the lock": StoreFault(self._hold, self._let_go, blocks=True),
        }

    def _injected(self, fault: Fault) -> StoreFault:
        def strike(what: Fault | None) -> None:
            self.disk.fault = what

        return StoreFault(lambda: strike(fault), lambda: strike(None))

    def _beside(self, suffix: str) -> Path:
        return self.real / f"store.db{suffix}"

    def _replace(self) -> None:
        self._file.rename(self.away)
        self._file.write_bytes(b"something else stands here now" * 200)

    def _put_back(self, moved: Path) -> None:
        moved.replace(self._file)

    def _return(self) -> None:
        self.away.rename(self.real)

    def _switch(self, to: Path) -> None:
        self.other.mkdir(exist_ok=True)
        new = self.link.with_name("new")
        new.symlink_to(to)
        new.replace(self.link)

    def _hold(self) -> None:
        command = [sys.executable, "-c", HOLDER, str(self._file)]
        self._holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._holder.stdout is not None
        self._holder.stdout.readline()

    def _let_go(self) -> None:
        assert self._holder is not None
        self._holder.communicate("\n", timeout=60)


def server_faults(
    server: PostgresServer, wire: Wire, run: Callable[[str], None], schema: str
) -> Mapping[str, StoreFault]:
    """`run` carries out a statement as a superuser, beside the wire."""

    def read_only_server(is_on: str) -> None:
        run(f"ALTER SYSTEM SET default_transaction_read_only = {is_on}")
        run("SELECT pg_reload_conf()")
        wire.cut()  # settings reach sessions that begin

    return {
        "the server is stopped": StoreFault(server.stop, server.start),
        "the server is killed": StoreFault(server.kill, server.start),
        "the server hangs": StoreFault(server.freeze, server.thaw, blocks=True),
        "connections are cut": StoreFault(wire.cut, is_passing=True),
        "the server takes no writes": StoreFault(lambda: read_only_server("on"), lambda: read_only_server("off")),
        "the tables are gone": StoreFault(
            lambda: run(f"ALTER SCHEMA {schema} RENAME TO {schema}_gone"),
            lambda: run(f"ALTER SCHEMA {schema}_gone RENAME TO {schema}"),
        ),
    }


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """A file system of its own, where whoever runs the tests may mount one; else `OSError`."""
    folder = Path(tempfile.mkdtemp(prefix="contextfold-disk-", dir="/tmp"))  # sockets have short paths
    mount, options = shutil.which("mount"), f"size={megabytes}m,mode=0755"
    command = [mount or "", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    try:
        if mount is None or subprocess.run(command, check=False, capture_output=True).returncode:
            raise OSError("no file system can be mounted here")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=False)
    finally:
        folder.rmdir()


def fill(ballast: Path) -> None:
    """Leave no byte on the disk."""
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1 << 8, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
