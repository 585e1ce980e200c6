"""Outputs that find no room beside the store: told in our words, nothing half written, the message safe in the log."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from contextfold.domain import decode

pytest.importorskip("resource", reason="needs limits on the size of files")

pytestmark = pytest.mark.finding("K13")

# The child may write no file beyond so many bytes; its store is in memory, so that only the output finds no room.
CHILD = """
import json, resource, sys
import contextfold as cf

folder = sys.argv[1]
session = cf.Session.open(model="claude-sonnet-5-5", artifacts=folder)
session.append({"role": "user", "content": "show the log"})
session.append({"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "log", "input": {}}]})
output = "".join(f"{number:06d} a line of the log\\n" for number in range(60_000))
most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
told = ""
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), most))
try:
    session.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": output}]})
except cf.ContextFoldError as error:
    told = f"{type(error).__name__}: {error}"
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
seq = session.append({"role": "user", "content": "and now?"})
said = session.recall(seq=seq - 1)[0].raw.decode()
print(json.dumps({"told": told, "is_kept": "059999 a line of the log" in said, "length": session.view.length}))
session.close()
"""


def test_an_output_that_finds_no_room_is_told_and_leaves_no_half_file(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path), str(1_000_000)]
    answer = decode(subprocess.run(command, capture_output=True, check=True).stdout)
    assert answer["told"].startswith("DiskFull: The output could not be put aside")
    assert answer["is_kept"]
    assert answer["length"] == 4
    assert list(tmp_path.iterdir()) == []
