"""Five agents that know nothing of contextfold do a task of two turns with tools; the strict server refuses nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextfold.domain import encode
from contextfold.testing.server import StrictServer, strict_server
from tests.acceptance.agents.drive import AGENTS, INSTALLED, NOTES, Agent
from tests.conftest import SOAK

pytestmark = [
    pytest.mark.finding("W13"),
    pytest.mark.slow,
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="The agents are not installed. `make agents` installs them."),
]


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server() as server:
        yield server


# Every agent and every wire format once; the other pairs are driven by `make soak`.
ONCE = {
    *("llm, chat", "mini-swe-agent, Anthropic", "pydantic-ai, Gemini", "openai-agents, Responses"),
    "langchain, Anthropic",
}


@pytest.mark.parametrize(
    "agent", [agent for agent in AGENTS if SOAK > 1 or agent.name in ONCE], ids=lambda agent: agent.name
)
def test_an_unmodified_agent_finishes_two_turns_with_tools(agent: Agent, server: StrictServer, tmp_path: Path) -> None:
    server.answer(*agent.script)
    printed = agent.run(server.url, server.token, tmp_path)
    assert f"I read: {', '.join(NOTES.values())}" in printed
    assert [exchange.status for exchange in server.exchanges] == [200] * len(agent.script)
    assert NOTES["alpha.txt"] in encode(server.last.request).decode(), "the first turn is part of the last request"
