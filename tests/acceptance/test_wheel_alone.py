"""The wheel by itself, with the three packages it needs and nothing else: demo, replay and the tutorial run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ("apsw", "msgspec", "splintr")
LACKING = {
    "serve": "gateway",
    "wrap --to openai true": "gateway",
    "inspect here.db": "inspector",
    "mcp --store here.db": "mcp",
    "threads --store postgresql://nobody@127.0.0.1:1/none": "postgres",
}
ADAPTERS = {
    "adk": "adk",
    "agent_framework": "agent-framework",
    "langchain": "langchain",
    "litellm": "litellm",
    "mcp": "mcp",
    "openai_agents": "openai-agents",
    "pydantic_ai": "pydantic-ai",
}
EVERY_COMMAND = """
import os, sys
from contextfold.cli.main import main
for language in ("en", "ja"):
    os.environ["CONTEXTFOLD_LANGUAGE"] = language
    for command in sys.argv[1:]:
        print(main(command.split()), file=sys.stderr)
"""
EVERY_ADAPTER = """
import importlib, sys
for room in sys.argv[1:]:
    try:
        importlib.import_module("contextfold." + room)
    except ModuleNotFoundError as error:
        print(error)
"""
FENCED = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the unpacked wheel and the core's dependencies."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    installed = folder / "installed"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(installed)
    for name in CORE:
        found = find_spec(name)
        assert found is not None
        place = Path((found.submodule_search_locations or [found.origin or ""])[0])
        (installed / place.name).symlink_to(place)
    return installed


def run(alone: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python without its site-packages: what is not in the directory cannot be imported."""
    environment = {"PYTHONPATH": str(alone), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(folder)}
    command = [sys.executable, "-S", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
    )


@pytest.mark.finding("N11")
def test_the_wheel_alone_runs_the_demo_and_a_replay(alone: Path, tmp_path: Path) -> None:
    shown = run(alone, tmp_path, "-m", "contextfold", "demo", "here")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.count("  ok ") == 3
    told = run(alone, tmp_path, "-m", "contextfold", "replay", "here/session.jsonl", "-w", "64k", "--html", "r.html")
    assert told.returncode == 0, told.stderr
    assert "you would have paid" in told.stdout
    assert (tmp_path / "r.html").read_text("utf-8").startswith("<!doctype html>")
    assert run(alone, tmp_path, "-c", "import anthropic").returncode != 0  # nothing else was within reach


@pytest.mark.finding("N11")
@pytest.mark.parametrize("page", ["docs/tutorial.md", "docs/ja/tutorial.md", "README.md"])
def test_the_wheel_alone_runs_the_programs_of_the_tutorial(alone: Path, tmp_path: Path, page: str) -> None:
    programs = FENCED.findall((ROOT / page).read_text("utf-8"))
    assert programs
    (tmp_path / "programs.py").write_text("\n".join(programs), "utf-8")
    done = run(alone, tmp_path, "programs.py")
    assert done.returncode == 0, done.stderr


@pytest.mark.finding("N11")
def test_a_command_without_its_extra_says_in_both_languages_what_to_install(alone: Path, tmp_path: Path) -> None:
    (tmp_path / "here.db").touch()
    told = run(alone, tmp_path, "-c", EVERY_COMMAND, *LACKING)
    assert told.returncode == 0, told.stderr
    lines = told.stderr.splitlines()
    assert lines[1::2] == ["2"] * 2 * len(LACKING), told.stderr
    for at, (line, extra) in enumerate(zip(lines[::2], [*LACKING.values()] * 2, strict=True)):
        assert f"pip install 'contextfold[{extra}]'" in line
        assert line.isascii() is (at < len(LACKING)), line


@pytest.mark.finding("N11")
def test_an_adapter_without_its_framework_says_in_both_languages_what_to_install(alone: Path, tmp_path: Path) -> None:
    told = run(alone, tmp_path, "-c", EVERY_ADAPTER, *ADAPTERS)
    assert (told.returncode, told.stderr) == (0, "")
    for line, extra in zip(told.stdout.splitlines(), ADAPTERS.values(), strict=True):
        assert f" is not installed: pip install 'contextfold[{extra}]'. " in line
        assert line.endswith(f" が未インストールです: pip install 'contextfold[{extra}]'")


@pytest.mark.finding("N11")
def test_the_door_that_mcp_shares_with_the_gateway_needs_no_web_client(alone: Path, tmp_path: Path) -> None:
    done = run(alone, tmp_path, "-c", "from contextfold.gateway.door import Door")
    assert done.returncode == 0, done.stderr
