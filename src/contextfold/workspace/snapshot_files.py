"""Which files a snapshot takes and which it leaves out, and why; and which files a restore writes.

git finds what changed since the index of the workspace was written; nested repositories, which git would step over, are
walked here; every file is looked at before it is stored. Left out are files that are secret by name, or hold something
shaped like a key: a snapshot is read later, by others than its workspace is.

A restore leaves as it is what was never in a snapshot. The snapshot that undoes it was taken before. Paths are as the
operating system has them; whoever reports them makes them printable.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from contextfold.deferred import expression
from contextfold.errors import WorkspaceChanged

from .git import HEAVY, Git

LARGEST = 20_000_000  # bytes of one file

# `.git` as Windows would read it: its short name, in any case, with spaces and dots behind, or a stream of it.
_DOT_GIT = expression(r"(?:\.git|git~1)[ .]*(?::|$)", re.IGNORECASE | re.DOTALL)
_GITS_OWN = "a name that git keeps for itself"

_HEAVY_NAMES = frozenset(name.rstrip("/") for name in HEAVY.split())


class Excluded(Struct, frozen=True):
    """A path that a snapshot does not hold, and why."""

    path: str
    why: str


class Look(Struct, frozen=True):
    """How a path looks without reading it: equal looks, equal content, unless somebody cheats."""

    mode: int
    size: int
    inode: int
    modified: int
    changed: int


def look(path: Path) -> Look | None:
    """None when nothing is there. Links are looked at, not followed."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Look(status.st_mode, status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


class Candidates(Struct, frozen=True):
    """What is to be stored, what is gone, and what is left out."""

    present: tuple[str, ...]
    gone: tuple[str, ...]
    excluded: tuple[Excluded, ...]
    looks: Mapping[str, Look | None]  # how each looked before it was stored

    @property
    def paths(self) -> tuple[str, ...]:
        return (*self.present, *self.gone)


