"""Frameworks too large for every run, LiteLLM's proxy, Claude's and OpenHands' SDKs: `make frameworks` drives them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.testing.server import StrictServer
from tests.acceptance.agents.drive import ROOT
from tests.acceptance.frameworks.task import TURNS
from tests.acceptance.judge import strict_server
from tests.acceptance.test_frameworks import run, unthinking

INSTALLED = ROOT / ".venv-frameworks" / "bin"
pytestmark = pytest.mark.skipif(
    not INSTALLED.is_dir(), reason="These frameworks are not installed. `make frameworks` installs and drives them."
)


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server() as server:
        yield server


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", ["chat:openai/gpt-4.1", "anthropic:anthropic/claude-sonnet-5-5", "responses:openai/gpt-6-sol"]
)
def test_forty_turns_through_a_proxy_fold_and_nothing_is_refused(
    model: str, server: StrictServer, tmp_path: Path
) -> None:
    store = tmp_path / "agent.db"
    told = run("litellm_run.py", model, str(store), server=server, directory=tmp_path, installed=INSTALLED)
    assert [exchange.refused for exchange in server.exchanges if exchange.status != 200] == []
    assert len(server.exchanges) == 2 * TURNS
    assert told["folds"] >= 10
    assert told["changed"] == 0
    with cf.open(store, read_only=True) as opened:
        (thread,) = opened.threads()
        assert thread.messages == told["messages"], "nothing twice, nothing lost"


def test_a_session_store_of_the_claude_agent_sdk_keeps_its_contracts(server: StrictServer, tmp_path: Path) -> None:
    told = run("claude_agent_run.py", str(tmp_path), server=server, directory=tmp_path, installed=INSTALLED)
    user, mode = {"type": "user", "uuid": "a", "n": 1}, {"type": "mode"}
    assert told["files"] >= 14, "each contract had a file of its own"
    assert told["kept"] == [user, mode, mode], "an entry that has an identity comes once"
    assert told["after"] == [user, mode], "what was deleted may come again"
    assert told["problems"] == 0


OPENHANDS = ROOT / ".venv-openhands" / "bin"
needs_openhands = pytest.mark.skipif(
    not OPENHANDS.is_dir(), reason="OpenHands wants Python 3.12. `make frameworks` installs and drives it."
)


@needs_openhands
@pytest.mark.slow
@pytest.mark.parametrize("model", ["openai/gpt-4.1", "anthropic/claude-sonnet-4-5"])
def test_forty_turns_of_openhands_are_condensed_and_nothing_is_refused_or_changed(
    model: str, server: StrictServer, tmp_path: Path
) -> None:
    store = tmp_path / "agent.db"
    where: Any = {"server": server, "directory": tmp_path, "installed": OPENHANDS}
    told = run("openhands_run.py", model, str(store), **where, say=unthinking)
    assert [exchange.refused for exchange in server.exchanges if exchange.status != 200] == []
    assert len(server.exchanges) == 2 * TURNS
    assert told["folds"] >= 10
    assert told["changed"] == 0
    with cf.open(store, read_only=True) as opened:
        (thread,) = opened.threads()
        assert thread.messages == told["messages"], "nothing twice, nothing lost, also by one who was started anew"
