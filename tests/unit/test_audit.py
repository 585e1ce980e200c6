"""`make audit` says that packages have no known holes only of packages that were looked up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from scripts.audit import HOLES, LOCK, SOUND, UNCHECKED, Report, verdict, wanted_here

ROOT = Path(__file__).parents[2]
# As pip-audit 2.10 prints them.
CHECKED = '{"name": "%s", "version": "1.0", "vulns": []}'
SKIPPED = '{"name": "%s", "skip_reason": "Dependency not found on PyPI and could not be audited: %s (1.0)"}'
HOLE = '{"name": "%s", "version": "1.0", "vulns": [{"id": "CVE-1", "fix_versions": ["1.1"], "aliases": []}]}'


def said(*packages: str) -> Report:
    return msgspec.json.decode(f'{{"dependencies": [{", ".join(packages)}], "fixes": []}}', type=Report)


@pytest.mark.finding("K17")
def test_only_packages_that_were_all_looked_up_are_called_sound() -> None:
    code, lines = verdict(said(CHECKED % "a", CHECKED % "B_c"), {"a", "b-c"})
    assert (code, lines) == (SOUND, ["All 2 packages were looked up: no known vulnerabilities."])
    for report in (
        said(SKIPPED % ("a", "a"), SKIPPED % ("b-c", "b-c")),
        said(CHECKED % "a", SKIPPED % ("b-c", "b-c")),
        said(),
    ):
        code, lines = verdict(report, {"a", "b-c"})
        assert code == UNCHECKED
        assert len(lines) == 1
        assert lines[0].startswith("NOT CHECKED: ")
        assert "no known" not in lines[0].lower()


@pytest.mark.finding("K17")
def test_a_hole_is_told_and_fails_whatever_else_was_skipped() -> None:
    code, lines = verdict(said(HOLE % "a", SKIPPED % ("b", "b")), {"a", "b"})
    assert code == HOLES
    assert lines[0] == "a 1.0: CVE-1, mended in 1.1"
    assert lines[1].startswith("NOT CHECKED: 1 of 2")


def test_every_package_of_the_lock_that_is_installed_here_is_wanted() -> None:
    wanted = wanted_here(LOCK.read_text("utf-8"))
    assert {"apsw", "msgspec", "splintr-rs", "uvicorn"} <= wanted
    assert "pywin32" not in wanted or sys.platform == "win32"
    assert len(wanted) > 100


@pytest.mark.finding("K17")
@pytest.mark.parametrize(
    ("printed", "told"), [("", "no report"), (f'{{"dependencies": [{SKIPPED % ("a", "a")}]}}', "NOT")]
)
def test_a_program_that_looks_nothing_up_ends_with_its_own_code(tmp_path: Path, printed: str, told: str) -> None:
    program = tmp_path / "pip-audit"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{printed}\nEND\necho 'No known vulnerabilities found' >&2\n")
    program.chmod(0o755)
    ran = subprocess.run(
        [sys.executable, "scripts/audit.py"],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    if (ROOT / ".venv" / "bin" / "pip-audit").exists():
        pytest.skip("pip-audit is installed here, so the program above is not asked")
    assert (ran.returncode, "No known" in ran.stdout) == (UNCHECKED, False)
    assert told in ran.stdout
