"""Five agents that know nothing of contextfold do a task of two turns with tools; the strict server refuses nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextfold.domain import encode
from contextfold.testing.server import StrictServer, strict_server
from tests.acceptance.agents.drive import AGENTS, INSTALLED, NOTES, Agent

pytestmark = [
    pytest.mark.finding("W13"),
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="The agents are not installed. `make agents` installs them."),
]


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server() as server:
        yield server


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_unmodified_agent_finishes_two_turns_with_tools(agent: Agent, server: StrictServer, tmp_path: Path) -> None:
    server.answer(*agent.script)
    printed = agent.run(server.url, server.token, tmp_path)
    assert f"I read: {', '.join(NOTES.values())}" in printed
    assert [exchange.status for exchange in server.exchanges] == [200] * len(agent.script)
    assert NOTES["alpha.txt"] in encode(server.last.request).decode(), "the first turn is part of the last request"
