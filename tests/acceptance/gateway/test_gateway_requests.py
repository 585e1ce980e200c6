"""What the model saw through the gateway: each request shown again as it went out, or why it cannot be."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Sent, decode
from contextfold.errors import NotFound
from contextfold.inspector.request_history import Requests
from contextfold.inspector.request_page import shown_request
from contextfold.session import Session
from tests.acceptance.gateway.house import FORMATS, House, gateway, web
from tests.acceptance.gateway.plain_upstream import EVENTS, Answer, PlainUpstream, plain_upstream
from tests.acceptance.gateway.shapes import SHAPES, answer_for
from tests.acceptance.gateway.speakers import raw_request
from tests.crash.traces import readable

KEY = "sk-requests-1"
ANSWERED = {
    "anthropic": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Yes."}]},
    "openai-chat": {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}}]},
    "openai-responses": {
        "object": "response",
        "id": "r",
        "output": [
            {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}
        ],
    },
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]}}]},
}


@pytest.fixture(scope="module")
def upstream() -> Iterator[PlainUpstream]:
    with plain_upstream() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, upstream: PlainUpstream) -> Iterator[House]:
    with gateway(tmp_path_factory.mktemp("requests") / "store.db", upstream.url) as house:
        yield house


def ask(house: House, upstream: PlainUpstream, format: str, name: str, texts: list[str]) -> bytes:
    """What arrived at the provider, when all of it is kept."""
    upstream.answer(Answer([json.dumps(ANSWERED[format]).encode()]))
    answer = web().send(raw_request(house.url, KEY, format, texts, thread=name))
    assert answer.status_code == 200
    house.settle()
    return upstream.arrived[-1].body


def post(house: House, upstream: PlainUpstream, name: str, path: str, body: bytes, key: str = KEY) -> None:
    said = answer_for(path)
    upstream.answer(Answer([said], headers={"content-type": EVENTS}))
    headers = {"x-api-key": key, "x-contextfold-thread": name}
    assert web().post(house.url + path, content=body, headers=headers).status_code == 200
    house.settle()


def requests_of(thread: cf.Thread) -> list[int]:
    return [each.seq for each in thread.events if isinstance(each.event, Sent)]


def pieces_of(thread: cf.Thread, seq: int) -> bytes:
    (row,) = thread.rows(after=seq - 1, limit=1, bodies=True)
    return row.body or b""


def named(store: cf.Store, name: str) -> cf.Thread:
    (title,) = [row.title for row in store.threads() if row.title.endswith(name)]
    return store.thread(title)


@pytest.mark.parametrize("client", SHAPES)
def test_the_request_of_every_client_is_shown_byte_for_byte(house: House, upstream: PlainUpstream, client: str) -> None:
    shape, key = SHAPES[client], f"{KEY}-{client}"
    post(house, upstream, client, shape.path, shape.raw, key)
    with house.store(key) as store:
        thread = store.thread(store.threads()[0].title)
        (seq,) = requests_of(thread)
        assert thread.request(seq).json == shape.raw


@pytest.mark.parametrize("format", FORMATS)
def test_a_request_of_what_the_log_has_costs_a_few_bytes_and_is_exact_on_its_page(
    house: House, upstream: PlainUpstream, format: str
) -> None:
    texts = ["One question. " * 200, "An answer. " * 200, "And another question. " * 200]
    sent = [
        ask(house, upstream, format, format, texts),
        ask(house, upstream, format, format, [*texts, "Yes.", "Go on."]),
    ]
    with house.store(KEY) as store:
        thread = named(store, format)
        seqs = requests_of(thread)
        assert [thread.request(seq).json for seq in seqs] == sent
        assert len(pieces_of(thread, seqs[0])) < 40
        assert len(pieces_of(thread, seqs[1])) < 250
        session = Session.on(store, thread.name)
        requests = Requests(session.thread)
        shown = shown_request(session, requests, requests.numbered(2))
        assert shown.is_exact
        assert shown.size == len(sent[1])
        assert [part.kind for part in shown.parts] == ["message"] * 5


def test_a_gateway_that_was_restarted_goes_on_from_the_request_before(tmp_path: Path, upstream: PlainUpstream) -> None:
    texts = ["First. " * 100]
    with gateway(tmp_path / "store.db", upstream.url) as first:
        sent = [ask(first, upstream, "anthropic", "t", texts)]
        texts += ["Yes.", "Second. " * 100]
        sent.append(ask(first, upstream, "anthropic", "t", texts))
    with gateway(tmp_path / "store.db", upstream.url) as second:
        texts += ["Yes.", "Third. " * 100]
        sent.append(ask(second, upstream, "anthropic", "t", texts))
        with second.store(KEY) as store:
            thread = store.thread(store.threads()[0].title)
            seqs = requests_of(thread)
            assert [thread.request(seq).json for seq in seqs] == sent
            newest = decode(pieces_of(thread, seqs[2]))
            assert newest[1][0] == ["sent", seqs[1], 0, 3]


def test_what_was_forgotten_is_in_no_piece_and_the_next_request_is_whole_again(
    house: House, upstream: PlainUpstream
) -> None:
    texts = ["Before.", "Said by somebody.", "The canary-7733 sings.", "Yes, it does.", "And then?"]
    ask(house, upstream, "openai-chat", "forgets", texts[:3])
    ask(house, upstream, "openai-chat", "forgets", texts)
    with house.store(KEY) as store:
        thread = named(store, "forgets")
        store.forget(thread.name, 3)
        for seq in requests_of(thread):
            with pytest.raises(NotFound, match="forgotten"):
                thread.request(seq)
    kept = readable(house.path.parent)
    assert b"canary-7733" not in kept
    sent = ask(house, upstream, "openai-chat", "forgets", ["Before.", "Said by somebody.", "And now?"])
    with house.store(KEY) as store:
        thread = named(store, "forgets")
        assert thread.request(requests_of(thread)[-1]).json == sent


def test_a_key_of_a_server_in_a_body_is_not_kept_and_the_rest_is(house: House, upstream: PlainUpstream) -> None:
    secret = "server-canary-8844"  # noqa: S105  # nobody's
    tools = [
        {"type": "mcp", "server_label": "a", "server_url": "https://a.example", "authorization": secret},
        {"type": "function", "name": "get", "parameters": {"properties": {"headers": {"type": "object"}}}},
    ]
    server = {"type": "url", "url": "https://b.example", "name": "b", "authorization_token": secret}
    bodies: dict[str, dict[str, Any]] = {
        "/v1/responses": {"model": "gpt-6-sol", "input": "Look there.", "tools": tools},
        "/v1/messages": {
            "model": "claude-sonnet-5-5",
            "max_tokens": 100,
            "mcp_servers": [server],
            "messages": [{"role": "user", "content": "The headers: none."}],
        },
    }
    for path, body in bodies.items():
        post(house, upstream, "secrets" + path.replace("/", "-"), path, json.dumps(body).encode())
    kept = readable(house.path.parent)
    assert secret.encode() not in kept
    with house.store(KEY) as store:
        for path, body in bodies.items():
            thread = named(store, "secrets" + path.replace("/", "-"))
            found = thread.request(requests_of(thread)[0]).body
            assert found == json.loads(
                json.dumps(body)
                .replace(f', "authorization": "{secret}"', "")
                .replace(f', "authorization_token": "{secret}"', "")
            )


def test_a_tool_that_takes_headers_is_no_secret_and_changes_no_byte(house: House, upstream: PlainUpstream) -> None:
    schema = {"type": "object", "properties": {"headers": {"type": "object"}, "authorization": {"type": "string"}}}
    body = {
        "messages": [{"role": "user", "content": "Fetch it."}],
        "tools": [{"name": "fetch", "description": "Fetches. " * 20, "input_schema": schema}],
        "model": "claude-sonnet-5-5",
        "max_tokens": 100,
    }
    raw = json.dumps(body, indent=2).encode()
    post(house, upstream, "fetches", "/v1/messages", raw)
    with house.store(KEY) as store:
        thread = named(store, "fetches")
        assert thread.request(requests_of(thread)[0]).json == raw


def test_an_exported_conversation_shows_its_requests_elsewhere(
    house: House, upstream: PlainUpstream, tmp_path: Path
) -> None:
    sent = ask(house, upstream, "gemini", "travels", ["Where to?"])
    with house.store(KEY) as store:
        store.export(named(store, "travels").name, tmp_path / "thread.jsonl")
    with cf.open(tmp_path / "other.db") as other:
        thread = other.import_(tmp_path / "thread.jsonl")
        assert thread.request(requests_of(thread)[0]).json == sent


@pytest.mark.parametrize("body", [b'{"messages":[{"role":"user","content":"Hi."}],"odd":"\xff"}', b'{"model":"m"}'])
def test_a_body_that_cannot_be_kept_passes_and_says_so_later(
    house: House, upstream: PlainUpstream, body: bytes
) -> None:
    name = f"odd-{len(body)}"
    post(house, upstream, name, "/v1/messages", body)
    assert upstream.arrived[-1].body == body
    with house.store(KEY) as store:
        thread = named(store, name)
        with pytest.raises(NotFound, match="not known"):
            thread.request(requests_of(thread)[0])


def test_a_request_that_goes_on_from_one_made_elsewhere_is_whole(tmp_path: Path, upstream: PlainUpstream) -> None:
    with gateway(tmp_path / "store.db", upstream.url) as first:
        ask(first, upstream, "anthropic", "t", ["One."])
        with first.store(KEY) as store, Session.on(store, store.threads()[0].title, "claude-sonnet-5-5") as session:
            session.append({"role": "user", "content": "By hand."})
            session.prepare(max_tokens=100)
            session.append({"role": "assistant", "content": [{"type": "text", "text": "By hand too."}]})
    with gateway(tmp_path / "store.db", upstream.url) as second:
        sent = ask(second, upstream, "anthropic", "t", ["One.", "Yes.", "Two."])
        with second.store(KEY) as store:
            thread = store.thread(store.threads()[0].title)
            assert thread.request(requests_of(thread)[-1]).json == sent
