"""Two gateways on one store: an answer is known to both before its client can go on, and is kept once however late."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, cast

import httpx
import openai
import pytest

import contextfold as cf
from contextfold import dialects
from contextfold.domain import Appended
from contextfold.gateway import GatewaySettings, spaces_in
from contextfold.gateway.door import Visit
from contextfold.gateway.families import Asking
from contextfold.gateway.ledger import Ledger
from contextfold.gateway.neighbours import SUFFIX, Neighbours
from contextfold.gateway.stream_end import StreamEnd
from contextfold.gateway.tenants import space_of
from contextfold.gateway.turns import KeptTurn
from contextfold.testing.server import Say, StrictServer, strict_server
from contextfold.testing.server.provider import Question
from tests.acceptance.gateway.house import SECRETS, gateway, said, web
from tests.crash.fleet_agents import FORMATS, MARK, FleetAgent, answering


@pytest.fixture(scope="module")
def server() -> Iterator[StrictServer]:
    with strict_server() as server:
        server.always(answering())
        yield server


def asking(agent: FleetAgent) -> Asking:
    """A request of an agent as a ledger gets it."""
    dialect = dialects.find(agent.format)
    assert dialect.endpoint is not None
    path = agent.path(False).encode()
    asked = dialect.endpoint.asks("POST", path)
    assert asked is not None
    visit = Visit("POST", path, b"", ((b"x-api-key", b"k"),))
    return Asking(
        visit, dialect, dialect.endpoint, dialect.endpoint.open(json.dumps(agent.body(False)).encode(), asked)
    )


def taken(ledger: Ledger, agent: FleetAgent) -> KeptTurn:
    turn = ledger.take(asking(agent))
    assert isinstance(turn, KeptTurn)
    return turn


@pytest.mark.parametrize("is_loose", [False, True])
@pytest.mark.parametrize("format", FORMATS)
def test_an_answer_that_is_kept_after_another_gateway_had_it_from_its_client_is_kept_once(
    server: StrictServer, tmp_path: Path, format: str, is_loose: bool
) -> None:
    agent = FleetAgent(format, "late", server.token, is_loose=is_loose)
    settings = GatewaySettings()
    open_space = spaces_in(tmp_path / "store.db", settings)
    slow, quick = (Ledger(partial(open_space, "one"), settings) for _ in range(2))

    def replied() -> dict[str, Any]:
        url = server.url + agent.path(False)
        reply: dict[str, Any] = web().post(url, json=agent.body(False), headers=agent.headers()).json()
        agent.hear(agent.told(reply))
        return reply

    for _ in range(4):
        agent.speak()
        body, first = json.dumps(agent.body(False)).encode(), taken(slow, agent)
        late = replied()
        agent.speak()
        sent, second = json.dumps(agent.body(False)).encode(), taken(quick, agent)
        assert slow.answered(first, late, body) is None
        assert quick.answered(second, replied(), sent) is None
    slow.close()
    quick.close()
    with open_space("one") as store:
        (row,) = store.threads()
        thread = store.thread(row.title)
        kept = [thread.message(each.seq).raw.decode() for each in thread.events if isinstance(each.event, Appended)]
        spoken = MARK.findall(str(said(thread)))
    assert spoken == MARK.findall(str(agent.history))
    assert sorted(MARK.findall(str(kept))) == sorted(spoken)


@pytest.mark.finding("W19")
def test_the_last_event_of_a_stream_comes_when_its_answer_is_in_the_store_that_gateways_share(
    server: StrictServer, postgres_store: str
) -> None:
    agent, model = FleetAgent("anthropic", "held", server.token), answering()
    heard, is_whole = threading.Event(), threading.Event()
    address = cast("Path", postgres_store)  # any address will do
    with gateway(address, server.url) as house, httpx.Client(timeout=60) as client:

        def answer_while_others_are_kept(asked: Question) -> Say:
            house.occupy(server.token, lambda: heard.wait(60) and is_whole.wait(0.5))  # its end would be there by then
            return model(asked)

        visit = Visit("POST", b"/", b"", ((b"x-api-key", server.token.encode()),))
        agent.speak()
        server.answer(answer_while_others_are_kept)
        url, asked = f"{house.url}/v1/messages", {"json": agent.body(True), "headers": agent.headers()}
        with client.stream("POST", url, **asked) as answer:  # type: ignore[arg-type]  # a body and headers
            for line in answer.iter_lines():
                if "content_block_stop" in line:
                    heard.set()
                if "message_stop" in line:
                    break
            with cf.open(postgres_store, space=space_of(visit, SECRETS.tenant_key)) as store:
                (row,) = store.threads()
                assert [each["role"] for each in said(store.thread(row.title))] == ["user", "assistant"]
            is_whole.set()


@pytest.mark.finding("W19")
def test_a_conversation_that_goes_on_from_an_answers_id_is_known_to_another_gateway(
    server: StrictServer, tmp_path: Path
) -> None:
    path = tmp_path / "store.db"
    with gateway(path, server.url) as first, gateway(path, server.url) as second, ExitStack() as open_clients:
        houses = (first, second)
        clients = [
            open_clients.enter_context(openai.OpenAI(base_url=f"{house.url}/v1", api_key=server.token, max_retries=0))
            for house in houses
        ]
        previous = None
        for turn in range(1, 7):
            text = f"<<chain.t{3 * turn + 1}>> Hello."  # no turn that is answered with calls
            given: Any = [{"role": "user", "content": text}]
            reply = clients[turn % 2].responses.create(model="gpt-6-sol", input=given, previous_response_id=previous)
            previous = reply.id
            houses[turn % 2].settle()
        with first.store(server.token) as store:
            (row,) = store.threads()
            assert len(said(store.thread(row.title))) == 12


def sees_others(gateway: Neighbours) -> bool:
    return gateway.are_there


def test_a_gateway_sees_the_others_of_its_store_for_as_long_as_they_run(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    program = (
        "import sys; from contextfold.gateway.neighbours import Neighbours; own = Neighbours(sys.argv[1]);"
        "print(own.are_there, flush=True); sys.stdin.read()"
    )
    alone = Neighbours(path)
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert sees_others(alone)
        other.send_signal(signal.SIGKILL)
        other.wait(60)
    assert not sees_others(alone)
    alone.close()
    assert Path(f"{path}{SUFFIX}").stat().st_mode & 0o077 == 0


def test_a_store_in_memory_has_no_neighbours_and_one_in_a_server_may() -> None:
    assert not Neighbours().are_there
    assert not Neighbours(":memory:").are_there
    assert Neighbours("postgresql://somewhere/store").are_there


@pytest.mark.parametrize(
    "last",
    [
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
        b'event: response.completed\ndata: {"type":"response.completed"}\n\n',
        b'data: {"type": "response.incomplete"}\n\n',
        b"data: [DONE]\n\n",
    ],
)
def test_the_last_event_of_a_stream_is_found_wherever_it_is_cut(last: bytes) -> None:
    before = b'event: content_block_delta\ndata: {"text":"data: [DONE]\\nevent: message_stop"}\n\n'
    for cut in range(len(last)):
        end = StreamEnd()
        assert end.before(before) == len(before)
        first, rest = last[:cut], last[cut:]
        assert end.before(first) + end.before(rest) < len(last) - 2
    assert StreamEnd().before(before + last) == len(before)


def test_words_of_an_answer_never_look_like_the_end_of_its_stream() -> None:
    end = StreamEnd()
    for text in (rb"data: [DONE]", rb"\nevent: message_stop", rb"\ndata: {\"type\":\"message_stop\"}"):
        event = b'data: {"type":"content_block_delta","delta":{"text":"' + text + b'"}}\n\n'
        assert end.before(event) == len(event)
