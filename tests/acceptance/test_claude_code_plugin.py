"""The plugin for Claude Code: its files, what its hooks say, and the real agent with it where there is one."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.cli import main
from contextfold.cli.plugin import KEEP, digest, status_line
from contextfold.cli.projects import project_space
from contextfold.domain import encode
from contextfold.testing import histories
from contextfold.testing.server import Call, Question, Say, strict_server

ROOT = Path(__file__).parents[2]
CLAUDE = ROOT / ".clients" / "node_modules" / ".bin" / "claude"
LONGEST = 120  # seconds for one command of the agent


def transcript(path: Path, many: int = 12) -> Path:
    """A session as Claude Code records it."""
    rows, before = [], None
    for number in range(many):
        for role, text in (("user", f"Rename parser {number} in src/parser_{number}.py."), ("assistant", "Done.")):
            message = {"role": role, "content": [{"type": "text", "text": text}]}
            row = {
                "type": role,
                "uuid": f"{role}-{number}",
                "parentUuid": before,
                "sessionId": "s1",
                "message": message,
            }
            rows.append(
                {**row, "timestamp": f"2026-11-17T08:00:{number:02d}Z", "version": "2.1.0", "cwd": str(path.parent)}
            )
            before = row["uuid"]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def asked(given: dict[str, Any], store: Path, monkeypatch: pytest.MonkeyPatch, kind: str = "hook") -> int:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(encode(given))))
    return main(["plugin", "claude-code", "--answer", kind, "--quiet", "--store", str(store)])


def test_the_plugin_has_its_manifest_a_server_that_is_always_loaded_and_hooks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugin", "claude-code", "-o", str(tmp_path / "p"), "--store", str(tmp_path / "a.db"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (tmp_path / "a.db").exists(), "its server starts before anything is kept"
    files = {name: json.loads((tmp_path / "p" / name).read_text()) for name in told["files"]}
    assert files[".claude-plugin/plugin.json"]["name"] == "contextfold"
    server = files[".mcp.json"]["mcpServers"]["contextfold"]
    assert server["alwaysLoad"]
    assert server["args"] == ["mcp", "--project", f"--store={tmp_path / 'a.db'}"]
    assert set(files["hooks/hooks.json"]["hooks"]) == {"PreCompact", "PostCompact", "SessionStart"}
    assert "--answer status" in told["settings"]["statusLine"]["command"]


def test_before_a_compaction_the_transcript_is_kept_and_the_summary_told_what_to_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, store = transcript(tmp_path / "s1.jsonl"), tmp_path / "a.db"
    for event in ("PreCompact", "PostCompact"):
        given = {"hook_event_name": event, "session_id": "s1", "transcript_path": str(file), "cwd": str(tmp_path)}
        assert asked(given, store, monkeypatch) == 0
    assert capsys.readouterr().out == KEEP
    with cf.open(store, space=project_space(tmp_path)) as opened:
        assert [(row.title, row.messages) for row in opened.threads()] == [("s1", 24)], "and nothing twice"


def test_after_a_compaction_a_digest_of_the_whole_conversation_is_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = transcript(tmp_path / "s1.jsonl", many=200)
    given = {"hook_event_name": "SessionStart", "source": "compact", "session_id": "s1", "transcript_path": str(file)}
    assert asked(given, tmp_path / "a.db", monkeypatch) == 0
    told = json.loads(capsys.readouterr().out)["hookSpecificOutput"]
    assert told["hookEventName"] == "SessionStart"
    assert "thread 's1'" in told["additionalContext"]
    assert "parser" in told["additionalContext"]


@pytest.mark.finding("K17")
def test_what_was_said_in_one_project_is_recalled_in_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mcp")
    store = tmp_path / "a.db"
    monkeypatch.chdir(tmp_path)
    assert main(["plugin", "claude-code", "-o", "plugin", "--store", str(store), "--quiet"]) == 0
    server = json.loads((tmp_path / "plugin" / ".mcp.json").read_text())["mcpServers"]["contextfold"]
    projects = {name: tmp_path / name for name in ("mine", "stranger")}
    for name, directory in projects.items():
        (directory / "src").mkdir(parents=True)
        file = transcript(directory / f"{name}.jsonl")
        file.write_text(file.read_text().replace("Rename parser", f"The {name} password is {name}-8443. Rename parser"))
        # The agent's working directory is another one by then; where it was started is told by a variable.
        monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(directory))
        given = {
            "hook_event_name": "PreCompact",
            "session_id": name,
            "transcript_path": str(file),
            "cwd": str(tmp_path),
        }
        assert asked(given, store, monkeypatch) == 0
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    for name, directory in projects.items():
        other = "stranger" if name == "mine" else "mine"
        told = everything_told(server["args"], directory, other)
        assert f"{name}-8443" in told
        assert f"{other}-8443" not in told
        assert f"There is no thread '{other}'" in told
    assert "8443" not in everything_told(server["args"], projects["mine"] / "src", "mine"), "nor below it"


def everything_told(arguments: list[str], directory: Path, thread: str) -> str:
    """What the server that the plugin starts in a directory tells of all its tools and resources."""
    client = f"""
import asyncio, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def ask():
    arguments = ["-m", "contextfold", *{arguments!r}]
    given = StdioServerParameters(command=sys.executable, args=arguments, cwd={str(directory)!r})
    async with stdio_client(given) as streams, ClientSession(*streams) as session:
        await session.initialize()
        print(await session.call_tool("recall", {{"question": "What is the password?"}}))
        print(await session.call_tool("threads", {{}}))
        for name, given in (("recall", {{"question": "password"}}), ("timeline", {{}}), ("unfold", {{"fold": 1}})):
            print(await session.call_tool(name, {{"thread": {thread!r}, **given}}))
        print(await session.read_resource("contextfold://threads"))

