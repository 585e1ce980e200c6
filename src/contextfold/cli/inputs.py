"""What a command is given to read: files, or `-` for what is piped in. Pipes are spooled to a private file first,
because formats are known by looking at them and conversations are read more than once.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from contextfold.errors import NotFound
from contextfold.transcripts import API_FILE

from .arguments import UsageError

PIPE = "-"
SUFFIXES = (".jsonl", ".json", ".ndjson", ".traj", ".gz")


@contextmanager
def readable(name: str) -> Iterator[Path]:
    """A regular file with this input; `-` is the standard input."""
    if name != PIPE:
        path = Path(name)
        if not path.exists():
            raise NotFound(f"There is no file {name}. Check the path, or use - to read what is piped in.")
        yield path
        return
    if sys.stdin.isatty():
        raise UsageError("Nothing is piped in. Give a file, or pipe one: `contextfold … - < session.jsonl`.")
    with TemporaryDirectory(prefix="contextfold-") as directory:
        spooled = Path(directory) / "stdin"
        with spooled.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield spooled


def sessions_in(path: Path) -> list[Path]:
    """The file itself, or every recorded session in a directory; a task of Roo Code is its API list."""
    if not path.is_dir():
        return [path]
    files = [each for each in path.rglob("*") if each.name.endswith(SUFFIXES) and each.is_file()]
    tasks = {each.parent for each in files if each.name == API_FILE}
    found = sorted(each for each in files if each.name == API_FILE or each.parent not in tasks)
    if not found:
        raise UsageError(f"There are no sessions in {path}. Name files, or another directory.")
    return found


def text_of(name: str) -> str:
    """The whole input as text."""
    with readable(name) as path:
        try:
            return path.read_text("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(f"{name} is not UTF-8 text ({error.reason}). Save it as UTF-8.") from error
