"""Every example runs against a provider that refuses what the real ones refuse."""

from __future__ import annotations

import importlib
import re
import runpy
import sys
import warnings
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.testing.server import Call, Say, StrictServer
from tests.acceptance.judge import strict_server

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
DOCS = EXAMPLES.parent / "docs" / "guides"
GUIDES = sorted(path.stem for path in DOCS.glob("*.md") if "```python" in path.read_text("utf-8"))
FENCED = re.compile(r"^```(python|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
READ = Say("Let me look.", (Call("read_file", {"path": "notes.md"}),))
MULTIPLY = Say("", (Call("multiply", {"a": 6, "b": 7}),))


def point_at(server: StrictServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every SDK is configured by the environment alone."""
    for variable, value in {
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_API_KEY": server.token,
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "OPENAI_API_KEY": server.token,
        "GOOGLE_GEMINI_BASE_URL": server.url,
        "GOOGLE_API_KEY": server.token,
    }.items():
        monkeypatch.setenv(variable, value)
    with warnings.catch_warnings():  # Google's own source warns where it was not compiled yet
        warnings.simplefilter("ignore")
        importlib.import_module("google.genai")


def run(name: str, server: StrictServer, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """The example as a user starts it."""
    point_at(server, monkeypatch)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.md").write_text("Three notes: one, two, three.\n")
    for name in ("GEMINI_API_KEY", "ANTHROPIC_AUTH_TOKEN", "LOCAL_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", ["anthropic_agent", "openai_agent"])
def test_an_agent_calls_its_tool_and_answers(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with strict_server() as server:
        server.answer(READ, "There are three notes.")
        run(name, server, monkeypatch, "What", "is", "in", "notes.md?")
        assert [exchange.status for exchange in server.exchanges] == [200, 200]
        assert server.refused == []
    assert "There are three notes." in capsys.readouterr().out
    assert kept(name.replace("_", "-")) == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize("name", ["gemini_chat", "local_chat"])
def test_a_chat_remembers(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with strict_server() as server:
        server.answer("Hello to you.", "You said hello.")
        run(name, server, monkeypatch)
        assert server.refused == []
        assert len(server.exchanges) == 2
    assert capsys.readouterr().out == "Hello to you.\nYou said hello.\n"
    assert kept(name.replace("_", "-")) == ["user", "assistant"] * 2


def test_a_local_server_with_a_smaller_window_is_believed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "6000")
    long = [f"Remember number {number}: " + "word " * 400 for number in range(14)]
    with strict_server(window=3_500) as server:
        server.always("Noted.")
        run("local_chat", server, monkeypatch, *long)
        assert [exchange.status for exchange in server.exchanges].count(400) == 1
    assert capsys.readouterr().out == "Noted.\n" * len(long)
    assert len(kept("local-chat")) == 2 * len(long)


def test_a_plain_loop_needs_no_sdk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with strict_server() as server:
        server.answer(MULTIPLY, "It is 42.")
        run("plain_loop", server, monkeypatch)
        assert server.refused == []
    assert capsys.readouterr().out == "It is 42.\n"
    assert kept("plain-loop") == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize("guide", GUIDES)
def test_every_block_of_a_guide_runs(guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, object] = {}
    blocks = FENCED.findall((DOCS / f"{guide}.md").read_text("utf-8"))
    with strict_server() as server:
        point_at(server, monkeypatch)
        monkeypatch.setenv("CONTEXTFOLD_TRUST", "1")  # as `contextfold trust` would, once a reader ran it
        server.always("It is src/parser.py.")
        for kind, block in blocks:
            if kind == "toml" and "[models" in block:
                (tmp_path / "contextfold.toml").write_text(block)
            elif kind == "python":
                exec(compile(block, guide, "exec"), names)  # noqa: S102  # our own documentation
        assert server.refused == []
        assert bool(server.exchanges) == any("client" in block for _, block in blocks)
    for name in ("session", "client"):
        close = getattr(names.get(name), "close", None)
        if close is not None:
            close()


def test_every_example_is_tested_and_listed() -> None:
    tested = Path(__file__).read_text()
    listed = (EXAMPLES / "README.md").read_text()
    for name in NAMES:
        assert f'"{name}"' in tested
        assert f"({name}.py)" in listed


def kept(thread: str) -> list[str]:
    """Who spoke in what is left in the store, everything included."""
    with cf.open("agent.db") as store:
        assert store.verify() == []
        found = store.thread(thread)
        events = [logged for logged in found.events if type(logged.event).__name__ == "Appended"]
        return [found.message(logged.seq).role for logged in events]
