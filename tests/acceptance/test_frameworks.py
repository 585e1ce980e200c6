"""Each framework's newest release with contextfold in one line: forty turns with tools, parallel calls and reasoning.

The strict server refuses nothing, the owner's messages stay as they are, and the store holds each of them once.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.testing.server import Call, Question, Say, StrictServer
from tests.acceptance.agents.drive import INSTALLED as NEWEST
from tests.acceptance.agents.drive import ROOT, environment
from tests.acceptance.frameworks.task import PATHS, TURNS
from tests.acceptance.judge import strict_server
from tests.conftest import SOAK

PROGRAMS = Path(__file__).parent / "frameworks"
EXAMPLES = ROOT / "examples" / "frameworks"
INSTALLED = ROOT / os.environ.get("CONTEXTFOLD_FRAMEWORKS", NEWEST)  # `make oldest` has the oldest releases elsewhere
LONGEST = 600  # seconds for one run, on a machine with much else to do: it is there to end one that hangs

pytestmark = pytest.mark.skipif(
    not INSTALLED.is_dir(), reason="The frameworks are not installed. `make agents` installs them."
)


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server() as server:
        yield server


def both(asked: Question) -> Say:
    thought = "" if asked.format == "openai-chat" else "Both at once."
    return Say("I read both.", tuple(Call("read", {"path": path}) for path in PATHS), thought)


def unthinking(asked: Question) -> Say:
    return replace(both(asked), thinking="")


def run(
    program: str,
    *arguments: str,
    server: StrictServer,
    directory: Path,
    installed: Path = INSTALLED,
    say: Callable[[Question], Say] = both,
) -> dict[str, Any]:
    for _ in range(TURNS):
        server.answer(say, Say("Both are fine."))
    told: dict[str, Any] = json.loads(
        printed(PROGRAMS / program, *arguments, server=server, at=directory, by=installed)
    )
    return told


def printed(program: Path, *arguments: str, server: StrictServer, at: Path, by: Path) -> str:
    """The last line that a program prints which sees the server as every provider."""
    done = subprocess.run(
        [str(by / "python"), str(program), *arguments],
        cwd=at,
        env={**environment(server.url, server.token, at), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 0, f"{program.name} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout.splitlines()[-1]


# Each framework with the provider that binds its reasoning most; the others come with `make soak`.
soak = pytest.mark.skipif(SOAK == 1, reason="One provider of each framework is enough; `make soak` runs them all.")
RUNS = [
    pytest.param("langchain_run.py", "anthropic:claude-opus-5-5"),
    pytest.param("langchain_run.py", "openai:gpt-6-sol", marks=soak),
    pytest.param("langchain_run.py", "google_genai:gemini-3.8-flash", marks=soak),
    pytest.param("openai_agents_run.py", "responses:gpt-6-sol"),
    pytest.param("openai_agents_run.py", "chat_completions:gpt-4.1", marks=soak),
    pytest.param("pydantic_ai_run.py", "anthropic:claude-opus-5-5"),
    pytest.param("pydantic_ai_run.py", "openai-responses:gpt-6-sol", marks=soak),
    pytest.param("pydantic_ai_run.py", "google:gemini-3.8-flash", marks=soak),
    pytest.param("adk_run.py", "gemini-3.8-flash"),
    pytest.param("agent_framework_run.py", "responses:gpt-6-sol"),
    pytest.param("agent_framework_run.py", "chat:gpt-4.1", marks=soak),
]


@pytest.mark.slow
@pytest.mark.parametrize(("program", "model"), RUNS)
def test_forty_turns_fold_and_nothing_is_refused_or_changed(
    program: str, model: str, server: StrictServer, tmp_path: Path
) -> None:
    told = run(program, model, str(tmp_path / "agent.db"), server=server, directory=tmp_path)
    check(told, server)
    with cf.open(tmp_path / "agent.db", read_only=True) as store:
        (thread,) = store.threads()
        assert thread.messages == told["messages"], "nothing twice, nothing lost"


def check(told: dict[str, Any], server: StrictServer) -> None:
    assert [exchange.refused for exchange in server.exchanges if exchange.status != 200] == []
    assert len(server.exchanges) == 2 * TURNS
    assert told["folds"] >= 10
    assert told["changed"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("program", "model"), RUNS)
def test_in_memory_turns_are_taken_in_the_frameworks_own_loop_and_come_to_the_same(
    program: str, model: str, server: StrictServer, tmp_path: Path
) -> None:
    check(run(program, model, "", server=server, directory=tmp_path), server)


@pytest.mark.slow
@pytest.mark.skipif(INSTALLED != NEWEST, reason="LiteLLM is driven with the newest releases.")
def test_what_litellms_proxy_calls_folds_and_nothing_is_refused_or_changed(
    server: StrictServer, tmp_path: Path
) -> None:
    store = tmp_path / "agent.db"
    told = run("litellm_hooks_run.py", "openai/gpt-4.1", str(store), server=server, directory=tmp_path)
    assert [exchange.refused for exchange in server.exchanges if exchange.status != 200] == []
    assert len(server.exchanges) == 2 * told["turns"]
    assert told["folds"] >= 1
    assert told["changed"] == 0
    with cf.open(store, read_only=True) as opened:
        (thread,) = opened.threads()
        assert thread.messages == told["messages"], "nothing twice, nothing lost"


READS = tuple(Call("read", {"path": path}) for path in PATHS)
TASK = Call("task", {"description": "Look at both files.", "subagent_type": "general-purpose"})


@pytest.mark.slow
@pytest.mark.skipif(INSTALLED != NEWEST, reason="Deep agents are driven with the newest releases.")
def test_a_deep_agent_folds_and_each_run_of_its_sub_agent_is_a_thread_of_its_own(
    server: StrictServer, tmp_path: Path
) -> None:
    for _ in range(12):
        server.answer(Say("I have it looked at.", (*READS, TASK)), Say("", READS), "They are fine.", "Both are fine.")
    program, store = PROGRAMS / "deepagents_run.py", tmp_path / "agent.db"
    arguments = "anthropic:claude-sonnet-4-5", str(store)
    told = json.loads(printed(program, *arguments, server=server, at=tmp_path, by=INSTALLED))
    assert [exchange.refused for exchange in server.exchanges if exchange.status != 200] == []
    assert len(server.exchanges) == 4 * told["turns"]
    assert told["changed"] == 0
    with cf.open(store, read_only=True) as opened:
        threads = {thread.title: thread for thread in opened.threads()}
    deep = threads.pop("deep")
    assert deep.messages == told["messages"], "nothing of the sub-agents, nothing twice"
    assert deep.folds >= 1
    assert len(threads) == told["turns"]
    assert {(title.partition("/")[0], thread.messages) for title, thread in threads.items()} == {("deep", 5)}


@soak
@pytest.mark.slow
@pytest.mark.parametrize("example", sorted(path.stem for path in EXAMPLES.glob("*.py") if "openhands" not in path.stem))
def test_every_example_for_a_framework_reads_its_file_and_answers(
    example: str, server: StrictServer, tmp_path: Path
) -> None:
    reads_its_notes(example, server, tmp_path, INSTALLED)


def reads_its_notes(example: str, server: StrictServer, tmp_path: Path, by: Path, messages: int = 4) -> None:
    """Run an example as its first line says."""
    (tmp_path / "notes.md").write_text("Three notes: one, two, three.\n")
    server.answer(Say("Let me look.", (Call("read_file", {"path": "notes.md"}),)), "There are three notes.")
    said = printed(EXAMPLES / f"{example}.py", server=server, at=tmp_path, by=by)
    assert said.endswith("There are three notes.")
    assert [exchange.status for exchange in server.exchanges] == [200, 200]
    with cf.open(tmp_path / "agent.db", read_only=True) as store:
        (thread,) = store.threads()
        assert thread.messages == messages
