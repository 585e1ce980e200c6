"""Snapshots of a workspace: taken, compared, restored, forgotten. Never writes to the user's repository.

A snapshot is a commit in a private repository, standing alone, so that one can be forgotten without the others. Every
restore begins with a snapshot, so every restore can be undone; one that is cut short says where to return to.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from contextfold.errors import DiskFull, NotFound, WorkspaceError
from contextfold.shell import operand, option

from .git import Git
from .homes import default_home, homes, is_id, owned, refuse_if_not_ours, resolved, said_of_disks
from .snapshot_files import (
    LARGEST,
    Candidates,
    Excluded,
    FileChange,
    Kind,
    find,
    look,
    refuse_if_changed,
    shown,
    to_keep,
    uncovered,
    write,
)

MANY_LOOSE = 27  # objects in one of 256 drawers: about 7,000 in all, then they are packed
_KINDS: dict[str, Kind] = {"A": "added", "M": "modified", "T": "modified", "D": "deleted"}


class Snapshot(Struct, frozen=True):
    """A workspace as it was: its id, how many files it holds, what changed since the one before, what is left out."""

    id: str
    files: int = 0
    changed: tuple[str, ...] = ()
    excluded: tuple[Excluded, ...] = ()


class Restored(Struct, frozen=True):
    """What a restore did: the snapshot that undoes it, what it changed, and what it left as it was, with why."""

    before: Snapshot
    changed: tuple[FileChange, ...] = ()
    kept: tuple[Excluded, ...] = ()


class _Latest(Struct, frozen=True):
    """What the index holds, so that nothing is written when nothing changed."""

    id: str
    excluded: tuple[Excluded, ...]


class Snapshots:
    """All snapshots of one workspace. `home` is where they are kept: outside of it, readable by its owner only."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        home: str | os.PathLike[str] | None = None,
        largest: int = LARGEST,
        patience: float = 30.0,
    ) -> None:
        self.root = resolved(root)
        self.home = resolved(home) if home is not None else default_home(self.root)
        self._largest, self._patience = largest, patience
        with said_of_disks(f"the workspace {self.root}"):
            is_there = self.root.is_dir()
        if not is_there:
            raise WorkspaceError(
                f"There is no directory {self.root}. Was the workspace moved or deleted? Name where it is now, or make "
                f"the directory to restore into it."
            )
        if self.home.is_relative_to(self.root):
            raise WorkspaceError(
                f"Snapshots of {self.root} would be kept inside of it, in {self.home}. Choose a smaller workspace, or "
                f"another home for its snapshots."
            )
        self._git = Git(self.home / "git", self.root)

    @classmethod
    def holding(cls, root: str | os.PathLike[str], id: str, *, named: str = "") -> Snapshots:
        """The snapshots of a workspace that hold this one, wherever this user keeps them; makes nothing.

        `named` is where a log says they are. It is not gone to, only told.
        """
        place = resolved(root)
        for home in homes(place):
            found = cls(place, home=home)
            if found.holds(id):
                return found
        if named and resolved(named) not in homes(place):
            raise WorkspaceError(
                f"The log says that snapshot {id} of {place} is kept in {named}. contextfold does not run git where a "
                f"log says: it may come from anybody. If you know that directory, take its snapshots over with "
                f"`contextfold workspace adopt {option('--workspace', place)} {operand(named)}`."
            )
        raise _unknown(id, place)

    # -- verbs ------------------------------------------------------------------------------------------------------

    def take(self, label: str = "") -> Snapshot:
        """Keep the workspace as it is now. Nothing changed since the last one: that one again."""
        with self.alone():
            return self._take(label)

    def changes(self, since: str, until: str | None = None) -> tuple[FileChange, ...]:
        """What differs between two snapshots, or between one and the workspace as it is now."""
        with self.alone():
            known, other = self._known(since), self._or_now(until)
            return tuple(FileChange(shown(each.path), each.kind) for each in self._compared(known, other))

    def diff(self, since: str, until: str | None = None) -> str:
        """The same as text, the way patches are written."""
        with self.alone():
            known, other = self._known(since), self._known(self._or_now(until))
            said = self._git.run("diff-tree", "-r", "-p", "--no-color", "--no-ext-diff", "--no-textconv", known, other)
            return said.decode("utf-8", "backslashreplace")

    def restore(self, id: str) -> Restored:
        """Bring the workspace back to a snapshot. What no snapshot holds is left as it is, and named."""
        with self.alone():
            target = self._known(id)
            latest = self._latest()
            since = self._take("").id if latest is None else latest.id
            entries = self._compared(since, target)
            looks = {each.path: look(self.root / each.path) for each in entries}
            found = find(self._git, self._largest)
            before = self._taken(found, f"before restoring {id}")
            if before.id != since:
                entries, looks = self._compared(before.id, target), {**looks, **found.looks}
            kept = to_keep(self.root, entries, {each.path for each in self._excluded(target)})
            touched = [each for each in entries if each not in kept]
            refuse_if_changed(self.root, touched, looks)
            if touched:
                # From here on a cut restore can be told, and undone.
                self._forget_latest()
                half = self.home / "restoring.new"
                half.write_text(f"{before.id} {target}\n")
                half.replace(self._journal)
                kept += write(self._git, target, touched)
            if not kept:
                self._remember(_Latest(target, self._excluded(target)))
            self._journal.unlink(missing_ok=True)
            changed = tuple(FileChange(shown(each.path), each.kind) for each in entries if each not in kept)
            return Restored(before, changed, tuple(Excluded(shown(each.path), "in no snapshot") for each in kept))

    @property
    def interrupted(self) -> str | None:
        """The snapshot from before a restore that was cut short, if one was: restore it, or the other one again."""
        return self._journal.read_text().split()[0] if self._journal.exists() else None

    def ids(self) -> tuple[str, ...]:
        """Every snapshot, oldest first."""
        if not self._git.directory.exists():
            return ()
        refuse_if_not_ours(self.home)
        self._git.check()
        return tuple(self._git.text("for-each-ref", "--sort=committerdate", "--format=%(objectname)").split())

    def holds(self, id: str) -> bool:
        """Whether a snapshot of this id is kept here."""
        if not is_id(id):
            return False
        with said_of_disks(f"the snapshots of {self.root} in {self.home}"):
            return (self._git.directory / "refs" / "snapshots" / id).is_file() or id in self.ids()

    def forget(self, id: str) -> None:
        """Erase a snapshot, and every content that no other one holds, for good."""
        with self.alone():
            self._git.run("update-ref", "-d", f"refs/snapshots/{self._known(id)}")
            self._left_out(id).unlink(missing_ok=True)
            self._forget_latest()
            self._collect()

    def collect(self) -> None:
        """Pack what is kept and drop what nothing names. Done by itself when there is much of it."""
        with self.alone():
            self._collect()

    def uncovered(self) -> tuple[Excluded, ...]:
        """What no snapshot can hold, wherever it is: pipes, sockets, devices, empty directories."""
        return uncovered(self.root)

    # -- taking -----------------------------------------------------------------------------------------------------

    def _take(self, label: str) -> Snapshot:
        return self._taken(find(self._git, self._largest), label)

    def _taken(self, found: Candidates, label: str) -> Snapshot:
        git, latest = self._git, self._latest()
        if latest is None or found.paths or found.excluded != latest.excluded:
            self._forget_latest()
            if found.present:
                git.paths("update-index", "-z", "--add", "--replace", "--remove", "--stdin", given=found.present)
            if found.gone:
                git.paths("update-index", "-z", "--force-remove", "--stdin", given=found.gone)
            tree = git.text("write-tree")
            commit = git.text("commit-tree", tree, given=label.encode())
            self.note_left_out(commit, found.excluded)
            git.name(f"refs/snapshots/{commit}", commit)
            drawer = git.directory / "objects" / "17"
            loose = len(list(drawer.iterdir())) if drawer.exists() else 0
            if loose > MANY_LOOSE:
                self._collect()
            latest = _Latest(commit, found.excluded)
            self._remember(latest)
        index, files = git.directory / "index", 0
        if index.exists():  # its header says how many files it holds
            with index.open("rb") as file:
                files = int(struct.unpack(">4sLL", file.read(12))[2])
        return Snapshot(latest.id, files, tuple(map(shown, found.paths)), found.excluded)

    @property
    def _journal(self) -> Path:
        return self.home / "restoring"

    # -- looking ----------------------------------------------------------------------------------------------------

    def _or_now(self, until: str | None) -> str:
        return self._take("").id if until is None else until

    def _compared(self, since: str, until: str) -> list[FileChange]:
        listing = self._git.paths(
            "diff-tree", "-r", "-z", "--no-renames", "--name-status", self._known(since), self._known(until)
        )
        return [FileChange(path, _KINDS[kind]) for kind, path in zip(listing[::2], listing[1::2], strict=True)]

    def _known(self, id: str) -> str:
        if not self.holds(id):
            raise _unknown(id, self.root)
        return id

    def _excluded(self, id: str) -> tuple[Excluded, ...]:
        return msgspec.json.decode(self._left_out(id).read_bytes(), type=tuple[Excluded, ...])

    def note_left_out(self, id: str, excluded: tuple[Excluded, ...]) -> None:
        """Write down what a snapshot does not hold."""
        self._left_out(id).parent.mkdir(exist_ok=True)
        self._left_out(id).write_bytes(msgspec.json.encode(excluded))

    def _left_out(self, id: str) -> Path:
        return self.home / "left-out" / id

    # -- keeping house ----------------------------------------------------------------------------------------------

    @contextmanager
    def alone(self) -> Iterator[Git]:
        """The repository, for one at a time: made on first use, ours, and as we made it."""
        with said_of_disks(f"the snapshots of {self.root} in {self.home}"):
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            refuse_if_not_ours(self.home)
            with self._locked():
                yield self._git

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with owned(self.home / "lock", patience=self._patience) as handle:
            self._git.make()
            self._git.drop_stale_locks()
            try:
                with self._git.handing_down(handle):
                    yield
            except DiskFull:
                self._git.drop_half_written()
                raise

    def _latest(self) -> _Latest | None:
        path = self.home / "latest"
        return msgspec.json.decode(path.read_bytes(), type=_Latest) if path.exists() else None

    def _remember(self, latest: _Latest) -> None:
        half = self.home / "latest.new"
        half.write_bytes(msgspec.json.encode(latest))
        half.replace(self.home / "latest")

    def _forget_latest(self) -> None:
        (self.home / "latest").unlink(missing_ok=True)

    def _collect(self) -> None:
        self._git.run("repack", "-a", "-d", "-q")
        self._git.run("prune", "--expire=now")


def _unknown(id: str, root: Path) -> NotFound:
    return NotFound(f"There is no snapshot {id} of {root}. It was forgotten, or taken of another workspace.")
