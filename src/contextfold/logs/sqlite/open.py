"""Opening a store file: made on first use, checked on every other, changed only when all is well.

SQLite would recover, lock or create files beside a database it merely opens. So whether a store may live at a path, and
whose file it is, is found out before, by reading its first bytes.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from random import random
from time import monotonic, sleep  # noqa: TID251  # SQLite tells of no event to wait for
from urllib.parse import quote

import apsw

from contextfold.errors import Corrupt, NotFound, NotOurs, ReadOnly, StoreError, TooNew
from contextfold.logs.entries import Salts

from . import catalogue
from .database import Database, translated
from .derived import DerivedTable
from .log import SqliteLog
from .read_only import ReadOnlyDatabase
from .schema import (
    APPLICATION_ID,
    MIGRATIONS,
    PAGE_SIZE,
    VERSION,
    identity_in,
    migrate,
    objects_of,
    version_in,
    version_of,
)

_MAGIC = b"SQLite format 3\x00"
_HEADER = 100
_MOUNTS = Path("/proc/self/mountinfo")

# SQLite's WAL needs memory shared between processes, which these cannot give; some also lie about locks.
_NETWORKED = frozenset(
    (
        *("9p", "afp", "afs", "beegfs", "ceph", "cifs", "davfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs"),
        *("nfs", "nfs3", "nfs4", "ocfs2", "orangefs", "smb2", "smb3", "smbfs", "webdav"),
        *("fuse.gcsfuse", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
    )
)


def checked(path: str | os.PathLike[str], *, create: bool) -> tuple[Path, bool]:
    """The real path, and whether a store is to be made there; raises what stands against it."""
    given = Path(path)
    if given.is_symlink() and not given.exists():
        raise NotFound(f"{given} is a link that leads nowhere. Remove it, or make the file it names.")
    real = given.resolve()
    refuse_network(real.parent)
    try:
        facts = real.stat()
    except FileNotFoundError:
        return real, _must_be_made(real, create)
    except OSError as error:
        raise StoreError(
            f"{real} cannot be looked at ({error.strerror}). Check the path and its permissions."
        ) from error
    _refuse_odd_files(real, facts)
    if facts.st_size == 0 and create:
        return real, True
    _refuse_strangers(real)
    return real, False


def _must_be_made(real: Path, create: bool) -> bool:
    if not create:
        raise NotFound(f"There is no store at {real}. Check the path, or allow it to be made.")
    if not real.parent.is_dir():
        raise NotFound(f"There is no folder {real.parent} to make a store in. Make the folder first.")
    return True


def _refuse_odd_files(real: Path, facts: os.stat_result) -> None:
    if stat.S_ISDIR(facts.st_mode):
        raise NotOurs(f"{real} is a folder. Name a file in it.")
    if not stat.S_ISREG(facts.st_mode):
        raise NotOurs(f"{real} is not an ordinary file. Name one.")
    if facts.st_nlink > 1 and not _finish_backup(real, facts):
        # Each name would get a WAL of its own, and the two would overwrite each other's pages.
        raise StoreError(f"{real} has {facts.st_nlink} names (hard links), which would damage it. Keep one of them.")


def _finish_backup(real: Path, facts: os.stat_result) -> bool:
    """Remove the second name that a backup has while it gets its own, if that was the end of its process."""
    partial = real.with_name(real.name + ".partial")
    if facts.st_nlink != 2 or not partial.exists() or not partial.samefile(real):
        return False
    partial.unlink()
    return True


def _refuse_strangers(real: Path) -> None:
    try:
        with real.open("rb") as file:
            header = file.read(_HEADER)
    except PermissionError as error:
        raise ReadOnly(f"{real} may not be read by this user. Check its permissions.") from error
    except OSError as error:
        raise StoreError(f"{real} cannot be read ({error.strerror}). Check the disk.") from error
    if not header.startswith(_MAGIC) or int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise NotOurs(f"{real} is not a contextfold store, or its first page is damaged. Choose another path.")
    refuse_newer(real, version_in(int.from_bytes(header[60:64], "big")))


def refuse_foreign_wal(real: Path, seen: int) -> None:
    """SQLite takes any WAL that stands beside a file; `seen` is the `user_version` it shows with it."""
    with real.open("rb") as file:
        own = identity_in(int.from_bytes(file.read(_HEADER)[60:64], "big"))
    if own and own != identity_in(seen):
        raise Corrupt(
            f"{real}-wal belongs to another file. Nothing was changed: move it away, or restore a backup of both."
        )


def refuse_newer(real: Path, version: int) -> None:
    if version > VERSION:
        raise TooNew(f"{real} has format {version}, and this contextfold knows up to {VERSION}. Update contextfold.")


def refuse_network(folder: Path, mounts: Path = _MOUNTS) -> None:
    """Where the system tells how a folder is mounted (Linux), refuse what is not a local disk."""
    kind = mount_kind(folder, mounts)
    if kind in _NETWORKED:
        raise StoreError(f"{folder} is on a network file system ({kind}), where SQLite loses data. Use a local disk.")


def mount_kind(folder: Path, mounts: Path = _MOUNTS) -> str:
    """The kind of file system a folder is on, empty when the system does not tell."""
    try:
        device = folder.stat().st_dev
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    number = f"{os.major(device)}:{os.minor(device)}"
    # 36 35 98:0 <root> <mount point> options [tags...] - kind source options
    for line in reversed(lines):
        fields = line.split()
        if len(fields) > 2 and fields[2] == number and "-" in fields:
            return fields[fields.index("-") + 1]
    return ""


BUSY_SECONDS = 30.0
SHORT_WAIT, LONG_WAIT, SHORT_WAITS = 0.0005, 0.02, 2_000  # seconds at most; the short ones first, this many
CHECKPOINT_BYTES = 450 * 16_384  # of WAL; see docs/storage.md

_WAL_RESET_BUG = range(3_007_000, 3_051_003)


def open_sqlite(
    path: str | os.PathLike[str],
    *,
    space: str = "default",
    create: bool = True,
    read_only: bool = False,
    derived: Sequence[DerivedTable] = (),
    salts: Salts = os.urandom,
    vfs: str | None = None,
) -> SqliteLog:
    """The log in this file, made on first use with mode 0600.

    `read_only` never writes, not even to bring an older file up to date. `derived` are tables kept in step with the
    events; `vfs` names another SQLite VFS, as fault tests do.
    """
    real, is_new = checked(path, create=create and not read_only)
    _warn_of_old_library()
    if read_only:
        return SqliteLog(_look_at(real, vfs), space=space, salts=salts)
    made = is_new and _make_file(real)
    try:
        connection = _connect(str(real), vfs, _TO_WRITE)
        try:
            _prepare(connection, real)
            given = os.path.abspath(path)  # noqa: PTH100  # links in it are not followed: they may be switched
            return SqliteLog(Database(connection, str(real), given), space=space, salts=salts, derived=derived)
        except BaseException:
            connection.close()
            raise
    except BaseException:
        if made and real.stat().st_size == 0:
            real.unlink()
        raise


def _warn_of_old_library() -> None:
    number = apsw.SQLITE_VERSION_NUMBER
    if number in _WAL_RESET_BUG:
        warnings.warn(
            f"SQLite {apsw.sqlite_lib_version()} may damage a file that several processes write (fixed in 3.51.3). "
            f"Install a newer apsw.",
            RuntimeWarning,
            stacklevel=3,
        )


def _make_file(real: Path) -> bool:
    """Make the empty file ourselves: SQLite gives the WAL the same mode, and its default is readable by others."""
    try:
        os.close(os.open(real, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False  # somebody else was first, or it was empty
    except PermissionError as error:
        raise ReadOnly(f"{real.parent} does not allow new files. Check its permissions.") from error
    except OSError as error:
        raise StoreError(f"{real} cannot be made ({error.strerror}). Check the path and the disk.") from error
    return True


def _look_at(real: Path, vfs: str | None) -> ReadOnlyDatabase:
    """The file as it is, if this version can read it so."""
    uri = f"file:{quote(str(real))}?"
    with translated(str(real)):
        database = ReadOnlyDatabase(real, lambda how: _mannered(_connect(uri + how, vfs, _TO_READ)))
    try:
        with database.reading() as connection:
            version = version_of(connection)
            refuse_newer(real, version)
            if version < VERSION:
                raise StoreError(f"{real} has the older format {version}. Open it once without read_only=True.")
            _refuse_foreign_schema(connection, real)
    except BaseException:
        database.close()
        raise
    return database


def _mannered(connection: apsw.Connection) -> apsw.Connection:
    _set_manners(connection)
    connection.pragma("query_only", True)
    return connection


_TO_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
_TO_READ = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW


def _connect(where: str, vfs: str | None, flags: int) -> apsw.Connection:
    with translated(where):
        connection = apsw.Connection(where, flags=flags, vfs=vfs)
        connection.set_busy_handler(Patience())
        for option, value in (
            (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
            (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
            (apsw.SQLITE_DBCONFIG_ENABLE_FKEY, 1),
            (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
            # Else a statement is planned anew whenever a bound of a range changes: 30 µs for a body instead of 8.
            (apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1),
            (apsw.SQLITE_DBCONFIG_DQS_DML, 0),
            (apsw.SQLITE_DBCONFIG_DQS_DDL, 0),
        ):
            connection.config(option, value)
        connection.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
        return connection


class Patience:
    """How one connection waits for other writers: a short while of any length, again and again.

    Whoever waits longer each time loses to whoever came later: four writers starve two of them. In Python, because a
    wait inside SQLite would not hear Ctrl-C before its end. A commit takes less than a millisecond where disks are
    fast, so a longer wait leaves the file to nobody.
    """

    def __init__(
        self,
        clock: Callable[[], float] = monotonic,
        chance: Callable[[], float] = random,
        wait: Callable[[float], None] = sleep,
    ) -> None:
        self._clock, self._chance, self._sleep, self._since = clock, chance, wait, 0.0

    def __call__(self, tries: int) -> bool:
        """Whether to try again; called with how often that was done before, once there was something to wait for."""
        now = self._clock()
        if tries == 0:
            self._since = now
        if now - self._since >= BUSY_SECONDS:
            return False
        self._sleep(self._chance() * (SHORT_WAIT if tries < SHORT_WAITS else LONG_WAIT))
        return True


def _prepare(connection: apsw.Connection, real: Path) -> None:
    with translated(str(real)):
        if connection.readonly("main"):
            raise ReadOnly(f"{real} cannot be written to. Check the file, its folder and how the disk is mounted.")
        # Until we know the file, closing it again must not even move somebody's WAL into it.
        has_wal = real.with_name(real.name + "-wal").exists()
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_wal)
        _set_manners(connection)
        version = version_of(connection)
        refuse_newer(real, version)
        refuse_foreign_wal(real, int(connection.pragma("user_version")))
        if version < VERSION:
            _migrate(connection, real)
        _refuse_foreign_schema(connection, real)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        _write_ahead(connection)


def _write_ahead(connection: apsw.Connection) -> None:
    """Keep a WAL from now on. SQLite itself never waits here: two who begin at once could wait for one another."""
    patience = Patience()
    for tries in count():
        try:
            connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if not patience(tries):
                raise
        else:
            return


def _set_manners(connection: apsw.Connection) -> None:
    """Nothing here writes: page size counts for a new file only, the rest for this connection."""
    connection.pragma("page_size", PAGE_SIZE)
    connection.pragma("synchronous", "full")
    connection.pragma("fullfsync", True)  # macOS: its fsync alone leaves data in the drive's cache
    connection.pragma("secure_delete", True)
    connection.pragma("recursive_triggers", True)  # else INSERT OR REPLACE would get past the guards
    connection.pragma("mmap_size", 0)
    connection.pragma("temp_store", "memory")  # what is said must not reach another disk
    connection.wal_autocheckpoint(CHECKPOINT_BYTES // int(connection.pragma("page_size")))
    connection.pragma("journal_size_limit", CHECKPOINT_BYTES)  # after an import the WAL shrinks again


def _migrate(connection: apsw.Connection, real: Path) -> None:
    """Under the write lock, and looked at again there: somebody else may have been first."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if version_of(connection) == 0 and objects_of(connection):
            raise NotOurs(f"{real} is another program's database. Choose another path.")
        migrate(connection)
        catalogue.check_all(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _refuse_foreign_schema(connection: apsw.Connection, real: Path) -> None:
    """A file from elsewhere may carry triggers or views that run on our behalf; ours has exactly our own."""
    found = objects_of(connection)
    with closing(apsw.Connection(":memory:")) as fresh:
        for migration in MIGRATIONS:
            fresh.execute(migration)
        ours = objects_of(fresh)
    if ours != found:
        names = ", ".join(sorted({ascii(name)[2:-1] for _, name, _ in ours ^ found}))
        raise NotOurs(f"{real} does not have the tables contextfold makes ({names}). It was changed by something else.")
