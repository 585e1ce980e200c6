"""Files that come back: what a fold took is shown again as it is now, and what others changed is told at each turn.

An attacher. A file is compared by its time, then by its content, with what the model last read or wrote; after a fold
the files used last are attached with path, lines, digest, and whether they changed. It writes nothing anywhere, and
never passes off the file of today as the one that was read.

Whether a file may be shown is asked anew each time, because the answer may have changed since the model read it: inside
the workspace, no link out of it, not ignored, no secret, text, of a readable size. A refusal says why and shows
nothing. As much is shown as there is room for, with the place of every cut: a cut file must not look whole.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from contextfold.domain import Attachment, Detail, Turn
from contextfold.errors import BadConfiguration
from contextfold.summaries import frame, nonce_of

from .ignore_rules import is_ignored
from .phrases import ENGLISH, FILE_PHRASES, FilePhrases, Refusal, Since
from .reads import Action, Use, Uses, is_as_shown
from .snapshot_files import holds_key, is_secret_name

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe must not make anybody wait
LARGEST = 2_000_000  # bytes of a file that is shown

Allowed = Callable[[str], bool]  # a path beneath the workspace -> whether the model may see it


class Version(Struct, frozen=True):
    """A file as it is: when it was modified, its size, and a digest of its content."""

    modified: int
    size: int
    digest: str


class FileContents(Struct, frozen=True):
    """A file's text and version, or why it is not shown."""

    text: str = ""
    version: Version | None = None
    refusal: Refusal | None = None
    detail: str = ""  # what the refusal names: a size, the system's own word


def refusal(root: Path, path: str, allowed: Allowed | None = None) -> Refusal | None:
    """Why a file may not be shown; None when it may."""
    place = root / path
    real = Path(os.path.realpath(place))
    if not real.is_relative_to(os.path.realpath(root)):
        return "outside"
    if is_secret_name(place.name) or is_secret_name(real.name):
        return "secret"
    if is_ignored(root, path):
        return "ignored"
    if allowed is not None and not allowed(path):
        return "forbidden"
    return None


def read(root: Path, path: str, allowed: Allowed | None = None) -> FileContents:
    """The file as it is now, if it may be shown."""
    why = refusal(root, path, allowed)
    if why:
        return FileContents(refusal=why)
    try:
        handle = os.open(root / path, _READ)
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return FileContents(refusal="no-file")
            if status.st_size > LARGEST:
                return FileContents(refusal="too-large", detail=f"{LARGEST:,}")
            content = file.read(LARGEST)
    except FileNotFoundError:
        return FileContents(refusal="gone")
    except OSError as error:
        return FileContents(refusal="unreadable", detail=str(error.strerror))
    if holds_key(content):
        return FileContents(refusal="key")
    version = Version(status.st_mtime_ns, len(content), sha256(content).hexdigest())
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return FileContents(version=version, refusal="no-text")
    return FileContents(version=version, refusal="no-text") if "\0" in text else FileContents(text, version)


def version_now(root: Path, path: str, known: Version | None) -> Version | None:
    """The file's version, read only where its time or size changed; None when it is gone or out of reach."""
    try:
        status = (root / path).stat()
        if known is not None and (status.st_mtime_ns, status.st_size) == (known.modified, known.size):
            return known
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            return Version(status.st_mtime_ns, status.st_size, f"{status.st_mtime_ns}-{status.st_size}")
        content = (root / path).read_bytes()
    except OSError:
        return None
    return Version(status.st_mtime_ns, len(content), sha256(content).hexdigest())


class Excerpt(Struct, frozen=True):
    """Some lines of a text: which, and what was left out."""

    text: str
    where: str
    left_out: str = ""


def excerpt(
    text: str, first: int | None, last: int | None, count: Callable[[str], int], most: int, words: FilePhrases = ENGLISH
) -> Excerpt:
    """The wanted lines (from 1), from their start, in at most so many tokens."""
    lines = text.splitlines(keepends=True)
    start = min(first or 1, max(1, len(lines)))
    wanted = lines[start - 1 : last]
    kept = _longest(wanted, count, most)
    if kept < len(wanted) and kept == 0:
        letters = _longest(list(wanted[0]), count, most)
        left_out = words.letters_cut.format(many=f"{len(wanted[0]) - letters:,}", line=start)
        return Excerpt(wanted[0][:letters], words.line_start.format(line=start, lines=len(lines)), left_out)
    stop = start + kept - 1
    shown = "".join(wanted[:kept]).removesuffix("\n")
    where = words.some_lines.format(first=start, last=stop, lines=len(lines)) if kept < len(lines) else words.whole
    missing = words.lines_cut.format(first=stop + 1, last=start + len(wanted) - 1)
    return Excerpt(shown, where, missing if kept < len(wanted) else "")


def _longest(lines: list[str], count: Callable[[str], int], most: int) -> int:
    """How many of the first lines fit; tokens grow with lines, so halving finds it."""
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if count("".join(lines[:middle])) <= most:
            low = middle
        else:
            high = middle - 1
    return low


MOST_TOKENS = 50_000  # of all restored files together, whatever is asked for
WATCHED = 200  # files, the last used first, that are compared at each turn
LISTED = 50  # files that the list of what is hidden names
SHARE = 3  # one part in so many of the free room goes to files, so that they do not bring on the next fold

CHANGED, LIST, FILE = "changed-files", "files", "file"  # kinds of attachment


class Restore(Struct, frozen=True):
    """How much comes back after a fold: so many files, so many tokens of each, so many in all (50,000 at most)."""

    files: int = 5
    tokens_each: int = 5_000
    tokens: int = MOST_TOKENS

    def __post_init__(self) -> None:
        if min(self.files, self.tokens_each, self.tokens) < 0:
            raise BadConfiguration(f"Files cannot be restored in negative amounts: {self}. Use 0 or more.")


