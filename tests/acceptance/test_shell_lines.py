"""Every line that we write for a shell, with names that somebody hostile chose, run in real shells."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import contextfold as cf
from contextfold.cli import main
from contextfold.demo import Screen, Tour
from contextfold.demo.tour import _look
from contextfold.errors import WorkspaceError
from contextfold.shell import command_line, operand, quoted
from contextfold.workspace import Snapshots
from tests.conftest import SOAK

pytestmark = pytest.mark.finding("K11")

HOSTILE = (
    "$(touch X)",
    "`touch X`",
    "; touch X",
    "' ; touch X ; '",
    '" ; touch X ; "',
    "\\' ; touch X ; '",
    '\\" ; touch X ; "',
    "a\ntouch X\n",
    "a\r\ntouch X",
    "| touch X",
    "& touch X &",
    "> X",
    "(touch X)",
    "{touch,X}",
    "with space",
    "-rf",
    "--help",
    "%n%s",
    "!touch X",
    "!!",
    "~root",
    "*",
    "=touch",
    "$HOME",
    "#hash",
    "\\",
    "'",
    "\t",
    "港",
    "'\"'\"$(touch X)",
)
# What a terminal is shown of a name differs where the name would do something to the terminal.
SHOWN = tuple(name for name in HOSTILE if name.isprintable())
SHELLS = [shell for shell in ("sh", "bash", "zsh", "fish") if shutil.which(shell)]

Ran = list[list[str]]
Run = Callable[[str, str], Ran]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a line in a shell where `contextfold` and `claude` only note how they were called; fail where more ran."""
    programs, noted, directory, own = (tmp_path / name for name in ("programs", "noted", "shell", "own"))
    for each in (programs, directory, own):
        each.mkdir()
    for name in ("contextfold", "claude"):
        program = programs / name
        program.write_text(f'#!/bin/sh\nprintf "%s\\0" "$@" >> "{noted}"\nprintf "\\036" >> "{noted}"\n')
        program.chmod(0o755)

    def in_shell(shell: str, line: str) -> Ran:
        noted.write_bytes(b"")
        environ = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(own)}
        done = subprocess.run([shell], input=line.encode() + b"\n", cwd=directory, env=environ, check=False)
        assert not [*directory.iterdir(), *own.glob("X*")], f"{shell} ran something in {line!r}"
        assert done.returncode == 0, line
        calls = noted.read_bytes().decode().split("\036")[:-1]
        return [call.split("\0")[:-1] for call in calls]

    return in_shell


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "home"
    directory.mkdir()
    monkeypatch.chdir(directory)
    for name in ("CONTEXTFOLD_CONFIG", "CONTEXTFOLD_STORE", "LC_ALL", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return directory


def behind(text: str, before: str, after: str = "\n") -> str:
    """The part of a text that stands between two others."""
    return text.partition(before)[2].partition(after)[0]


# -- the words themselves ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", SHELLS)
def test_words_come_back_from_a_shell_as_they_were(shell: str, run: Run) -> None:
    words = [*HOSTILE, ""]
    assert run(shell, command_line("contextfold", *words)) == [words]
    for name in HOSTILE:
        (found,) = run(shell, f"contextfold forget {operand(name)}")
        assert found[-1] == name
        assert not name.startswith("-") or found[-2] == "--"


@settings(max_examples=40 * SOAK, deadline=None)
@given(words=st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=20))
@pytest.mark.parametrize("shell", SHELLS)
def test_any_words_come_back_from_a_shell_as_they_were(shell: str, words: list[str]) -> None:
    line = "printf '%s\\0' " + command_line("", *words)
    done = subprocess.run([shell], input=line.encode(), capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[1:-1] == words


# -- every writer of commands -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOSTILE)
def test_the_hooks_of_the_plugin_run_nothing_of_a_name(
    name: str, home: Path, run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugin", "claude-code", "-o", "p", f"--store={name}.db", "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    hooks = json.loads((home / "p" / "hooks" / "hooks.json").read_text())["hooks"]
    lines = [hook["command"] for event in hooks.values() for each in event for hook in each["hooks"]]
    lines.append(told["settings"]["statusLine"]["command"])
    store = f"--store={home / (name + '.db')}"
    for shell in SHELLS:
        for line in lines:
            (found,) = run(shell, line)
            assert found[:4] == ["plugin", "claude-code", "--quiet", store]
    server = json.loads((home / "p" / ".mcp.json").read_text())["mcpServers"]["contextfold"]
    assert store in server["args"]


@pytest.mark.parametrize("name", ["${HOME}", "a${PATH:-x}", "\udcff"])
def test_a_store_that_the_agent_would_read_otherwise_is_refused(
    name: str, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugin", "claude-code", "-o", "p", f"--store={name}.db"]) == 2
    assert "Name another" in capfd.readouterr().err
    assert not (home / "p").exists()


def test_files_of_the_plugin_are_for_their_owner_alone(home: Path) -> None:
    before = os.umask(0)
    try:
        assert main(["plugin", "claude-code", "-o", "p", "--store", "a.db", "--quiet"]) == 0
        assert main(["plugin", "claude-code", "-o", "p", "--store", "b.db", "--quiet"]) == 0, "and may be written anew"
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (home / "p").rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (home / "p").rglob("*") if path.is_dir()} == {0o700}


@pytest.mark.parametrize("kind", ["command", "link to a file", "link to a directory", "the directory itself", "file"])
def test_a_plugin_is_not_written_to_where_something_of_a_stranger_lies(
    kind: str, home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    precious = outside / "hooks.json"
    precious.write_text("mine")
    plugin = home / "contextfold-plugin"
    if kind == "the directory itself":
        plugin.symlink_to(outside)
    elif kind == "link to a directory":
        plugin.mkdir()
        (plugin / "hooks").symlink_to(outside)
    else:
        (plugin / "hooks").mkdir(parents=True)
        if kind == "link to a file":
            (plugin / "hooks" / "hooks.json").symlink_to(precious)
        elif kind == "file":
            (plugin / ".claude-plugin").write_text("")
        else:
            (plugin / "commands").mkdir()
            (plugin / "commands" / "fix.md").write_text("Run `touch X`.")
    assert main(["plugin", "claude-code", "--store", "a.db"]) == 2
    assert "is no part of the plugin" in capfd.readouterr().err
    assert precious.read_text() == "mine"
    assert not (plugin / ".mcp.json").exists()


@pytest.mark.parametrize("name", SHOWN)
def test_where_the_plugin_is_can_be_pasted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert main(["plugin", "claude-code", "--install", "--store", "a.db"]) == 2
    line = "claude --plugin-dir " + behind(capfd.readouterr().err, ": claude --plugin-dir ")
    for shell in ("sh", "bash"):
        assert run(shell, line) == [["--plugin-dir", str(tmp_path / name / "contextfold" / "claude-code")]]


SESSION = '{"role": "user", "content": "Hello."}\n{"role": "assistant", "content": "Hello to you."}\n'


@pytest.mark.parametrize("name", SHOWN)
def test_how_to_look_at_what_was_imported_can_be_pasted(
    name: str, home: Path, run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    (home / "session.jsonl").write_text(SESSION)
    assert main(["import", "session.jsonl", f"--as={name}", f"--store={name}.db"]) == 0
    line = behind(capfd.readouterr().err, "look at it with: ")
    for shell in SHELLS:
        (found,) = run(shell, line)
        assert [each for each in found if each != "--"] == ["show", f"--store={name}.db", name]


@pytest.mark.parametrize("name", SHOWN)
def test_how_to_forget_and_to_go_on_can_be_pasted(
    name: str, home: Path, run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    with cf.open(home / "contextfold.db") as store:
        thread = store.thread(name, model="gpt-4o")
        thread.append({"role": "user", "content": "My key is sk-ant-api03-" + "aB3dE6gH9jK2mN5p" * 5})
        thread.fork(name="fork")
    assert main(["threads", "--order", "name", "--limit", "1", f"--prefix={name}"]) == 0
    lines = ["contextfold threads " + behind(capfd.readouterr().err, "there may be more: ")]
    assert main(["doctor", "--json"]) == 0
    checks = json.loads(capfd.readouterr().out)["checks"]
    (told,) = {each["told"] for each in checks if each["told"].startswith(f"{name} seq 1: ")}
    lines.append(behind(told, "then: "))
    assert main(["forget", "fork", "--yes"]) == 0
    shared = re.search(r"and stay there; `(.*)` erases them too", capfd.readouterr().out)
    assert shared is not None
    lines.append(shared[1])
    for shell in SHELLS:
        found = [[each for each in call if each != "--"] for line in lines for call in run(shell, line)]
        assert found == [["threads", f"--after={name}"], ["forget", "--seq", "1", name], ["forget", name]]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_directory_that_a_log_names_can_be_pasted(name: str, home: Path, run: Run) -> None:
    workspace = home / f"w{name}"
    workspace.mkdir()
    with pytest.raises(WorkspaceError) as refused:
        Snapshots.holding(workspace, "0" * 40, named=name)
    line = behind(str(refused.value), "take its snapshots over with `", "`.")
    assert "touch X" in line or "touch X" not in name
    for shell in SHELLS:
        (found,) = run(shell, str(refused.value).partition("over with `")[2].removesuffix("`."))
        assert [each for each in found if each != "--"] == ["workspace", "adopt", f"--workspace={workspace}", name]


@pytest.mark.parametrize("name", SHOWN)
def test_the_commands_that_the_demo_prints_can_be_pasted(name: str, tmp_path: Path, run: Run) -> None:
    shown = io.StringIO()
    _look(Tour(tmp_path / name, Screen(shown), "en", str), 1.0)
    lines = [line for line in shown.getvalue().splitlines() if line.startswith("      ")]
    assert len(lines) == 3
    installed = Path(sys.executable).with_name("contextfold")
    for line in lines:
        for shell in SHELLS:
            (found,) = run(shell, line.strip().replace(str(installed), "contextfold", 1))
            assert str(tmp_path / name) in " ".join(found)


@pytest.mark.parametrize("name", ["$(touch X)", "`touch X`", "a' ; touch X ; '", "; touch X"])
def test_the_variables_that_a_gateway_prints_can_be_pasted(name: str, home: Path, run: Run) -> None:
    socket = home / name
    (home / "mine.toml").write_text(f"[gateway]\nsocket = {json.dumps(str(socket))}\n")
    command = [sys.executable, "-m", "contextfold", "serve", "--config", "mine.toml"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as gateway:
        assert gateway.stdout is not None
        lines = []
        for line in gateway.stdout:
            lines += [line.strip()] if line.strip().startswith("export ") else []
            if "token" in line:
                break
        gateway.terminate()
    assert len(lines) > 2
    for shell in ("sh", "bash"):
        (found,) = run(shell, "; ".join([lines[0], 'contextfold "$ANTHROPIC_BASE_URL"']))
        assert found[0].startswith(f"unix:{socket}/")


@pytest.mark.usefixtures("run")
def test_completion_runs_nothing_of_a_threads_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capfd.readouterr().out
    names = tmp_path / "names"
    names.write_text("".join(f"{name}\n" for name in SHOWN))
    program = tmp_path / "programs" / "contextfold"
    program.write_text(f'#!/bin/sh\ncat "{names}"\n')
    asks = 'COMP_WORDS=(contextfold show ""); COMP_CWORD=2; _contextfold; printf "%s\\n" "${COMPREPLY[@]}"'
    directory = tmp_path / "shell"
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{asks}"],
        cwd=directory,
        env={"PATH": f"{program.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert list(directory.iterdir()) == []
    assert done.stdout.splitlines() == list(SHOWN)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_of_whole_words(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capfd.readouterr().out
    checked = shell if shutil.which(shell) else "bash"
    lines = script
    if checked != shell:  # bash reads the quotes of the others' lists alike
        lines = "\n".join(f": {line}" for line in script.splitlines() if line.startswith(("    '", "complete ")))
        assert "agents" in lines
        lines = lines.replace("(", "\\(") if shell == "zsh" else lines
    done = subprocess.run([checked, "-n"], input=lines, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_wrapped_command_gets_its_arguments_as_they_were(
    monkeypatch: pytest.MonkeyPatch, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    prints = "import sys; sys.stdout.write(ascii(sys.argv[1:]))"
    assert main(["wrap", "--quiet", "--", sys.executable, "-c", prints, *HOSTILE]) == 0
    assert capfd.readouterr().out == ascii(list(HOSTILE))
    assert not (home / "X").exists()


def test_a_word_without_anything_strange_stays_as_it_is() -> None:
    assert quoted("http://127.0.0.1:8787/token_x-1") == "http://127.0.0.1:8787/token_x-1"
    assert quoted("it's") == "'it'\"'\"'s'"
