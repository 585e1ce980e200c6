"""The page on recorded sessions: its examples run, and its table names every format."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from contextfold import transcripts
from tests.unit.transcripts.every import FILES
from tests.unit.transcripts.samples import put

PAGE = (Path(__file__).parents[3] / "docs" / "transcripts.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs_as_it_stands(tmp_path: Path, number: int) -> None:
    put(tmp_path, FILES["claude-code"], "session.jsonl")

    ran = subprocess.run([sys.executable, "-c", EXAMPLES[number]], cwd=tmp_path, capture_output=True, text=True)

    assert ran.returncode == 0, ran.stderr
    assert "def " in EXAMPLES[number] or ran.stdout


def test_the_table_of_formats_names_every_one() -> None:
    table = PAGE.partition("## Formats")[2].partition("##")[0]

    assert set(re.findall(r"`([\w-]+)`", " ".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE)))) == set(
        transcripts.formats()
    )
