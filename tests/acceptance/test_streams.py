"""A streamed answer reaches the caller as it comes and the thread when it ends: by the official SDKs, whole and cut.

Each conversation goes on afterwards, so the strict server judges what was kept.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

import contextfold as cf
from contextfold.dialects.gemini import arguments
from contextfold.testing.server import Call, Say, StrictServer, faults
from tests.acceptance.judge import strict_server

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")
genai = pytest.importorskip("google.genai")

ANSWER = Say(
    "I will read it: 漢字 🙂.", (Call("read", {"path": "src/app.py", "lines": [1, 2]}),), thinking="Read first."
)
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = [{"name": "read", "description": "Read a file.", "input_schema": SCHEMA}]
MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "openai-chat": "gpt-4.1",
    "openai-responses": "gpt-5.5",
    "gemini": "gemini-3.8-flash",
}


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server() as server:
        yield server


def claude(server: StrictServer, kind: str = "Anthropic") -> Any:
    return getattr(anthropic, kind)(base_url=server.url, api_key=server.token, max_retries=0)


def gpt(server: StrictServer, kind: str = "OpenAI") -> Any:
    return getattr(openai, kind)(base_url=f"{server.url}/v1", api_key=server.token, max_retries=0)


def gemini(server: StrictServer) -> Any:
    return genai.Client(api_key=server.token, http_options={"base_url": server.url})


def stateless(request: cf.Request) -> dict[str, Any]:
    return {**request.body, "store": False, "include": ["reasoning.encrypted_content"]}


def from_anthropic(server: StrictServer, request: cf.Request) -> Iterator[Any]:
    with claude(server) as client:
        yield from client.messages.create(**request.body, stream=True)


def from_anthropic_helper(server: StrictServer, request: cf.Request) -> Iterator[Any]:
    with claude(server) as client, client.messages.stream(**request.body) as stream:
        yield from stream


def from_chat(server: StrictServer, request: cf.Request) -> Iterator[Any]:
    with gpt(server) as client:
        options = {"include_usage": True}
        yield from client.chat.completions.create(**request.body, stream=True, stream_options=options)


def from_chat_helper(server: StrictServer, request: cf.Request) -> Iterator[Any]:
    options = {"include_usage": True}
    with gpt(server) as client, client.chat.completions.stream(**request.body, stream_options=options) as stream:
        yield from stream


def from_responses(server: StrictServer, request: cf.Request) -> Iterator[Any]:
    with gpt(server) as client:
        yield from client.responses.create(**stateless(request), stream=True)


def from_gemini(server: StrictServer, request: cf.Request) -> Iterator[Any]:
    with gemini(server) as client:
        yield from client.models.generate_content_stream(**arguments(request.body))


def raw_bytes(server: StrictServer, request: cf.Request) -> Iterator[bytes]:
    with (
        claude(server) as client,
        client.messages.with_streaming_response.create(**request.body, stream=True) as response,
    ):
        yield from response.iter_bytes(7)


Source = Callable[[StrictServer, cf.Request], Iterator[Any]]
SOURCES: list[tuple[str, Source]] = [
    ("anthropic", from_anthropic),
    ("anthropic", from_anthropic_helper),
    ("anthropic", raw_bytes),
    ("openai-chat", from_chat),
    ("openai-chat", from_chat_helper),
    ("openai-responses", from_responses),
    ("gemini", from_gemini),
]


def opened(dialect: str) -> cf.Session:
    session = cf.Session.open(model=MODELS[dialect], system="You help.", tools=TOOLS)
    session.append({"role": "user", "content": "Read the file."})
    return session


def result_of(call: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": "print(1)"}]}


@pytest.mark.parametrize(("dialect", "source"), SOURCES)
def test_every_piece_is_handed_on_and_the_whole_answer_is_kept(
    server: StrictServer, dialect: str, source: Source
) -> None:
    server.answer(ANSWER, "Thank you.")
    with opened(dialect) as session:
        recording = session.record(source(server, session.prepare(max_tokens=500)))
        events = list(recording)
        assert len(events) > 2
        assert recording.heard.is_complete
        assert recording.heard.left_out == ()
        kept = session.thread.message(recording.seq or 0)
        assert (kept.role, kept.text) == ("assistant", ANSWER.text)
        (call,) = kept.calls
        assert (call.name, call.arguments.replace(" ", "")) == ("read", '{"path":"src/app.py","lines":[1,2]}')
        assert session.stats.requests == 1
        assert session.stats.billed == server.exchanges[0].usage.input
        session.append(result_of(call.id))
        assert list(session.record(source(server, session.prepare(max_tokens=500))))
        assert session.result() == "Thank you."
    assert server.refused == []


async def from_async_anthropic(server: StrictServer, request: cf.Request) -> AsyncIterator[Any]:
    async with claude(server, "AsyncAnthropic") as client:
        async for event in await client.messages.create(**request.body, stream=True):
            yield event


async def from_async_chat(server: StrictServer, request: cf.Request) -> AsyncIterator[Any]:
    async with gpt(server, "AsyncOpenAI") as client:
        async for event in await client.chat.completions.create(**request.body, stream=True):
            yield event


async def from_async_responses(server: StrictServer, request: cf.Request) -> AsyncIterator[Any]:
    async with gpt(server, "AsyncOpenAI") as client:
        async for event in await client.responses.create(**stateless(request), stream=True):
            yield event


async def from_async_gemini(server: StrictServer, request: cf.Request) -> AsyncIterator[Any]:
    async with gemini(server).aio as client:
        async for event in await client.models.generate_content_stream(**arguments(request.body)):
            yield event


@pytest.mark.parametrize(
    ("dialect", "source"),
    [
        ("anthropic", from_async_anthropic),
        ("openai-chat", from_async_chat),
        ("openai-responses", from_async_responses),
        ("gemini", from_async_gemini),
    ],
)
async def test_asynchronous_streams_are_kept_too(
    server: StrictServer, dialect: str, source: Callable[[StrictServer, cf.Request], AsyncIterator[Any]]
) -> None:
    server.answer(ANSWER)
    async with await cf.aio.Session.open(model=MODELS[dialect], system="You help.", tools=TOOLS) as session:
        await session.append({"role": "user", "content": "Read the file."})
        recording = session.record(source(server, await session.prepare(max_tokens=500)))
        assert [event async for event in recording]
        assert recording.heard.is_complete
        assert recording.seq == (await session.view).head
        assert (await session.thread.message(recording.seq)).text == ANSWER.text
    assert server.refused == []


@pytest.mark.parametrize(("dialect", "source"), SOURCES)
def test_a_cut_stream_keeps_the_words_that_came_and_says_so(server: StrictServer, dialect: str, source: Source) -> None:
    server.answer(faults.cut(after=3 if dialect == "openai-chat" else 6), "I am back.")
    with opened(dialect) as session:
        recording = session.record(source(server, session.prepare(max_tokens=500)))
        with pytest.raises(Exception, match=r".+"):  # what the SDK says of a lost connection
            list(recording)
        assert not recording.heard.is_complete
        assert recording.heard.error
        assert recording.seq is not None
        said = session.thread.message(recording.seq).text
        assert said
        assert faults.cut().text.startswith(said)
        session.append({"role": "user", "content": "You were cut off."})
        assert list(session.record(source(server, session.prepare(max_tokens=500))))
        assert session.result() == "I am back."
    assert server.refused == []


def test_an_error_in_mid_stream_is_reported(server: StrictServer) -> None:
    server.answer(faults.break_off(after=4))
    with opened("anthropic") as session:
        recording = session.record(raw_bytes(server, session.prepare(max_tokens=500)))
        assert b"event: error" in b"".join(recording)
        assert recording.heard.error == "overloaded_error: Overloaded"
        assert not recording.heard.is_complete


def test_a_stream_that_never_was_one_leaves_the_thread_as_it_was(server: StrictServer) -> None:
    server.answer(faults.garbage())
    with opened("anthropic") as session:
        request = session.prepare(max_tokens=500)
        head = session.view.head
        recording = session.record(raw_bytes(server, request))
        assert b"Bad Gateway" in b"".join(recording)
        assert (recording.seq, recording.heard.answer, session.view.head) == (None, None, head)


def test_a_caller_who_leaves_keeps_what_was_said_so_far() -> None:
    with opened("openai-chat") as session:
        chunks = [{"choices": [{"index": 0, "delta": {"content": f"word {at} "}}]} for at in range(9)]
        recording = session.record(iter(chunks))
        for number, _ in enumerate(recording):
            if number == 3:
                break
        recording.close()
        assert not recording.heard.is_complete
        assert session.thread.message(recording.seq or 0).text == "word 0 word 1 word 2 word 3 "
        with pytest.raises(RuntimeError, match="heard once"):
            iter(recording)


async def test_an_asynchronous_caller_who_leaves_keeps_it_too() -> None:
    async with await cf.aio.Session.open(model="gpt-4.1") as session:
        await session.append({"role": "user", "content": "Count."})
        chunks = [{"choices": [{"index": 0, "delta": {"content": f"{at} "}}]} for at in range(9)]
        recording = session.record(chunks)
        pieces = aiter(recording)
        assert [await anext(pieces) for _ in range(3)] == chunks[:3]
        await recording.close()
        assert recording.seq is not None
        assert (await session.thread.message(recording.seq)).text == "0 1 2 "
        with pytest.raises(RuntimeError, match="heard once"):
            aiter(recording)


@pytest.mark.finding("W15")
@pytest.mark.parametrize("dialect", MODELS)
def test_a_stream_that_ends_early_without_an_error_says_so(server: StrictServer, dialect: str) -> None:
    ways = {"anthropic": from_anthropic, "openai-chat": from_chat, "openai-responses": from_responses}
    with cf.Session.open(model=MODELS[dialect], tools=TOOLS) as session:
        session.append({"role": "user", "content": "Read it."})
        server.answer("These are words that come in several pieces, and then no more.")
        pieces = list(ways.get(dialect, from_gemini)(server, session.prepare(max_tokens=200)))
        recording = session.record(pieces[:-2])
        assert len(list(recording)) == len(pieces) - 2
        assert recording.heard.error == "the stream ended before the answer did"


@pytest.mark.finding("W15")
def test_a_helpers_events_are_recorded_without_a_warning(server: StrictServer) -> None:
    class Found(BaseModel):
        path: str

    with gpt(server) as client, cf.Session.open(model="gpt-5.5") as session:
        session.append({"role": "user", "content": "Which file?"})
        server.answer('{"path": "src/app.py"}')
        with client.responses.stream(**stateless(session.prepare()), text_format=Found) as stream:
            recording = session.record(stream)
            kinds = [event.type for event in recording]
        assert kinds[-1] == "response.completed"
        assert recording.heard.is_complete