class _Knowledge(Struct):
    """What the model knows of a file: the version it was when it was last used; None when it was not there."""

    version: Version | None
    is_sure: bool = True


class Files:
    """Keeps a model in step with the files of a workspace. One for each session."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        restore: Restore = Restore(),  # noqa: B008  # a frozen value
        tools: Mapping[str, Action] | None = None,
        allowed: Allowed | None = None,
    ) -> None:
        """`tools` says of the agent's own tools whether they read or write; `allowed` has the last word on a path."""
        self.root = Path(root).absolute()
        self._restore, self._tools, self._allowed = restore, dict(tools or {}), allowed
        self._uses = Uses(self.root, self._tools)
        self._known: dict[str, _Knowledge] = {}
        self._has_looked = False

    def beside(self) -> Files:
        """The same for another session."""
        return Files(self.root, restore=self._restore, tools=self._tools, allowed=self._allowed)

    def __call__(self, turn: Turn) -> Iterator[Attachment]:
        if self._uses.last and not turn.branch.has(self._uses.last):
            self._uses.forget()
            self._has_looked = False
        for use in self._uses.follow(turn.branch.said(self._uses.last)):
            if self._has_looked:  # it was used a moment ago: as it is now is how the model knows it
                self._known[use.path] = _Knowledge(version_now(self.root, use.path, None))
            else:
                self._known[use.path] = self._then(use)
        self._has_looked = True
        lines = [line for use in self.used[:WATCHED] if (line := self._difference(turn, use))]
        told = (turn.shown(CHANGED, CHANGED) or "").splitlines()
        if any(line not in told for line in lines):
            yield Attachment(CHANGED, "\n".join([FILE_PHRASES[turn.language].changed, *lines]), CHANGED)
        if turn.folded:
            yield from self._restored(turn)

    @property
    def used(self) -> list[Use]:
        """Every file that was read or written, the last used first."""
        return self._uses.latest()

    # -- what the model knows ---------------------------------------------------------------------------------------

    def _then(self, use: Use) -> _Knowledge:
        """It was used while nobody looked: what the model was shown is the only witness."""
        shown = read(self.root, use.path, self._allowed)
        if shown.version is None:
            return _Knowledge(version_now(self.root, use.path, None), is_sure=False)
        same = is_as_shown(use, shown.text)
        if same is False:
            return _Knowledge(Version(0, 0, "as it was read"))
        return _Knowledge(shown.version, is_sure=same is True)

    # -- what others changed ----------------------------------------------------------------------------------------

    def _difference(self, turn: Turn, use: Use) -> str:
        known, words = self._known[use.path].version, FILE_PHRASES[turn.language]
        now = version_now(self.root, use.path, known)
        if now is None:
            return words.deleted.format(path=_name(use.path)) if known is not None else ""
        if known is not None and now.digest == known.digest:
            self._known[use.path].version = now
            return ""
        is_shown = _mark(now) in (turn.shown(FILE, use.path) or "")
        return "" if is_shown else words.modified.format(path=_name(use.path), mark=_mark(now))

    # -- what a fold took -------------------------------------------------------------------------------------------

    def _restored(self, turn: Turn) -> Iterator[Attachment]:
        hidden = [use for use in self.used if not turn.branch.shows(use.seq)]
        if not hidden:
            return
        limits, words = self._restore, FILE_PHRASES[turn.language]
        room = min(limits.tokens, MOST_TOKENS, turn.room // SHARE)
        chosen: list[Attachment] = []
        listed: list[str] = []
        for use in hidden:
            shown = read(self.root, use.path, self._allowed)
            version, most = shown.version, min(limits.tokens_each, room)
            about = _mark(version) if version else ""
            if shown.refusal:
                about = words.refusals[shown.refusal].format(detail=shown.detail) or about
            elif version is not None and len(chosen) < limits.files and most > 0:
                text = self._shown_again(use, shown.text, version, turn, most)
                if text:
                    room -= turn.count(text)
                    details: dict[str, Detail] = {"path": use.path, "hash": version.digest, "seq": use.seq}
                    chosen.append(Attachment(FILE, text, use.path, details))
            lines, action = words.lines_of(use.first, use.last), words.actions[use.action]
            listed.append(words.file.format(path=_name(use.path), lines=lines, action=action, seq=use.seq, about=about))
        if len(listed) > LISTED:
            listed[LISTED:] = [words.more.format(many=len(listed) - LISTED)]
        yield Attachment(LIST, "\n".join([words.files, *listed]), LIST)
        yield from reversed(chosen)

    def _shown_again(self, use: Use, text: str, version: Version, turn: Turn, most: int) -> str:
        words = FILE_PHRASES[turn.language]
        about = excerpt(text, use.first, use.last, lambda piece: turn.count(piece), most - 100, words)
        if not about.text:
            return ""
        known = self._known[use.path]
        since: Since = "changed" if known.version != version else "same" if known.is_sure else "unsure"
        head = words.restored.format(
            path=_name(use.path),
            where=about.where,
            mark=_mark(version),
            since=words.since[since],
            did=words.did[use.action],
            seq=use.seq,
        )
        tail = f"\n{words.cut.format(left_out=about.left_out)}" if about.left_out else ""
        return f"{head}\n{frame('file', about.text, nonce_of([about.text]))}{tail}"


def _name(path: str) -> str:
    """A path on one line, whatever it holds."""
    return " ".join(path.encode("unicode_escape").decode().split()) if not path.isprintable() else path


def _mark(version: Version) -> str:
    """What tells one version from another."""
    return f"sha256 {version.digest[:12]}"
