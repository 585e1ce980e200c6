"""What passes is what was sent: bodies, answers and headers, for the shapes of real agents, under any chunking."""

from collections.abc import Iterator

import pytest

from tests.acceptance.gateway.house import SECRETS, House, gateway, web
from tests.acceptance.gateway.plain_upstream import EVENTS, Answer, PlainUpstream, plain_upstream
from tests.acceptance.gateway.shapes import SHAPES, answer_for
from tests.crash.traces import readable

KEY = "sk-test-canary-4711"


@pytest.fixture(scope="module")
def upstream() -> Iterator[PlainUpstream]:
    with plain_upstream() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, upstream: PlainUpstream) -> Iterator[House]:
    with gateway(tmp_path_factory.mktemp("bytes") / "store.db", upstream.url) as house:
        yield house


def pieces(said: bytes, size: int) -> list[bytes]:
    return [said[at : at + size] for at in range(0, len(said), size)]


def unread(house: House) -> list[str]:
    """What the gateway could not read, as its numbers say it; tests share the house in any order."""
    return [line for line in house.gateway.metrics.text().splitlines() if "unread_total{" in line]


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize("client", SHAPES)
def test_a_request_that_fits_and_its_answer_pass_byte_for_byte(
    house: House, upstream: PlainUpstream, client: str, size: int
) -> None:
    shape = SHAPES[client]
    said = answer_for(shape.path)
    upstream.answer(Answer(pieces(said, size), headers={"content-type": EVENTS, "x-request-id": "r-1"}))
    headers = {**shape.headers, "x-api-key": KEY, "content-type": "application/json", "x-stainless-lang": "js"}
    answer = web().post(house.url + shape.path, content=shape.raw, headers=headers)
    assert answer.content == said
    assert (answer.status_code, answer.headers["x-request-id"]) == (200, "r-1")
    arrived = upstream.arrived[-1]
    assert arrived.body == shape.raw
    assert arrived.target == shape.path
    assert {name: arrived.headers[name] for name in headers} == headers
    assert not any(
        name.startswith("x-contextfold") or SECRETS.token in value for name, value in arrived.headers.items()
    )


@pytest.mark.parametrize("client", SHAPES)
def test_every_message_of_every_client_is_kept_with_the_answer(
    house: House, upstream: PlainUpstream, client: str
) -> None:
    shape = SHAPES[client]
    upstream.answer(Answer([answer_for(shape.path)], headers={"content-type": EVENTS}))
    key, before = f"{KEY}-{client}", unread(house)
    web().post(house.url + shape.path, content=shape.raw, headers={**shape.headers, "x-api-key": key})
    (messages,) = house.threads(key).values()
    sent = next(shape.body[name] for name in ("messages", "contents", "input") if name in shape.body)
    assert messages[: len(sent)] == sent
    assert len(messages) == len(sent) + 1
    assert unread(house) == before


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/messages/count_tokens?beta=true"),
        ("GET", "/v1/models"),
        ("POST", "/v1/embeddings"),
        ("DELETE", "/v1/files/file-1"),
        ("GET", "/v1beta/models"),
        ("POST", "/v1/responses/resp_1/cancel"),
    ],
)
def test_everything_that_is_no_turn_passes_untouched(
    house: House, upstream: PlainUpstream, method: str, path: str
) -> None:
    upstream.answer(Answer([b"\x00\xff", b"any bytes"], 207, {"content-type": "application/x-any", "x-a": "b"}))
    body = b"\x01 no JSON at all" if method == "POST" else b""
    answer = web().request(method, house.url + path, content=body, headers={"authorization": f"Bearer {KEY}"})
    assert (answer.status_code, answer.content, answer.headers["x-a"]) == (207, b"\x00\xffany bytes", "b")
    arrived = upstream.arrived[-1]
    assert (arrived.method, arrived.target, arrived.body) == (method, path, body)


def test_no_key_is_kept_anywhere(house: House, upstream: PlainUpstream) -> None:
    for shape in SHAPES.values():
        upstream.answer(Answer([b'{"error":"broken"}'], 500))
        web().post(house.url + shape.path, content=shape.raw, headers={**shape.headers, "x-api-key": KEY})
    web().post(f"{house.url}/v1beta/models/g:generateContent?key={KEY}", content=b"{")
    house.settle()
    kept = readable(house.path.parent)
    assert len(kept) > 1_000
    assert KEY.encode() not in kept
    assert KEY not in house.gateway.metrics.text()
    assert SECRETS.token.encode() not in kept


def test_a_redirect_is_handed_back_and_not_followed(house: House, upstream: PlainUpstream) -> None:
    upstream.answer(Answer([], 302, {"location": "http://127.0.0.1:9/elsewhere"}))
    before = len(upstream.arrived)
    answer = web().get(f"{house.url}/v1/models", headers={"x-api-key": KEY}, follow_redirects=False)
    assert answer.status_code == 302
    assert len(upstream.arrived) == before + 1
