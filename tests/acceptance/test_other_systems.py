"""The core where POSIX is not: imported and run in a Python that lacks the modules only POSIX has."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.finding("N2")

ROOT = Path(__file__).parents[2]
MISSING = ("fcntl", "pwd", "grp", "resource", "termios", "tty", "pty", "syslog", "readline")
RUN = """
import os, sys
for name in {missing!r}:
    sys.modules[name] = None
from pathlib import Path
import contextfold as cf
from contextfold.cli import main
place = Path(sys.argv[1])
(place / "project").mkdir()
(place / "project" / "a.txt").write_text("a")
with cf.Session.open(place / "s.db", thread="t", model="gpt-5.2") as session:
    session.append({{"role": "user", "content": "one"}})
    session.append({{"role": "assistant", "content": "two"}})
    session.append({{"role": "user", "content": "three"}})
    session.prepare()
    session.checkpoint("here", workspace=place / "project")
    (place / "project" / "a.txt").write_text("b")
    assert "+b" in session.diff("here")
    session.rewind(to="here", files=True)
    assert (place / "project" / "a.txt").read_text() == "a"
(place / "said.jsonl").write_text('{{"role":"user","content":"a"}}\\n{{"role":"assistant","content":"b"}}\\n')
assert main(["replay", str(place / "said.jsonl"), "--json"]) == 0
assert main(["doctor", "--store", str(place / "s.db"), "--json"]) in (0, 1)
assert main(["import", str(place / "said.jsonl"), "--store", str(place / "s.db")]) == 0
"""


def test_session_replay_and_doctor_run_without_what_only_posix_has(tmp_path: Path) -> None:
    ran = subprocess.run(  # our own Python and our own words
        [sys.executable, "-c", RUN.format(missing=MISSING), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "XDG_STATE_HOME": str(tmp_path / "state"), "PYTHONPATH": str(ROOT / "src")},
    )
    assert ran.returncode == 0, ran.stderr


def test_no_module_imports_what_only_posix_has_unless_it_can_do_without() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {*names} & {*MISSING}, f"{path} imports {names} at the top"


def test_what_is_supported_is_said_where_people_look() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    systems = {each.split(" :: ")[1] for each in project["classifiers"] if each.startswith("Operating System")}
    assert systems == {"POSIX", "MacOS", "Microsoft"}
    readme = (ROOT / "README.md").read_text()
    assert re.search(r"Linux.*macOS.*Windows", readme)


@pytest.mark.parametrize("name", ["O_CLOEXEC", "pwrite", "geteuid", "getuid", "fork", "fchmod", "mkfifo"])
def test_calls_that_windows_lacks_are_guarded(name: str) -> None:
    for path in (ROOT / "src").rglob("*.py"):
        for line in path.read_text().splitlines():
            if f"os.{name}" in line:
                guarded = "win32" in path.read_text() or f'hasattr(os, "{name}")' in path.read_text()
                assert guarded, f"{path}: {line.strip()}"