asyncio.run(ask())
"""
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", client], env=environ, capture_output=True, text=True, timeout=LONGEST, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_hook_that_cannot_do_its_work_does_not_stop_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.db").write_text("this is no store")
    given = {"hook_event_name": "SessionStart", "session_id": "s1", "transcript_path": str(transcript(tmp_path / "x"))}
    assert asked(given, tmp_path / "a.db", monkeypatch) == 0
    assert capsys.readouterr().out == ""
    assert asked({}, tmp_path / "a.db", monkeypatch) == 0


@pytest.mark.finding("K11")
@pytest.mark.parametrize("settings", ["no TOML", "color = 5", 'store = "$(touch X).db"\npolicy = "nothing"'])
def test_no_settings_file_of_a_repository_stops_the_agent(tmp_path: Path, settings: str) -> None:
    """A hook that ends with 2 stops its agent, and what it says is told to the model."""
    cloned = tmp_path / "cloned"
    cloned.mkdir()
    (cloned / "contextfold.toml").write_text(settings)
    assert main(["plugin", "claude-code", "-o", str(tmp_path / "p"), "--store", str(tmp_path / "a.db"), "--quiet"]) == 0
    hooks = json.loads((tmp_path / "p" / "hooks" / "hooks.json").read_text())["hooks"]
    (hook,) = hooks["PreCompact"][0]["hooks"]
    environ = {"PATH": agents_path(tmp_path), "HOME": str(tmp_path)}
    given = encode({"hook_event_name": "PreCompact", "session_id": "s1", "cwd": str(cloned)})
    done = subprocess.run(["sh", "-c", hook["command"]], cwd=cloned, env=environ, input=given, check=False)
    assert done.returncode in (0, 1)
    assert [path.name for path in cloned.iterdir()] == ["contextfold.toml"]


def test_a_digest_is_shorter_than_what_it_stands_for() -> None:
    messages = [encode(message) for message in histories.session(5, tokens=20_000)]
    found = digest(messages)
    assert 0 < len(found) < sum(map(len, messages)) / 2


def test_the_status_line_shows_the_windows_fill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {
        "context_window": {"used_percentage": 43.2, "context_window_size": 200_000},
        "cost": {"total_cost_usd": 0.123},
        "model": {"display_name": "Opus"},
    }
    assert asked(given, tmp_path / "a.db", monkeypatch, "status") == 0
    assert capsys.readouterr().out == "████░░░░░░ 43 % · $0.12 · Opus"
    window = {"total_input_tokens": 50_000, "context_window_size": 200_000}
    assert status_line({"context_window": window}) == "██░░░░░░░░ 25 %"
    assert status_line({}) == "░░░░░░░░░░ 0 %"


def test_without_the_agent_installing_says_how_to_use_the_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert main(["plugin", "claude-code", "--install", "--store", str(tmp_path / "a.db")]) != 0
    assert "--plugin-dir" in capsys.readouterr().err


def agents_path(directory: Path) -> str:
    """A PATH on which `contextfold` is this source, and `claude` the one from the npm registry."""
    command = directory / "bin" / "contextfold"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" -m contextfold "$@"\n')
    command.chmod(0o755)
    return f"{command.parent}:{CLAUDE.parent}:{os.environ['PATH']}"


@pytest.mark.slow
@pytest.mark.skipif(not CLAUDE.exists(), reason="Claude Code is not installed. `make clients` installs it.")
def test_the_real_agent_recalls_compacts_and_is_handed_the_digest(tmp_path: Path) -> None:
    store = tmp_path / "agent.db"
    with cf.open(store, space=project_space(tmp_path)) as opened:
        opened.thread("old", model="claude-sonnet-5-5").append({"role": "user", "content": "The port is 8443."})
    environment = {"PATH": agents_path(tmp_path), "HOME": str(tmp_path), "CI": "1", "IS_SANDBOX": "1"}

    def run(*command: str) -> str:
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def model(question: Question) -> Say:
        shown = encode(question.body).decode()
        (recall,) = [tool["name"] for tool in question.body.get("tools", ()) if tool["name"].endswith("__recall")] or [
            ""
        ]
        if recall and "8443" not in shown:
            return Say("", (Call(recall, {"question": "which port?"}),))
        return Say("It is 8443." if "8443" in shown else "I do not know.")

    run("contextfold", "plugin", "claude-code", "-o", str(tmp_path / "plugin"), "--store", str(store))
    assert "passed" in run("claude", "plugin", "validate", str(tmp_path / "plugin"))
    agent = ["claude", "--dangerously-skip-permissions", "--model", "claude-sonnet-5-5"]
    agent += ["--plugin-dir", str(tmp_path / "plugin")]
    with strict_server() as server:
        environment |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": server.token}
        server.always(model)
        assert "8443" in run(*agent, "-p", "Which port do we use?")
        run(*agent, "--continue", "-p", "/compact")
        run(*agent, "--continue", "-p", "Go on.")
        sent = [encode(exchange.request).decode() for exchange in server.exchanges]
        assert {exchange.status for exchange in server.exchanges} == {200}
    assert any(KEEP in each for each in sent), "the summary was told what to keep"
    assert "From contextfold, which keeps this whole conversation" in sent[-1]
