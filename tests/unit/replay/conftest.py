"""A report that several tests look at, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextfold.replay import ReplayReport, replay
from tests.unit.replay.recordings import SETTINGS, claude_code, plain

# A terminal escape, a mark that turns text around, markup, and a formula, as far as a file name can hold them.
HOSTILE = "=cmd\x1b[31m\u202e<img src=x onerror=alert(1)>|*.jsonl"


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> ReplayReport:
    """Two sessions, one of them with a compaction of the product, the other under a hostile name; and a failure."""
    folder: Path = tmp_path_factory.mktemp("recordings")
    odd = folder / "odd<b>.bin"
    odd.write_bytes(b"\x00")
    return replay([claude_code(folder), plain(folder, HOSTILE), odd], SETTINGS)
