"""`make demo` as somebody meets it first: in a clean directory, without a terminal, in their language."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.demo import main
from contextfold.replay import decode_report


def demo(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    names = ("PATH", "PYTHONPATH", "SYSTEMROOT", "COVERAGE_PROCESS_START")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "contextfold.demo", *arguments],
        cwd=folder,
        env={**kept, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )


def test_the_demo_runs_in_a_clean_directory_and_proves_what_it_says(tmp_path: Path) -> None:
    ran = demo(tmp_path, "here", LANG="C.UTF-8")
    assert (ran.returncode, ran.stderr) == (0, "")
    checks = [line.split(maxsplit=1) for line in ran.stdout.splitlines() if line.startswith("  ok ")]
    assert [said.partition(":")[0] for _, said in checks] == [
        "nothing lost",
        "every request valid",
        "every request fits",
    ]
    assert "FAILED" not in ran.stdout
    assert "\x1b" not in ran.stdout  # no terminal: plain lines
    assert "because" in ran.stdout
    folder = tmp_path / "here"
    report = decode_report((folder / "report.json").read_bytes())
    ours = report.totals[0]
    assert (ours.policy, ours.invalid, ours.unfit, ours.refused, ours.lost) == ("balanced", 0, 0, 0, 0)
    whole, summarized = report.totals[-1], report.totals[-2]
    assert (whole.kind, summarized.kind) == ("recorded", "full")
    assert max(ours.peak, summarized.peak) < 32_000 < 100_000 < whole.peak < 140_000
    assert f"{ours.tokens:,}" in ran.stdout
    assert f'data-value="{ours.tokens}"' in (folder / "report.html").read_text("utf-8")
    assert sorted(each.name for each in folder.iterdir()) == ["demo.db", "report.html", "report.json", "session.jsonl"]
    with cf.open(folder / "demo.db") as store:
        assert store.verify() == []
        assert len(store.thread("demo").folds) > 0


@pytest.mark.finding("N18")
@pytest.mark.parametrize("language", ["C.UTF-8", "ja_JP.UTF-8"])
def test_every_command_that_the_demo_prints_works_as_it_is_printed(tmp_path: Path, language: str) -> None:
    printed = demo(tmp_path, "it's here", LANG=language).stdout.splitlines()
    commands = [line.strip() for line in printed if line.startswith("      ") and " --" in line]
    assert [{"folds", "show", "replay"} & {*shlex.split(line)} for line in commands] == [
        {"folds"},
        {"show"},
        {"replay"},
    ]
    for line in commands:
        looked = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, capture_output=True, timeout=240, check=False, env=BARE
        )
        assert (looked.returncode, looked.stderr) == (0, b""), line
        assert looked.stdout


# What a shell has in which somebody pastes a line.
BARE = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": os.environ.get("HOME", "/")}


def test_the_demo_speaks_japanese(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("CONTEXTFOLD_LANGUAGE", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    monkeypatch.chdir(tmp_path)
    assert main(["here"]) == 0
    said = capsys.readouterr().out
    assert said.count("  合格") == 3
    assert "不合格" not in said
    assert 'lang="ja"' in (tmp_path / "here" / "report.html").read_text("utf-8")
