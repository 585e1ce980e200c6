"""The tutorials, block by block: Python and commands run in order, in one directory, as a reader would."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from contextfold.cli import main

DOCS = Path(__file__).parents[2] / "docs"
FENCED = re.compile(r"^```(python|sh|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[list[str]]:
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines() if line.startswith("contextfold ")]


@pytest.mark.parametrize("page", ["tutorial.md", "ja/tutorial.md"])
def test_every_block_of_the_tutorial_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("LC_ALL", "LANG", "CONTEXTFOLD_STORE", "CONTEXTFOLD_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    names: dict[str, object] = {}
    blocks = FENCED.findall((DOCS / page).read_text("utf-8"))
    assert {kind for kind, _ in blocks} == {"python", "sh", "toml"}
    for kind, block in blocks:
        if kind == "toml":
            Path("contextfold.toml").write_text(block)
        elif kind == "python":
            exec(compile(block, page, "exec"), names)  # noqa: S102  # our own documentation
        else:
            for command in commands(block):
                assert main(command) == 0, (command, capsys.readouterr().err)
    assert Path("report.html").is_file()
    assert "folding begins at" in capsys.readouterr().out
    names.clear()


def test_both_tutorials_run_the_same_commands() -> None:
    english, japanese = (
        [
            command[:1]
            for kind, block in FENCED.findall((DOCS / page).read_text("utf-8"))
            if kind == "sh"
            for command in commands(block)
        ]
        for page in ("tutorial.md", "ja/tutorial.md")
    )
    assert english == japanese
