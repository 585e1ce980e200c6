"""The five Python agents of the suite, unmodified, through the gateway and past their window: none of them notices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contextfold.testing.server import Call, Say, StrictServer, strict_server
from contextfold.testing.server.provider import Step
from tests.acceptance.agents.drive import AGENTS, INSTALLED, NOTES, Agent, what_was_read
from tests.acceptance.gateway.house import House, gateway

pytestmark = pytest.mark.skipif(
    not INSTALLED.is_dir(), reason="The agents are not installed. `make agents` installs them."
)

WINDOW = 16_000
LINE = "def function(argument): return argument  # one line of a long file, as agents read them\n"
_FIRST = {agent.name.split()[0]: agent for agent in reversed(AGENTS)}


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server(window=WINDOW) as server:
        yield server


@pytest.fixture
def house(tmp_path: Path, server: StrictServer) -> Iterator[House]:
    with gateway(tmp_path / "store.db", server.url, window=WINDOW) as house:
        yield house


def pages(agent: Agent) -> list[str]:
    """More than the window together. Few and long ones, or as long as an agent's shell shows."""
    many, lines = (9, 95) if agent.has_shell else (2, 400)
    return [f"page {at}\n{LINE * lines}" for at in range(many)]


def script(agent: Agent) -> list[Step]:
    """Pages that together are longer than the window, then a note, and what it says."""
    note = next(iter(NOTES))
    if agent.has_shell:
        reads: list[Step] = [Say("", (Call("bash", {"command": f"cat page{at}"}),)) for at in range(len(pages(agent)))]
        last = f"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat {note}"
        return [
            *reads,
            Say("", (Call("bash", {"command": f"cat {note}"}),)),
            lambda asked: Say(what_was_read(asked), (Call("bash", {"command": last}),)),
        ]
    reads = [Say("", (Call("read_note", {"name": f"page{at}"}),)) for at in range(len(pages(agent)))]
    return [*reads, Say("", (Call("read_note", {"name": note}),)), what_was_read]


@pytest.mark.parametrize("agent", _FIRST.values(), ids=lambda agent: agent.name)
def test_an_unmodified_agent_passes_its_window_and_every_message_is_kept(
    agent: Agent, house: House, server: StrictServer, tmp_path: Path
) -> None:
    for at, page in enumerate(pages(agent)):
        (tmp_path / f"page{at}").write_text(page, encoding="utf-8")
    server.answer(*script(agent))
    printed = replace(agent, commands=agent.commands[:1]).run(house.url, server.token, tmp_path)
    assert f"I read: {next(iter(NOTES.values()))}" in printed
    assert [exchange.refused for exchange in server.exchanges] == [None] * len(server.exchanges)
    assert house.gateway.metrics.total("folds_total") >= 1
    kept = "".join(str(each) for said in house.threads(server.token).values() for each in said)
    assert all(f"page {at}\\" in kept for at in range(len(pages(agent))))
