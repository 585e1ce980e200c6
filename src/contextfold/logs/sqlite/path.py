"""What can be known of a path before SQLite touches it: whether a store may live there, and whose file it is.

Reads only. SQLite would recover, lock or create files beside a database it merely opens, so a file that is not ours is
recognised by its first bytes.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from contextfold.errors import Corrupt, NotFound, NotOurs, ReadOnly, StoreError, TooNew

from .schema import APPLICATION_ID, VERSION, identity_in, version_in

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
