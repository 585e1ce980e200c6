"""Several gateways on one store, each request of a conversation through the next one, and some of them killed.

Judged by what a strict provider received and by what the store holds: nothing twice, nothing lost, no result made up.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from contextfold.testing.server import StrictServer, strict_server
from contextfold.testing.server.provider import Held, Question
from tests.conftest import SOAK
from tests.crash.fleet import Fleet, fleet
from tests.crash.fleet_agents import FORMATS, MARK, FleetAgent, answering
from tests.crash.fleet_judge import converse, judge, one_answer

pytestmark = [pytest.mark.crash, pytest.mark.finding("W19"), pytest.mark.finding("K17")]
SMALL_WINDOW = "limit = 4000" if SOAK == 1 else "limit = 8000"  # so that conversations are folded several times
AGENTS, TURNS = 8, 12 if SOAK == 1 else 53
ROUNDS = 1 if SOAK == 1 else 6  # of all agents: some 10,000 requests together
KILL_EACH = 40  # answers, and no other gateway is just starting


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server() as server:
        server.always(answering())
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store."""
    return str(request.getfixturevalue("postgres_store")) if request.param == "postgres" else str(tmp_path / "store.db")


@pytest.fixture
def gateways(server: StrictServer, store: str, tmp_path: Path) -> Iterator[Fleet]:
    with fleet(tmp_path, store, server.url, 2, SMALL_WINDOW) as gateways:
        yield gateways


def agents_of(server: StrictServer, prefix: str = "c") -> list[FleetAgent]:
    """Of each format one that sends back what it heard, and one that writes it down in its own way."""
    each = [(format, is_loose) for is_loose in (False, True) for format in FORMATS]
    return [
        FleetAgent(format, f"{prefix}{number}", server.token, is_loose=is_loose)
        for number, (format, is_loose) in enumerate(each)
    ]


@pytest.mark.parametrize("count", [2] if SOAK == 1 else [2, 4])
def test_conversations_in_turn_through_gateways_that_are_killed_lose_nothing_and_keep_nothing_twice(
    server: StrictServer, store: str, tmp_path: Path, count: int
) -> None:
    agents: list[FleetAgent] = []
    with fleet(tmp_path, store, server.url, count, SMALL_WINDOW) as gateways:
        for number in range(ROUNDS):
            speaking = agents_of(server, f"c{number}-")
            assert converse(gateways, speaking, TURNS, kill_each=KILL_EACH) == AGENTS * TURNS
            agents += speaking
        space = gateways.space(server.token)
        assert gateways.kills >= ROUNDS
    verdict = judge(server.exchanges, store, space, agents)
    assert verdict.is_clean, verdict
    assert verdict.folds >= len(agents)


def alike(agent: FleetAgent, name: str) -> FleetAgent:
    """The same conversation, which goes on elsewhere under another mark."""
    twin = deepcopy(agent)
    twin.name = name
    return twin


def test_two_continuations_of_one_beginning_at_once_never_see_each_other(
    server: StrictServer, gateways: Fleet, store: str
) -> None:
    agent = FleetAgent("anthropic", "first", server.token)
    with httpx.Client(timeout=60) as client, ThreadPoolExecutor(2) as aside:
        for _ in range(4):
            agent.speak()
            one_answer(gateways, agent, client, agent.turn, stream=True)
        twins = [alike(agent, "left"), alike(agent, "right")]
        barrier = threading.Barrier(2)

        def go_on(number: int) -> None:
            with httpx.Client(timeout=60) as own:
                for turn in range(8 * SOAK):
                    twins[number].speak()
                    barrier.wait(60)
                    one_answer(gateways, twins[number], own, number + turn, stream=bool(turn % 2))

        list(aside.map(go_on, (0, 1)))
    verdict = judge(server.exchanges, store, gateways.space(server.token), [])
    assert (verdict.twice, verdict.refused, verdict.invented, verdict.problems) == ([], [], [], [])
    shown = [{name for name, *_ in MARK.findall(str(each.request))} for each in server.exchanges]
    assert not [names for names in shown if {"left", "right"} <= names]
    assert len(server.exchanges) == 4 + 16 * SOAK


def _arrived(has_arrived: threading.Event, held: Held, _: Question) -> Held:
    has_arrived.set()
    return held


@contextmanager
def hanging_up(agent: FleetAgent, url: str, *, stream: bool) -> Iterator[None]:
    """A request whose sender goes away before anything of its answer came."""
    host, _, token = url.removeprefix("http://").partition("/")
    connection = HTTPConnection(host)
    body = json.dumps(agent.body(stream))
    headers = {"authorization": f"Bearer {agent.key}", "content-type": "application/json"}
    headers["user-agent"] = f"python-httpx/{httpx.__version__}"  # the client that will send it again
    connection.request("POST", f"/{token}/v1/chat/completions", body, headers)
    yield
    connection.close()


@pytest.mark.parametrize("is_paused", [False, True])
def test_a_request_that_is_sent_again_to_another_gateway_is_kept_once_whenever_the_first_ends(
    server: StrictServer, gateways: Fleet, store: str, is_paused: bool
) -> None:
    agent, other = (FleetAgent("openai-chat", name, server.token) for name in ("again", "other"))
    with httpx.Client(timeout=60) as client:
        for turn in range(4):
            agent.speak()
            one_answer(gateways, agent, client, turn, stream=True)
        for turn in range(3):
            agent.speak()
            held, has_arrived = Held("<<again.a0#0>> too late"), threading.Event()
            server.answer(partial(_arrived, has_arrived, held))
            with hanging_up(agent, gateways.url(0), stream=bool(turn % 2)):
                assert has_arrived.wait(60)
                if is_paused:  # when it has written what it heard so far: else it stops with the lock of the store
                    other.speak()
                    other.ask(client, gateways.url(0), stream=True)
                    gateways.pause(0)
            for _ in range(3):
                one_answer(gateways, agent, client, 1, stream=True)
                agent.speak()
            held.release()
            if is_paused:
                gateways.resume(0)
            one_answer(gateways, agent, client, 0, stream=True)
    spoken = [agent, other] if is_paused else [agent]
    verdict = judge(server.exchanges, store, gateways.space(server.token), spoken)
    assert (verdict.lost, verdict.refused, verdict.invented, verdict.problems) == ([], [], [], [])
    assert [mark for mark in verdict.twice if "a0#0" not in mark] == []
