"""A disk that can fail and lose power, as a SQLite VFS over the real one.

It remembers what a real disk would have kept for certain: whatever was written before the last fsync of its file. At a
power cut each sector written since then holds, by chance, what was kept or any of the later writes to it.
"""

# ruff: noqa: N802, ARG002  # SQLite names and calls these methods

from __future__ import annotations

import errno
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from typing import TypeAlias

import apsw

SECTOR = 512
_numbers = count()

Fault: TypeAlias = Callable[[str, str], None]  # told of each operation and its file's suffix; may raise


class PowerCut(Exception):
    """The machine stopped here."""


class Kept:
    """What one file holds now, what it surely holds after a cut, and what it may hold."""

    def __init__(self, content: bytes = b"", *, is_safe: bool = True) -> None:
        self.is_safe = is_safe  # whether its name is in the folder for certain
        self.current = bytearray(content)
        self.durable = bytearray(content)
        self.maybe: dict[int, list[bytes]] = {}
        self.sizes: list[int] = []

    def write(self, data: bytes, offset: int) -> None:
        end = offset + len(data)
        if end > len(self.current):
            self.current.extend(bytes(end - len(self.current)))
            self.sizes.append(end)
        self.current[offset:end] = data
        for sector in range(offset // SECTOR, (end + SECTOR - 1) // SECTOR):
            self.maybe.setdefault(sector, []).append(bytes(self.current[sector * SECTOR : (sector + 1) * SECTOR]))

    def truncate(self, size: int) -> None:
        del self.current[size:]
        self.sizes.append(size)

    def sync(self) -> None:
        self.is_safe = True
        for sector in self.maybe:
            kept = self.current[sector * SECTOR : (sector + 1) * SECTOR]
            _put(self.durable, bytes(kept), sector * SECTOR)
        del self.durable[len(self.current) :]
        self.maybe.clear()
        self.sizes.clear()

    def after_cut(self, chance: Random) -> bytes:
        """One of the contents the disk may hold when power comes back."""
        luck = chance.choice((0.0, 0.5, 1.0, chance.random()))
        image = bytearray(self.durable)
        for sector, versions in self.maybe.items():
            if chance.random() < luck:
                _put(image, chance.choice(versions), sector * SECTOR)
        if self.sizes and chance.random() < 0.5:
            size = chance.choice(self.sizes)
            image.extend(bytes(max(0, size - len(image))))
            del image[size:]
        return bytes(image)


def _put(image: bytearray, data: bytes, offset: int) -> None:
    if len(image) < offset:
        image.extend(bytes(offset - len(image)))
    image[offset : offset + len(data)] = data


class Disk(apsw.VFS):
    """Open a store with `vfs=disk.name`. Files that exist already count as safely on the disk."""

    def __init__(self, fault: Fault | None = None) -> None:
        self.name = f"disk-{next(_numbers)}"
        self.fault = fault
        self.files: dict[Path, Kept] = {}
        self.operations: list[tuple[str, str]] = []
        self.is_cut = False
        super().__init__(self.name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        path = Path(name.filename() if isinstance(name, apsw.URIFilename) else name or "temporary")
        kept = Kept(path.read_bytes()) if path.exists() else Kept(is_safe=False)
        return _File(self, path, name, flags, self.files.setdefault(path, kept))

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.note("delete", Path(filename))
        super().xDelete(filename, syncdir)
        if not self.is_cut:
            self.files.pop(Path(filename), None)

    def note(self, operation: str, path: Path) -> None:
        """Nothing that is done after a power cut reaches the disk; the process is only allowed to wind up."""
        if self.is_cut:
            return
        suffix = path.suffix.removeprefix(".db")
        self.operations.append((operation, suffix))
        if self.fault is not None:
            try:
                self.fault(operation, suffix)
            except PowerCut:
                self.is_cut = True
                raise

    def count(self, operation: str) -> int:
        return sum(done == operation for done, _ in self.operations)

    def leave(self, folder: Path, chance: Random) -> None:
        """Write what is left after a power cut into another folder."""
        for path, kept in self.files.items():
            if kept.is_safe or chance.random() < 0.5:
                (folder / path.name).write_bytes(kept.after_cut(chance))


class _File(apsw.VFSFile):
    def __init__(
        self, disk: Disk, path: Path, name: str | apsw.URIFilename | None, flags: list[int], kept: Kept
    ) -> None:
        self._disk, self._path, self._kept = disk, path, kept
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.note("write", self._path)
        super().xWrite(data, offset)
        if not self._disk.is_cut:
            self._kept.write(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._disk.note("truncate", self._path)
        super().xTruncate(newsize)
        if not self._disk.is_cut:
            self._kept.truncate(newsize)

    def xSync(self, flags: int) -> None:
        self._disk.note("sync", self._path)
        if not self._disk.is_cut:
            self._kept.sync()


class Unsynced(apsw.VFS):
    """A disk that takes its time never: for tests of everything but durability, where each fsync would be a wait."""

    name = "unsynced"

    def __init__(self) -> None:
        super().__init__(self.name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _UnsyncedFile("", name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, False)


class _UnsyncedFile(apsw.VFSFile):
    def xSync(self, flags: int) -> None:
        """Nothing."""


UNSYNCED = Unsynced()


def failing(operation: str, at: int, error: Callable[[], Exception], suffix: str | None = None) -> Fault:
    """Fail the `at`-th such operation (on files with this suffix), and every later one of the same kind."""
    seen = count(1)

    def fault(done: str, where: str) -> None:
        if done == operation and suffix in (None, where) and next(seen) >= at:
            raise error()

    return fault


def full_disk() -> Exception:
    return apsw.FullError(f"{errno.ENOSPC}: no space left")


def lost_fsync() -> Exception:
    return apsw.IOError(f"{errno.EIO}: fsync failed")


def cutting(at: int) -> Fault:
    """Stop the machine at the `at`-th operation of any kind."""
    seen = count(1)

    def fault(_done: str, _where: str) -> None:
        if next(seen) >= at:
            raise PowerCut

    return fault
