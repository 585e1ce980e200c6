"""Recall inside the gateway: the model asks for what folds hide, is answered there, and the client gets one message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextfold.dialects import Listener, understand
from contextfold.domain import Measured
from contextfold.testing.server import Call, Say, StrictServer, strict_server
from contextfold.testing.server.provider import Question
from tests.acceptance.gateway.house import FORMATS, House, gateway, web
from tests.acceptance.gateway.speakers import raw_request

WINDOW = 16_000
FILLER = "alpha beta gamma delta epsilon zeta eta theta " * 60
FACT = "The port of the proxy is 48213."
OWN_TOOL = {
    "anthropic": {"name": "ls", "input_schema": {"type": "object", "properties": {}}},
    "openai-chat": {"type": "function", "function": {"name": "ls", "parameters": {"type": "object", "properties": {}}}},
    "openai-responses": {"type": "function", "name": "ls", "parameters": {"type": "object", "properties": {}}},
    "gemini": {"functionDeclarations": [{"name": "ls", "parametersJsonSchema": {"type": "object"}}]},
}


@pytest.fixture(scope="module")
def running() -> Iterator[StrictServer]:
    with strict_server(window=WINDOW) as server:
        yield server


@pytest.fixture
def server(running: StrictServer) -> StrictServer:
    running.forget()
    return running


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, running: StrictServer) -> Iterator[House]:
    path = tmp_path_factory.mktemp("recall") / "store.db"
    with gateway(path, running.url, window=WINDOW, recall=True) as house:
        yield house


def texts(thread: str) -> list[str]:
    """A history longer than the window; what was said first is folded."""
    said = [f"{thread}. Remember what I say.", "Noted.", f"{FACT} {FILLER}", "Noted."]
    for at in range(24):
        said += [f"Part {at}. {FILLER}", f"Read {at}."]
    return [*said, "Which port was it?"]


def asked(house: House, server: StrictServer, format: str, *, stream: bool, thread: str) -> dict[str, Any]:
    """The answer as the client puts it together."""
    request = raw_request(house.url, server.token, format, texts(thread), stream=stream, thread=thread)
    body = {**json.loads(request.content), "tools": [OWN_TOOL[format]]}
    if format == "openai-chat" and stream:
        body["stream_options"] = {"include_usage": True}
    headers = {name: value for name, value in request.headers.items() if name not in ("content-length", "host")}
    answer = web().post(str(request.url), json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    if not stream:
        whole: dict[str, Any] = answer.json()
        return whole
    listener = Listener(format)
    listener.hear(answer.content)
    heard = listener.heard(None)
    assert heard.is_complete, answer.text
    assert heard.answer is not None
    return dict(heard.answer)


def found(question: Question) -> str:
    """An answer that only a model could give which was shown what it asked for."""
    messages = next(question.body[name] for name in ("messages", "input", "contents") if name in question.body)
    return "It was 48213." if "48213" in json.dumps(messages[-1]) else "I cannot find it."


RECALL = Call("recall", {"question": "port of the proxy"})


@pytest.mark.parametrize("stream", [False, True], ids=["at once", "streamed"])
@pytest.mark.parametrize("format", FORMATS)
def test_a_model_that_recalls_is_answered_here_and_the_client_gets_one_message(
    house: House, server: StrictServer, format: str, stream: bool
) -> None:
    thread = f"alone.{format}.{stream}"
    server.answer(Say("Let me look. ", (RECALL,)), found)
    reply = asked(house, server, format, stream=stream, thread=thread)
    message = understand(reply, format, format).message
    assert "".join(block.text for block in message.blocks if hasattr(block, "text")).endswith("It was 48213.")
    assert message.calls == ()
    assert server.refused == []
    assert len(server.exchanges) == 2
    billed = sum(each.usage.output for each in server.exchanges)
    assert understand(reply, format, format).usage, "what was billed is told"
    assert str(billed) in json.dumps(understand(reply, format, format).usage)
    (messages,) = house.threads(server.token, f"named/{thread}").values()
    assert len(messages) == len(texts(thread)) + 1


@pytest.mark.parametrize("stream", [False, True], ids=["at once", "streamed"])
@pytest.mark.parametrize("format", FORMATS)
def test_a_client_never_sees_a_tool_that_it_did_not_declare(
    house: House, server: StrictServer, format: str, stream: bool
) -> None:
    server.answer(Say("Both. ", (RECALL, Call("ls", {}))))
    reply = asked(house, server, format, stream=stream, thread=f"beside.{format}.{stream}")
    assert [call.name for call in understand(reply, format, format).message.calls] == ["ls"]
    assert len(server.exchanges) == 1


def answered_own(format: str, reply: dict[str, Any], call: str) -> list[dict[str, Any]]:
    """What a client sends next: the answer as it saw it, and the result of its own tool."""
    if format == "anthropic":
        result = {"type": "tool_result", "tool_use_id": call, "content": "a.py"}
        return [{"role": "assistant", "content": reply["content"]}, {"role": "user", "content": [result]}]
    if format == "openai-chat":
        return [reply["choices"][0]["message"], {"role": "tool", "tool_call_id": call, "content": "a.py"}]
    if format == "openai-responses":
        return [*reply["output"], {"type": "function_call_output", "call_id": call, "output": "a.py"}]
    response = {"functionResponse": {"id": call, "name": "ls", "response": {"o": "a.py"}}}
    return [reply["candidates"][0]["content"], {"role": "user", "parts": [response]}]


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_recalled_beside_own_calls_stands_in_the_next_request(
    house: House, server: StrictServer, format: str
) -> None:
    thread = f"next.{format}"
    server.answer(Say("Both. ", (RECALL, Call("ls", {}))), found)
    reply = asked(house, server, format, stream=False, thread=thread)
    (call,) = understand(reply, format, format).message.calls
    request = raw_request(house.url, server.token, format, texts(thread), thread=thread)
    body = {**json.loads(request.content), "tools": [OWN_TOOL[format]]}
    name = next(name for name in ("messages", "input", "contents") if name in body)
    body[name] += answered_own(format, reply, call.id)
    headers = {name: value for name, value in request.headers.items() if name not in ("content-length", "host")}
    answer = web().post(str(request.url), json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    assert server.refused == []
    shown = json.dumps(server.last.request[name][-3:])
    assert "port of the proxy" in shown, "the call is back in its place"
    assert "<recalled-" in shown, "and so is its result"


def test_a_model_that_recalls_without_end_is_stopped(house: House, server: StrictServer) -> None:
    server.always(Say("", (RECALL,)))
    try:
        asked(house, server, "anthropic", stream=False, thread="endless")
        assert len(server.exchanges) <= 6
    finally:
        server.always("Understood.")


def test_pinned_beginnings_stay_whatever_is_folded(tmp_path: Path, server: StrictServer) -> None:
    with gateway(tmp_path / "store.db", server.url, window=WINDOW, pins=3) as house:
        asked(house, server, "anthropic", stream=False, thread="pinned")
        assert FACT in json.dumps(server.last.request["messages"][2])
        assert len(server.last.request["messages"]) < len(texts("pinned"))


def test_the_sdks_own_stream_of_responses_ends_as_it_began_and_can_be_gone_on_from(
    house: House, server: StrictServer
) -> None:
    openai = pytest.importorskip("openai")
    messages = [{"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(texts("sdk"))]
    server.answer(Say("Let me look. ", (RECALL,)), found, "As I said.")
    with openai.OpenAI(base_url=f"{house.url}/v1", api_key=server.token, max_retries=0) as client:
        with client.responses.stream(model="gpt-6-sol", input=messages) as stream:
            began = next(event.response.id for event in stream if event.type == "response.created")
            answer = stream.get_final_response()
        assert answer.id == began
        assert answer.output_text.endswith("It was 48213.")
        house.settle()
        more = client.responses.create(model="gpt-6-sol", input="Sure?", previous_response_id=answer.id)
    assert more.output_text == "As I said."
    assert server.last.request.get("previous_response_id") != began, "there the model's question has no answer"
    assert server.refused == []


@pytest.mark.parametrize("format", FORMATS)
def test_a_bill_of_several_rounds_teaches_nothing_about_the_size_of_one(
    house: House, server: StrictServer, format: str
) -> None:
    """Twice the tokens for one request would make everything look twice as large, and the window half as wide."""
    thread = f"bill.{format}"
    server.answer(Say("Let me look. ", (RECALL,)), found)
    asked(house, server, format, stream=False, thread=thread)
    billed = sum(each.usage.input for each in server.exchanges)
    with house.store(server.token) as store:
        (row,) = store.threads(prefix=f"named/{thread}")
        kept = store.thread(row.title)
        (bill,) = [entry.event for entry in kept.events if isinstance(entry.event, Measured)]
        assert bill.billed == billed, "what was paid is told whole"
        before = kept.view.count.tokens
        kept.lens.learn_again()
        assert kept.view.count.tokens == before
    (shown,) = [row for row in web().get(f"{house.url}/status").json()["conversations"] if thread in row["name"]]
    assert shown["window"] == WINDOW
