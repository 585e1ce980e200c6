"""The official SDKs against the strict server: synchronous, asynchronous, streaming; and recorded exchanges.

A recorded exchange is what an SDK sent and what the server answered, byte for byte; CONTEXTFOLD_RECORD=1 writes anew.
"""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from contextfold.testing.server import Call, Clock, Say, StrictServer
from tests.acceptance.judge import strict_server

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")
genai = pytest.importorskip("google.genai")

EXCHANGES = Path(__file__).with_name("exchanges")
ANSWER = Say("I will read it now, and then tell you.", (Call("read", {"path": "src/app.py"}),), thinking="Read first.")
TOOL = {"type": "object", "properties": {"path": {"type": "string"}}}


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server(clock=Clock(), seed=b"recorded", token="sk-test") as server:  # noqa: S106  # nobody's key
        yield server


def claude(server: StrictServer, kind: str = "Anthropic") -> Any:
    return getattr(anthropic, kind)(base_url=server.url, api_key=server.token, max_retries=0)


def gpt(server: StrictServer, kind: str = "OpenAI") -> Any:
    return getattr(openai, kind)(base_url=f"{server.url}/v1", api_key=server.token, max_retries=0)


def gemini(server: StrictServer) -> Any:
    return genai.Client(api_key=server.token, http_options={"base_url": server.url})


CLAUDE = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 1_000,
    "system": "You help.",
    "tools": [{"name": "read", "input_schema": TOOL}],
    "messages": [{"role": "user", "content": "Read the file."}],
}
CHAT = {
    "model": "gpt-5",
    "messages": [{"role": "system", "content": "You help."}, {"role": "user", "content": "Read the file."}],
    "tools": [{"type": "function", "function": {"name": "read", "parameters": TOOL}}],
}
RESPONSES = {
    "model": "gpt-6-sol",
    "instructions": "You help.",
    "input": "Read the file.",
    "tools": [{"type": "function", "name": "read", "parameters": TOOL, "strict": False}],
}
GEMINI = {
    "model": "gemini-3.8-flash",
    "contents": "Read the file.",
    "config": {
        "system_instruction": "You help.",
        "tools": [{"function_declarations": [{"name": "read", "parameters_json_schema": TOOL}]}],
        "automatic_function_calling": {"disable": True},
    },
}

Heard = tuple[str, str, dict[str, Any]]
HEARD = (ANSWER.text, "read", {"path": "src/app.py"})


def from_claude(message: Any) -> Heard:
    text, call = message.content[1:]
    assert message.content[0].thinking == ANSWER.thinking
    assert message.content[0].signature
    assert message.stop_reason == "tool_use"
    return text.text, call.name, call.input


def from_chat(message: Any) -> Heard:
    function = message.tool_calls[0].function
    return message.content, function.name, msgspec.json.decode(function.arguments)


def from_response(response: Any) -> Heard:
    call = response.output[-1]
    assert response.output[0].summary[0].text == ANSWER.thinking
    return response.output_text, call.name, msgspec.json.decode(call.arguments)


def from_gemini(*answers: Any) -> Heard:
    parts = [part for answer in answers for part in answer.candidates[0].content.parts]
    call = next(part for part in parts if part.function_call)
    assert call.thought_signature
    text = "".join(part.text for part in parts if part.text and not part.thought)
    return text, call.function_call.name, call.function_call.args


def joined(chunks: Any) -> Any:
    """A chat's chunks as the SDK's own accumulator puts them together."""
    return chunks.get_final_completion().choices[0].message


def anthropic_whole(server: StrictServer) -> Heard:
    with claude(server) as client:
        return from_claude(client.messages.create(**CLAUDE))


def anthropic_stream(server: StrictServer) -> Heard:
    with claude(server) as client, client.messages.stream(**CLAUDE) as stream:
        return from_claude(stream.get_final_message())


def chat_whole(server: StrictServer) -> Heard:
    with gpt(server) as client:
        return from_chat(client.chat.completions.create(**CHAT).choices[0].message)


def chat_stream(server: StrictServer) -> Heard:
    with gpt(server) as client, client.chat.completions.stream(**CHAT) as stream:
        stream.until_done()
        return from_chat(joined(stream))


def responses_whole(server: StrictServer) -> Heard:
    with gpt(server) as client:
        return from_response(client.responses.create(**RESPONSES))


