"""Frameworks too large for every run, LiteLLM's proxy, Claude's and OpenHands' SDKs: `make frameworks` drives them."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

import contextfold as cf
from contextfold.testing.server import StrictServer
from tests.acceptance.agents.drive import ROOT, environment
from tests.acceptance.frameworks.task import TURNS
from tests.acceptance.judge import strict_server
from tests.acceptance.test_frameworks import EXAMPLES, reads_its_notes, run, unthinking

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


@needs_openhands
@pytest.mark.slow
def test_the_example_for_openhands_reads_its_file_and_answers(server: StrictServer, tmp_path: Path) -> None:
    reads_its_notes("openhands_agent", server, tmp_path, OPENHANDS, messages=3)  # a condenser is not shown the last


@pytest.mark.slow
def test_the_example_for_litellms_proxy_keeps_what_a_plain_client_asks(server: StrictServer, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "litellm_proxy", tmp_path, dirs_exist_ok=True)
    server.answer("There are three notes.")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    seen = {**environment(server.url, server.token, tmp_path), "PYTHONPATH": str(ROOT / "src")}
    seen |= {"LITELLM_MASTER_KEY": "sk-of-a-test", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    command = [str(INSTALLED / "litellm"), "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, cwd=tmp_path, env=seen, stdout=subprocess.DEVNULL) as proxy:
        try:
            asked = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "How many notes are there?"}]}
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
                assert _is_up(client, proxy)
                sent = client.post("/v1/chat/completions", json=asked, headers={"authorization": "Bearer sk-of-a-test"})
        finally:
            proxy.terminate()
            proxy.wait(60)
    assert sent.status_code == 200, sent.text
    with cf.open(tmp_path / "agent.db", read_only=True) as opened:
        (thread,) = opened.threads()
        assert thread.messages == 2


def _is_up(client: httpx.Client, proxy: subprocess.Popen[bytes]) -> bool:
    """Whether the proxy answers, asked for two minutes at most, as long as it runs."""
    for _ in range(600):
        with suppress(httpx.TransportError):
            return client.get("/health/liveliness").status_code == 200
        with suppress(subprocess.TimeoutExpired):
            return proxy.wait(0.2) < 0
    return False
