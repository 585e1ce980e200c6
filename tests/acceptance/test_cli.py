"""The command line as a user runs it: processes, pipes, signals, exit codes."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.domain import encode
from contextfold.testing import histories

COMMAND = [sys.executable, "-m", "contextfold"]
MODEL = "claude-sonnet-5-5"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A directory with a recorded session in it."""
    messages = histories.session(3, tokens=4_000)
    (tmp_path / "session.jsonl").write_bytes(b"\n".join(map(encode, messages)) + b"\n")
    return tmp_path


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CONTEXTFOLD_", "LC_"))}
    return {**kept, "LANG": "C.UTF-8", **more}


def run(here: Path, *arguments: str, given: bytes | None = None, **more: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=here, env=environment(**more), input=given, capture_output=True, timeout=240
    )


def test_a_first_minute_at_the_command_line(here: Path) -> None:
    assert b"usage: contextfold" in run(here, "--help").stdout
    imported = run(here, "import", "session.jsonl", "--model", MODEL)
    assert imported.returncode == 0
    assert b"contextfold show --store=contextfold.db session" in imported.stderr
    shown = run(here, "show")
    assert shown.returncode == 0
    assert shown.stdout.decode().startswith("session · claude-sonnet-5-5")
    assert run(here, "fold", "--instructions", "focus on the API changes", "--to", "2k").returncode == 0
    assert run(here, "verify").returncode == 0
    replayed = run(here, "replay", "session.jsonl", "--window", "4k", "--max-tokens", "500", "--json")
    assert replayed.returncode == 0
    assert json.loads(replayed.stdout)["totals"]


def test_commands_work_in_pipes(here: Path) -> None:
    body = run(here, "import", "-", "--as", "piped", given=b'{"role":"user","content":"hello"}\n')
    assert body.returncode == 0
    request = run(here, "export", "piped", "--format", "request", "--dialect", "openai-chat")
    checked = run(here, "validate", "-", "--dialect", "openai-chat", given=request.stdout)
    assert checked.returncode == 0, checked.stderr
    assert run(here, "count", "--text", "-", given="折りたたみ".encode()).returncode == 0


def test_whoever_stops_reading_stops_the_command_quietly(here: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "models"], cwd=here, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        errors = process.stderr.read() if process.stderr is not None else b""
        assert process.wait(240) in (0, 141)
    assert errors == b""


def test_errors_are_one_line_and_an_exit_code(here: Path) -> None:
    for arguments, code in (
        (("show",), 3),
        (("verify", "--store", "session.jsonl"), 5),
        (("frobnicate",), 2),
    ):
        ended = run(here, *arguments)
        assert ended.returncode == code, ended.stderr
        assert ended.stdout == b""
        assert ended.stderr.startswith(b"contextfold: ")
        assert b"Traceback" not in ended.stderr


def test_a_terminal_without_unicode_gets_escapes_instead_of_an_error(here: Path) -> None:
    told = run(here, "verify", "--lang", "ja", LANG="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert told.returncode == 3
    assert b"\\u898b" in told.stderr


def test_a_terminal_gets_colour_unless_it_says_no(here: Path) -> None:
    assert b"\x1b[" in on_terminal(here, "models", MODEL)
    assert b"\x1b[" not in on_terminal(here, "models", MODEL, NO_COLOR="1")


def on_terminal(here: Path, *arguments: str, **more: str) -> bytes:
    """What a command writes on a terminal of its own."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=here,
        env=environment(TERM="xterm", **more),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        written = b"".join(_until_closed(ours))
        assert process.wait(240) == 0
    os.close(ours)
    return written


def _until_closed(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux says EIO when the last process lets go
            return
        if not piece:
            return
        yield piece


def test_a_replay_cut_by_ctrl_c_leaves_a_usable_result(here: Path) -> None:
    names = [f"copy-{number}.jsonl" for number in range(40)]
    for name in names:
        (here / name).write_bytes((here / "session.jsonl").read_bytes())
    command = ["replay", *names, "--window", "4k", "--max-tokens", "500", "-j", "1", "--keep", "kept.jsonl", "--json"]
    command.append("--no-retention")
    with subprocess.Popen(
        [*COMMAND, *command], cwd=here, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        while process.poll() is None and _lines(here / "kept.jsonl") < 3:
            try:
                process.wait(0.02)
            except subprocess.TimeoutExpired:
                continue
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=240)
    assert process.returncode == 130, errors
    cut = json.loads(out)
    assert cut["complete"] is False
    assert 0 < len(cut["rows"]) < 2 * len(names)
    assert b"Traceback" not in errors
    rest = run(here, "replay", *names[:3], *command[1 + len(names) :])
    assert rest.returncode == 0
    assert json.loads(rest.stdout)["complete"] is True


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_ctrl_c_while_reading_ends_cleanly(here: Path) -> None:
    spool = here / "spool"
    spool.mkdir()
    with subprocess.Popen(
        [*COMMAND, "import", "-", "--as", "slow"],
        cwd=here,
        env=environment(TMPDIR=str(spool)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b'{"role":"user","content":"hi"}\n')
        process.stdin.flush()
        while process.poll() is None and not any(spool.rglob("stdin")):
            try:
                process.wait(0.02)
            except subprocess.TimeoutExpired:
                continue
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=240)[1]
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert b"interrupted" in errors
    assert not (here / "contextfold.db").exists()  # nothing was read, so nothing is left behind
    assert not any(spool.iterdir())


@pytest.mark.parametrize("shell", ["bash"])
def test_the_completion_script_completes(here: Path, shell: str) -> None:
    script = run(here, "completion", shell).stdout.decode()
    asked = "COMP_WORDS=(contextfold fo); COMP_CWORD=1; _contextfold; echo ${COMPREPLY[@]}"
    told = subprocess.run([shell, "-c", f"{script}\n{asked}"], capture_output=True, text=True, cwd=here, timeout=240)
    assert set(told.stdout.split()) == {"folds", "fold", "fork", "forget"}, told.stderr


def test_a_live_store_is_backed_up_while_somebody_writes(here: Path) -> None:
    with cf.open(here / "contextfold.db") as store:
        thread = store.thread("t", model=MODEL)
        thread.append({"role": "user", "content": "before"})
        assert run(here, "backup", "copy.db").returncode == 0
        thread.append({"role": "user", "content": "after"})
    with cf.open(here / "copy.db") as copy:
        assert [message.text for message in copy.thread("t").view.messages] == ["before"]
        assert copy.verify() == []
