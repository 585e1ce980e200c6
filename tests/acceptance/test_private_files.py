"""Whatever holds a conversation is readable by its owner alone, whatever the umask says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from stat import S_IMODE

import pytest

import contextfold as cf

pytestmark = pytest.mark.finding("K4")


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}


def test_everything_a_writing_command_makes_is_for_its_owner_alone(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir(mode=0o700)
    store, request = made / "store.db", tmp_path / "request.json"
    with cf.open(store) as opened:
        session = cf.Session.on(opened, "a", "claude-sonnet-5-5", artifacts=made / "artifacts")
        session.append({"role": "user", "content": "hello"})
        session.append({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "x", "input": {}}]})
        result = {"type": "tool_result", "tool_use_id": "1", "content": "an output " * 20_000}
        session.append({"role": "user", "content": [result]})
        session.append({"role": "assistant", "content": "bye"})
        session.export(made / "roo", format="roo")
    request.write_text('{"model": "claude-sonnet-5-5", "messages": [{"role": "user", "content": "hello"}]}')
    (tmp_path / "session.jsonl").write_text(
        '{"role": "user", "content": "hello"}\n{"role": "assistant", "content": "hi"}\n'
    )
    for arguments in (
        ("export", "a", "-o", made / "a.jsonl"),
        ("backup", made / "copy.db"),
        ("validate", request, "--repair", "-o", made / "mended.json"),
        ("replay", tmp_path / "session.jsonl", "--html", made / "r.html", "--csv", made / "r.csv"),
    ):
        command = [sys.executable, "-m", "contextfold", *map(str, arguments), "--store", str(store)]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode in (0, 1), done.stderr.decode()
    found = modes(made)
    assert {"a.jsonl", "copy.db", "mended.json", "r.html", "r.csv", "roo", "artifacts"} <= found.keys()
    assert {name: oct(mode) for name, mode in found.items() if mode & 0o077} == {}
