"""Each framework's newest release with contextfold in one line: forty turns with tools, parallel calls and reasoning.

The strict server refuses nothing, the owner's messages stay as they are, and the store holds each of them once.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.testing.server import Call, Question, Say, StrictServer
from tests.acceptance.agents.drive import INSTALLED, ROOT, environment
from tests.acceptance.frameworks.task import PATHS, TURNS
from tests.acceptance.judge import strict_server
from tests.conftest import SOAK

PROGRAMS = Path(__file__).parent / "frameworks"
LONGEST = 240  # seconds for one run, on a busy machine

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


def run(
    program: str, *arguments: str, server: StrictServer, directory: Path, installed: Path = INSTALLED
) -> dict[str, Any]:
    for _ in range(TURNS):
        server.answer(both, Say("Both are fine."))
    done = subprocess.run(
        [str(installed / "python"), str(PROGRAMS / program), *arguments],
        cwd=directory,
        env={**environment(server.url, server.token, directory), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 0, f"{program} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


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
    refused = [exchange.refused for exchange in server.exchanges if exchange.status != 200]
    assert refused == []
    assert len(server.exchanges) == 2 * TURNS
    assert told["folds"] >= 10
    assert told["changed"] == 0
    with cf.open(tmp_path / "agent.db", read_only=True) as store:
        (thread,) = store.threads()
        assert thread.messages == told["messages"], "nothing twice, nothing lost"
