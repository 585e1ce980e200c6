"""Official SDKs behind the gateway, in front of a strict server: thirty turns of a recorded run, past the window."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import gateway_money
from contextfold.domain import Message, Sent, Text, ToolCall, ToolResult
from contextfold.testing.server import StrictServer, strict_server
from tests.acceptance.gateway.house import FORMATS, House, gateway
from tests.acceptance.gateway.speakers import SPEAKERS

WINDOW, TURNS = 32_000, 30
LONGEST, SHORT = 12_000, 1_500  # letters of what is said, and of an answer
LONG = "Look at this part of the report and keep the numbers in mind: " + "alpha beta gamma delta " * 350


def words(message: Message) -> str:
    told = [
        each.text
        for block in message.blocks
        if isinstance(block, ToolResult)
        for each in block.blocks
        if isinstance(each, Text)
    ]
    told += [block.text for block in message.blocks if isinstance(block, Text)]
    told += [f"{block.name}({block.arguments})" for block in message.blocks if isinstance(block, ToolCall)]
    return "\n".join(told)


@pytest.fixture(scope="module")
def turns() -> list[tuple[str, str]]:
    """What was said in a recorded run, and what the model answered; made up where there are no recordings."""
    run = next(gateway_money.long_sessions(1), None) if gateway_money.DATA.is_dir() else None
    if run is None:
        return [(f"Part {turn}. {LONG}", f"Read part {turn}.") for turn in range(TURNS)]
    found: list[tuple[str, str]] = []
    waiting: list[str] = []
    for message in run.messages:
        if message.role != "assistant":
            waiting.append(words(message))
        elif waiting and len(found) < TURNS:
            said = "\n".join(waiting)[:LONGEST]
            found.append((f"Turn {len(found)}. {said}", f"Answer {len(found)}. {words(message)[:SHORT]}".strip()))
            waiting = []
    return found


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server(window=WINDOW) as server:
        yield server


@pytest.fixture
def house(tmp_path: Path, server: StrictServer) -> Iterator[House]:
    with gateway(tmp_path / "store.db", server.url, window=WINDOW) as house:
        yield house


@pytest.mark.parametrize("how", ["sync", "async", "stream"])
@pytest.mark.parametrize("format", FORMATS)
def test_thirty_turns_pass_a_window_of_32k_and_every_word_is_kept(
    house: House, server: StrictServer, turns: list[tuple[str, str]], format: str, how: str
) -> None:
    with SPEAKERS[format](house.url, server.token, how) as speaker:
        for said, answer in turns:
            server.answer(answer)
            assert speaker.say(said) == answer
    assert server.refused == []
    assert len(server.exchanges) == TURNS
    assert house.gateway.metrics.text().count("folds_total{") >= 1
    (messages,) = house.threads(server.token).values()
    assert len(messages) == 2 * TURNS
    with house.store(server.token) as store:
        thread = store.thread(store.threads()[0].title)
        requests = [thread.request(each.seq).body for each in thread.events if isinstance(each.event, Sent)]
        assert requests == [each.request for each in server.exchanges]
