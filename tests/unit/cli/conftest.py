"""The command line in this process, and a store to run it on: made once, copied for each test."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.cli import main
from contextfold.domain import encode
from contextfold.testing import histories

MODEL = "claude-sonnet-5-5"


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Ran]


@pytest.fixture(autouse=True)
def _plain_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty directory, an English terminal, and no settings from outside."""
    monkeypatch.chdir(tmp_path)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "NO_COLOR", "COLUMNS", "CONTEXTFOLD_CONFIG", "CONTEXTFOLD_STORE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Cli:
    """Run a command; what it wrote and its exit code."""

    def run(*arguments: object) -> Ran:
        capfd.readouterr()
        code = main([str(each) for each in arguments])
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return run


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a recorded session and a store that holds it, folded once."""
    directory = tmp_path_factory.mktemp("made")
    messages = histories.session(7, tokens=6_000)
    (directory / "session.jsonl").write_bytes(b"\n".join(map(encode, messages)) + b"\n")
    with cf.Session.open(directory / "contextfold.db", thread="refactor-42", model=MODEL) as session:
        for message in messages:
            session.append(message)
        session.fold(to=3_000)
    return directory


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    """The store where commands look for it by default, with the session beside it."""
    for name in ("contextfold.db", "session.jsonl"):
        shutil.copy(made / name, tmp_path / name)
    return tmp_path / "contextfold.db"


@pytest.fixture
def fold(store: Path) -> int:
    """The id of the fold in the store."""
    with cf.open(store) as opened:
        return opened.thread("refactor-42").folds[0].id
