"""Official SDKs behind the gateway, in front of a strict server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextfold.testing.server import StrictServer, strict_server
from tests.acceptance.gateway.house import FORMATS, House, gateway
from tests.acceptance.gateway.speakers import SPEAKERS

WINDOW = 32_000
LONG = "Look at this part of the report and keep the numbers in mind: " + "alpha beta gamma delta " * 350


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
    house: House, server: StrictServer, format: str, how: str
) -> None:
    with SPEAKERS[format](house.url, server.token, how) as speaker:
        for turn in range(30):
            server.answer(f"Read part {turn}.")
            assert speaker.say(f"Part {turn}. {LONG}") == f"Read part {turn}."
    assert server.refused == []
    assert len(server.exchanges) == 30
    assert house.gateway.metrics.text().count("folds_total{") >= 1
    (messages,) = house.threads(server.token).values()
    assert len(messages) == 60