def shown(path: str) -> str:
    """A path for people and reports: whatever is not UTF-8 is escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def find(git: Git, largest: int = LARGEST) -> Candidates:
    """What differs from the index."""
    own = git.root / ".git" / "info" / "exclude"
    more = [f"--exclude-from={own}"] if own.is_file() else []
    tracked: set[str] = set()
    gone: set[str] = set()
    others: list[str] = []
    for line in git.paths("ls-files", "-z", "-t", "-m", "-d", "-o", "--exclude-standard", *more):
        tag, path = line[0], line[2:]
        if tag == "?":
            others.append(path)
        else:
            (gone if tag == "R" else tracked).add(path)
    looks = {path: look(git.root / path) for path in sorted({*tracked, *gone, *_beneath(git, others)})}
    present: list[str] = []
    excluded: list[Excluded] = []
    for path, seen in looks.items():
        reason = "" if seen is None else _GITS_OWN if is_gits_own(path) else why_not(git.root / path, seen, largest)
        if reason is None:
            present.append(path)
        elif reason:
            excluded.append(Excluded(shown(path), reason))
        if reason is not None and path in tracked:
            gone.add(path)
    return Candidates(tuple(present), tuple(sorted(gone - {*present})), tuple(excluded), looks)


def is_gits_own(path: str) -> bool:
    """Whether git takes a part of the path for its own directory on some system, and so keeps nothing beneath it."""
    return any(_DOT_GIT.match(part) for part in path.replace("\\", "/").split("/"))


def _beneath(git: Git, others: Iterable[str]) -> Iterator[str]:
    """The paths themselves, and for a nested repository the files in it that no ignore file names."""
    nested: list[Path] = []
    for path in others:
        if not path.endswith("/"):
            yield path
            continue
        for directory, names, files in os.walk(git.root / path):
            here = Path(directory)
            links = [name for name in names if (here / name).is_symlink()]
            names[:] = filter(_is_entered, names)
            nested += [here / name for name in (*files, *links) if name != ".git"]
    if nested:
        inside = [str(path.relative_to(git.root)) for path in nested]
        hidden = ignored(git, inside)
        yield from (path for path in inside if path not in hidden)


def ignored(git: Git, paths: Iterable[str]) -> set[str]:
    """Those that an ignore file names, as the workspace is now."""
    marked = (f"./{path}" for path in paths)  # no name then begins with what git takes for magic
    return {path[2:] for path in git.paths("check-ignore", "-z", "--no-index", "--stdin", given=marked, also=1)}


def _is_entered(name: str) -> bool:
    return name != ".git" and name not in _HEAVY_NAMES


def why_not(path: Path, seen: Look, largest: int = LARGEST) -> str | None:
    """Why a path is left out; None when it is stored, empty when it is not there any more."""
    if stat.S_ISLNK(seen.mode):
        return None
    if not stat.S_ISREG(seen.mode):
        return "not a file"
    if is_secret_name(path.name):
        return "secret by its name"
    if seen.size > largest:
        return f"larger than {largest:,} bytes"
    try:
        return "holds something shaped like a key" if holds_key(path.read_bytes()) else None
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def uncovered(root: Path) -> tuple[Excluded, ...]:
    """What no snapshot can hold: sockets, pipes and devices, and directories with nothing in them."""
    found: list[Excluded] = []
    for directory, names, files in os.walk(root):
        here = Path(directory)
        if not names and not files:
            found.append(Excluded(shown(str(here.relative_to(root))), "an empty directory"))
        names[:] = filter(_is_entered, names)
        for path in (here / name for name in files):
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                found.append(Excluded(shown(str(path.relative_to(root))), "not a file"))
    return tuple(found)


SECRET_NAMES = (
    *(".env", ".env.*", "*.env", "*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials"),
    *(".htpasswd", "credentials", "credentials.json", "service-account*.json"),
    *("secrets.json", "secrets.yaml", "secrets.yml", "secrets.toml"),
)
HARMLESS = (".env.example", ".env.sample", ".env.template")

# Prefixes that issuers chose so that leaked keys can be found, and the armour of private keys: of what kind, what must
# be there (a plain search is ten times as fast as a pattern), and the whole shape.
KEY_SHAPES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("Anthropic key", ("sk-ant-",), r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    ("OpenAI key", ("sk-",), r"\bsk-(?!ant-)(?:proj-|svcacct-|or-)?[A-Za-z0-9_-]{32,}"),
    ("Google key", ("AIza",), r"\bAIza[A-Za-z0-9_-]{35}"),
    ("AWS key", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("GitHub token", ("gh", "github_pat_"), r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})"),
    ("GitLab token", ("glpat-",), r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("Slack token", ("xox",), r"\bxox[abeoprs]-[A-Za-z0-9-]{20,}"),
    ("Stripe key", ("k_live_",), r"\b[rs]k_live_[A-Za-z0-9]{20,}"),
    ("Hugging Face token", ("hf_",), r"\bhf_[A-Za-z0-9]{30,}"),
    ("npm token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}"),
    ("private key", ("PRIVATE KEY",), r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----"),
)

_ANY_SHAPE = expression("|".join(f"(?:{shape})" for _, _, shape in KEY_SHAPES).encode())


def is_secret_name(name: str) -> bool:
    """Whether a file of this name is left out, whatever it holds."""
    lower = name.lower()
    return lower not in HARMLESS and any(fnmatchcase(lower, pattern) for pattern in SECRET_NAMES)


def holds_key(content: bytes) -> bool:
    """Whether something in it is shaped like a key."""
    return _ANY_SHAPE.search(content) is not None


Kind: TypeAlias = Literal["added", "modified", "deleted"]


class FileChange(Struct, frozen=True):
    """A path that two snapshots differ in."""

    path: str
    kind: Kind


def to_keep(root: Path, changes: Sequence[FileChange], left_out: AbstractSet[str]) -> list[FileChange]:
    """What must not be touched: present and in no snapshot, or left out when the target was taken."""
    leaving = {each.path for each in changes if each.kind == "deleted"}
    return [
        each
        for each in changes
        if (each.kind == "added" and is_taken(root, each.path, leaving))
        or (each.kind == "deleted" and shown(each.path) in left_out)
    ]


def refuse_if_changed(root: Path, changes: Sequence[FileChange], looks: Mapping[str, Look | None]) -> None:
    """Raise `WorkspaceChanged` when a path no longer looks as it did before the snapshot."""
    changed = [shown(each.path) for each in changes if look(root / each.path) != looks.get(each.path)]
    if changed:
        raise WorkspaceChanged(
            f"Files changed while they were being restored, so nothing was: {', '.join(changed[:5])}. Let the "
            f"other program finish, and restore again."
        )


def write(git: Git, target: str, changes: Sequence[FileChange]) -> list[FileChange]:
    """Write these paths as they were; what was ignored then, and so in no snapshot, stays and is returned."""
    rules = [each for each in changes if Path(each.path).name == ".gitignore" and each.kind != "deleted"]
    if not rules:
        _check_out(git, target, changes)
        return []
    _check_out(git, target, rules)
    hidden = ignored(git, (each.path for each in changes if each.kind == "deleted"))
    _check_out(git, target, [each for each in changes if each.path not in hidden])
    return [each for each in changes if each.path in hidden]


def _check_out(git: Git, target: str, changes: Sequence[FileChange]) -> None:
    added = {each.path for each in changes if each.kind == "added"}
    # A file that takes a directory's place takes what is left in it along: git knows those paths no more.
    paths = [each.path for each in changes if added.isdisjoint(map(str, Path(each.path).parents))]
    named = ("--no-overlay", "--pathspec-from-file=-", "--pathspec-file-nul")
    git.paths("--literal-pathspecs", "checkout", *named, target, given=paths)


# -- what stands in the way --------------------------------------------------------------------------------------------


def is_taken(root: Path, path: str, leaving: AbstractSet[str]) -> bool:
    """Whether the place of `path`, or one on the way to it, is held by something that is not `leaving`."""
    place = root / path
    for parent in place.relative_to(root).parents:
        way = root / parent
        is_no_directory = way.is_symlink() or (way.exists() and not way.is_dir())
        if parent != Path() and is_no_directory and str(parent) not in leaving:
            return True
    if not place.is_dir() or place.is_symlink():
        return os.path.lexists(place) and path not in leaving
    for directory, names, files in os.walk(place):
        here = Path(directory)
        links = [name for name in names if (here / name).is_symlink()]
        if any(str((here / name).relative_to(root)) not in leaving for name in (*files, *links)):
            return True
    return False
