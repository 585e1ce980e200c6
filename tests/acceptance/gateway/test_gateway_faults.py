"""Whatever goes wrong upstream: the client gets a sane answer, nothing is lost, and the next turn works."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from contextfold.testing.server import StrictServer, faults, strict_server
from contextfold.testing.server.faults import Fault
from tests.acceptance.gateway.house import FORMATS, House, gateway, web
from tests.acceptance.gateway.plain_upstream import EVENTS, Answer, plain_upstream
from tests.acceptance.gateway.speakers import raw_request

FAULTS: dict[str, Fault] = {
    "reset": faults.reset(),
    "cut": faults.cut(),
    "429": faults.rate_limited(retry_after=1),
    "500": faults.broken(),
    "overloaded": faults.overloaded(),
    "garbage": faults.garbage(),
    "error in the stream": faults.break_off(),
}


@pytest.fixture(scope="module")
def running() -> Iterator[StrictServer]:
    with strict_server(window=32_000) as server:
        yield server


@pytest.fixture
def server(running: StrictServer) -> StrictServer:
    running.forget()
    return running


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, running: StrictServer) -> Iterator[House]:
    with gateway(tmp_path_factory.mktemp("faults") / "store.db", running.url, window=32_000) as house:
        yield house


def asked(
    house: House, key: str, format: str, texts: list[str], *, stream: bool, thread: str = ""
) -> tuple[int, bytes]:
    """Status and bytes; 0 where the connection broke."""
    try:
        answer = web().send(raw_request(house.url, key, format, texts, stream=stream, thread=thread))
    except httpx.RemoteProtocolError:
        return 0, b""
    return answer.status_code, answer.content


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("format", FORMATS)
def test_a_fault_upstream_is_told_and_the_next_turn_works(
    house: House, server: StrictServer, format: str, fault: str, stream: bool
) -> None:
    server.answer(FAULTS[fault], "Now it works.")
    thread = f"{format}.{fault.replace(' ', '-')}.{stream}"
    status, body = asked(house, server.token, format, ["Hello."], stream=stream, thread=thread)
    if fault == "reset":
        assert status == 502
        assert b"cannot be reached" in body
    else:
        direct = {"cut": (0,), "429": (429,), "500": (500,), "overloaded": (503, 529), "garbage": (200,)}
        assert status in direct.get(fault, (200, 500, 503, 529))
    status, body = asked(house, server.token, format, ["Hello."], stream=stream, thread=thread)
    assert status == 200
    assert "Now it works." in body.decode() or stream
    (messages,) = house.threads(server.token, f"named/{thread}").values()
    assert len(messages) == 2
    assert server.refused == []


def test_a_provider_that_is_not_there_is_told_in_the_clients_shape(tmp_path: Path) -> None:
    with gateway(tmp_path / "store.db", "http://127.0.0.1:9") as house:
        told = {format: asked(house, "k", format, ["Hello."], stream=False) for format in FORMATS}
        assert {status for status, _ in told.values()} == {502}
        assert b'"type":"api_error"' in told["anthropic"][1]
        assert b'"status":"UNAVAILABLE"' in told["gemini"][1]
        assert len(house.threads("k")) >= 1


def test_a_compressed_answer_passes_as_it_is_and_is_never_inflated(tmp_path: Path) -> None:
    bomb = gzip.compress(b"0" * 50_000_000)
    with plain_upstream() as upstream, gateway(tmp_path / "store.db", upstream.url) as house:
        headers = {"content-type": "application/json", "content-encoding": "gzip"}
        for format in FORMATS:
            upstream.answer(Answer([bomb], headers=headers))
            request = raw_request(house.url, "k", format, ["Hello."])
            with web().stream("POST", request.url, content=request.content) as answer:
                assert b"".join(answer.iter_raw()) == bomb
            assert upstream.arrived[-1].headers["accept-encoding"] == "identity"
        assert house.gateway.metrics.value("unread_total", why="compressed answer") == len(FORMATS)


def test_an_endless_event_passes_and_is_not_held_in_memory(tmp_path: Path) -> None:
    with plain_upstream() as upstream, gateway(tmp_path / "s.db", upstream.url, most_event_bytes=100_000) as house:
        pieces = [b"data: " + b"x" * 50_000] + [b"x" * 50_000] * 20
        for format in FORMATS:
            upstream.answer(Answer(pieces, headers={"content-type": EVENTS}))
            assert asked(house, "k", format, ["Hello."], stream=True) == (200, b"".join(pieces))
        assert house.gateway.metrics.value("unread_total", why="an answer that is too long") == len(FORMATS)


@pytest.mark.parametrize("format", FORMATS)
def test_a_stream_that_drips_arrives_as_it_comes_and_whoever_hangs_up_can_go_on(
    house: House, server: StrictServer, format: str
) -> None:
    server.answer(faults.drip(0.01), "Now it works.")
    request = raw_request(house.url, server.token, format, ["Hello."], stream=True, thread=f"drip.{format}")
    with web().stream("POST", request.url, content=request.content, headers=request.headers) as answer:
        pieces = answer.iter_raw()
        assert next(pieces) + next(pieces), "the end never comes, so nothing waits for it"
    status, _ = asked(house, server.token, format, ["Hello."], stream=True, thread=f"drip.{format}")
    assert status == 200
    (messages,) = house.threads(server.token, f"named/drip.{format}").values()
    assert [str(each).count("Now it works.") for each in messages] == [0, 1]


def test_an_overflow_is_folded_and_sent_again_before_the_client_sees_it(house: House, server: StrictServer) -> None:
    texts = [f"Part {at}. " + "alpha beta gamma " * 200 for at in range(15)]
    server.answer(faults.overflow(14_000, 9_000), "It fits now.")
    status, body = asked(house, server.token, "anthropic", texts, stream=False, thread="overflow")
    assert status == 200
    assert b"It fits now." in body
    first, second = server.exchanges
    assert len(second.request["messages"]) < len(first.request["messages"])
    assert house.gateway.metrics.value("retries_total") == 1
    (messages,) = house.threads(server.token, "named/overflow").values()
    assert len(messages) == 16


def test_an_observing_gateway_hands_an_overflow_back(tmp_path: Path, server: StrictServer) -> None:
    with gateway(tmp_path / "observed.db", server.url, window=32_000, mode="observe") as house:
        server.answer(faults.overflow(14_000, 9_000))
        status, body = asked(house, server.token, "anthropic", ["Hello."], stream=False)
        assert status == 400
        assert b"too long" in body
        assert len(server.exchanges) == 1


@pytest.mark.parametrize("format", FORMATS)
def test_what_cannot_fit_is_refused_with_its_sizes_and_not_forwarded(
    house: House, server: StrictServer, format: str
) -> None:
    status, body = asked(house, server.token, format, ["word " * 60_000], stream=False)
    assert status == 400
    assert b"32,000" in body
    assert server.exchanges == ()
    status, _ = asked(house, server.token, format, ["A short one."], stream=False)
    assert status == 200


@pytest.mark.parametrize("mode", ["fold", "strict"])
def test_storage_trouble_refuses_where_it_is_strict_and_else_leaves_a_visible_gap(
    tmp_path: Path, server: StrictServer, mode: str
) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"this is no database, and long enough to be looked at as one" * 100)
    with gateway(path, server.url, mode=mode) as house:
        status, _ = asked(house, server.token, "anthropic", ["Hello."], stream=False)
        assert status == (503 if mode == "strict" else 200)
        assert len(server.exchanges) == (0 if mode == "strict" else 1)
        house.settle()
        ready, status_page = web().get(f"{house.url}/readyz"), web().get(f"{house.url}/status").json()
        assert ready.status_code == 503
        assert ready.text.startswith("not kept since ")
        assert f"requests {'refused' if mode == 'strict' else 'passed without being kept'}: 1." in ready.text
        assert (status_page["counted"]["unread"] > 0) == (mode == "fold")
        path.unlink()
        house.until(lambda: web().get(f"{house.url}/readyz").text == "ready")
        status, _ = asked(house, server.token, "anthropic", ["Hello again."], stream=False)
        assert status == 200
        with house.store(server.token) as store:
            (row,) = store.threads()
            kinds = [type(entry.event).__name__ for entry in store.thread(row.title).events]
        assert ("Checkpointed" in kinds) == (mode == "fold")
