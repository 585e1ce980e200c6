"""Real sessions of every format at the command line: imported, shown, counted, folded and verified."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from contextfold.cli import main

FOLDERS = ("claude-code", "codex", "copilot", "gemini", "openhands", "roo", "swe-agent")
LEAST_BYTES = 4_000  # a session worth folding
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_real_session_goes_all_the_way(
    folder: str,
    shared_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    file = min(
        _sessions(shared_data / folder), key=lambda path: (path.stat().st_size < LEAST_BYTES, path.stat().st_size)
    )

    def told(*arguments: object) -> str:
        assert main([str(each) for each in arguments]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    imported = json.loads(told("import", file, "--quiet", "--json"))
    name = next(each["thread"] for each in imported if each["thread"])
    page = told("show", name)
    assert not OBEYED.search(page.replace("\n", ""))
    stats = json.loads(told("stats", name, "--json"))
    assert stats["messages"] == next(each["messages"] for each in imported if each["thread"] == name)
    told("fold", name, "--to", max(1_000, stats["tokens"] // 2))
    assert json.loads(told("count", file, "--json"))
    told("verify")
    assert sum(each["new"] for each in json.loads(told("import", file, "--quiet", "--json"))) == 0


def _sessions(folder: Path) -> list[Path]:
    suffixes = (".jsonl", ".json", ".traj", ".gz")
    return [path for path in folder.rglob("*") if path.is_file() and path.name.endswith(suffixes)]