def responses_stream(server: StrictServer) -> Heard:
    with gpt(server) as client, client.responses.stream(**RESPONSES) as stream:
        stream.until_done()
        return from_response(stream.get_final_response())


def gemini_whole(server: StrictServer) -> Heard:
    with gemini(server) as client:  # one that nobody holds closes itself
        return from_gemini(client.models.generate_content(**GEMINI))


def gemini_stream(server: StrictServer) -> Heard:
    with gemini(server) as client:
        return from_gemini(*client.models.generate_content_stream(**GEMINI))


SYNC: dict[str, Callable[[StrictServer], Heard]] = {
    "anthropic": anthropic_whole,
    "anthropic-stream": anthropic_stream,
    "openai-chat": chat_whole,
    "openai-chat-stream": chat_stream,
    "openai-responses": responses_whole,
    "openai-responses-stream": responses_stream,
    "gemini": gemini_whole,
    "gemini-stream": gemini_stream,
}


@pytest.mark.parametrize("way", SYNC)
def test_an_sdk_hears_what_was_scripted_and_the_exchange_is_as_recorded(server: StrictServer, way: str) -> None:
    server.answer(ANSWER)
    assert SYNC[way](server) == HEARD
    assert server.usage.input > 0
    assert server.usage.output > 0
    seen = server.last
    path = EXCHANGES / f"{way}.json"
    exchange = {"path": seen.path, "request": seen.request, "status": seen.status, "response": seen.response}
    now = msgspec.json.format(msgspec.json.encode(exchange), indent=1) + b"\n"
    if os.environ.get("CONTEXTFOLD_RECORD"):
        path.write_bytes(now)
    assert path.read_bytes() == now


async def anthropic_awaited(server: StrictServer) -> Heard:
    async with claude(server, "AsyncAnthropic") as client, client.messages.stream(**CLAUDE) as stream:
        return from_claude(await stream.get_final_message())


async def chat_awaited(server: StrictServer) -> Heard:
    async with gpt(server, "AsyncOpenAI") as client:
        return from_chat((await client.chat.completions.create(**CHAT)).choices[0].message)


async def responses_awaited(server: StrictServer) -> Heard:
    async with gpt(server, "AsyncOpenAI") as client, client.responses.stream(**RESPONSES) as stream:
        await stream.until_done()
        return from_response(await stream.get_final_response())


async def gemini_awaited(server: StrictServer) -> Heard:
    async with gemini(server).aio as client:
        answers: AsyncIterator[Any] = await client.models.generate_content_stream(**GEMINI)
        return from_gemini(*[answer async for answer in answers])


@pytest.mark.parametrize("way", [anthropic_awaited, chat_awaited, responses_awaited, gemini_awaited])
async def test_an_awaited_sdk_hears_the_same(server: StrictServer, way: Any) -> None:
    server.answer(ANSWER)
    assert await way(server) == HEARD


def test_a_refusal_is_the_sdks_own_error(server: StrictServer) -> None:
    with claude(server) as client, pytest.raises(anthropic.BadRequestError, match="at least one message"):
        client.messages.create(**{**CLAUDE, "messages": []})
    with gpt(server) as client, pytest.raises(openai.BadRequestError, match="minimum length 1"):
        client.chat.completions.create(**{**CHAT, "messages": []})
    with gpt(server) as client, pytest.raises(openai.BadRequestError, match="not found"):
        client.responses.create(**RESPONSES, previous_response_id="resp_0")
    with gemini(server) as client, pytest.raises(genai.errors.ClientError, match="must not be empty"):
        client.models.generate_content(**{**GEMINI, "contents": [{"role": "user", "parts": []}]})
    assert [each.status for each in server.refused] == [400] * 4


def test_the_sdks_count_and_compact(server: StrictServer) -> None:
    counted = {name: value for name, value in CLAUDE.items() if name != "max_tokens"}
    with claude(server) as client:
        assert client.messages.count_tokens(**counted).input_tokens > 0
        asked = {"compaction": {"type": "summarize"}, "betas": ["compact-2026-09-04"]}
        block = client.beta.messages.create(**CLAUDE, **asked)
    assert block.stop_reason == "compaction"
    assert block.content[0].signature
    with gpt(server) as client:
        window = client.responses.compact(model="gpt-6-sol", input="Read the file.")
    assert window.output[-1].type == "compaction"
    with gemini(server) as client:
        assert client.models.count_tokens(model="gemini-3.8-flash", contents="Read it.").total_tokens > 0
