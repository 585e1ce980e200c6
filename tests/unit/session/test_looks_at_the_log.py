"""A verb looks at the log once, when it begins: what others wrote is taken then, and nobody asks again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold import logs
from contextfold.testing import histories


class Counted:
    """A log that counts how often it is asked whether anybody else wrote."""

    def __init__(self, log: logs.SealedLog) -> None:
        self.log, self.looks = log, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.log, name)

    def is_current(self) -> bool:
        self.looks += 1
        return self.log.is_current()


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[Counted]:
    log = Counted(logs.open_sqlite(tmp_path / "looks.db"))
    yield log
    log.log.close()


def grown(log: Counted, tokens: int) -> cf.Session:
    session = cf.Session.on(cf.Store(log), "main", "claude-sonnet-4-5")
    for message in histories.session(5, tokens=tokens):
        session.append(message)
    return session


@pytest.mark.finding("P3")
def test_append_looks_at_the_log_once(counted: Counted) -> None:
    session = grown(counted, 2_000)
    counted.looks = 0
    session.append({"role": "user", "content": "And now?"})
    assert counted.looks == 1


@pytest.mark.finding("P3")
def test_a_prepare_that_fits_looks_at_the_log_once(counted: Counted) -> None:
    session = grown(counted, 2_000)
    session.append({"role": "user", "content": "And now?"})
    counted.looks = 0
    assert not session.prepare(max_tokens=500).report.folds
    assert counted.looks == 1


@pytest.mark.finding("P3")
def test_a_prepare_that_folds_looks_at_the_log_once(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS__CLAUDE_SONNET_4_5", "20000")
    session = grown(counted, 40_000)
    counted.looks = 0
    assert session.prepare(max_tokens=500).report.folds
    assert counted.looks == 1


def test_what_another_process_wrote_is_taken_by_the_next_verb(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    with cf.Session.open(path, model="claude-sonnet-4-5") as one, cf.Session.open(path) as other:
        one.append({"role": "user", "content": "from one"})
        other.append({"role": "user", "content": "from the other"})
        assert b"from the other" in one.prepare(max_tokens=500).json
