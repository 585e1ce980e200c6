"""The official SDKs' clients, wrapped: they fold by themselves, are refused nothing, and behave as they did.

The strict server verifies seals, prefixes, pairs and limits; the owner's list is compared with what it was.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Appended, Measured
from contextfold.errors import BadConfiguration
from contextfold.testing.server import Call, Clock, Held, Question, Say, StrictServer, faults
from tests.acceptance.judge import strict_server

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")
genai = pytest.importorskip("google.genai")

WINDOW = 9_000
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
BILLED: Any = {"stream_options": {"include_usage": True}}
PATHS = ("src/a.py", "src/b.py")
Message = dict[str, Any]


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server(clock=Clock(), seed=b"wrapped", token="sk-test") as server:  # noqa: S106  # nobody's key
        yield server


async def got(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def last_of(stream: Any) -> list[Any]:
    """Every event of a stream of either kind."""
    stream = await got(stream)
    return [each async for each in stream] if hasattr(stream, "__aiter__") else list(stream)


@asynccontextmanager
async def opened(name: str, server: StrictServer, kind: str = "at once", **options: Any) -> AsyncIterator[Speaker]:
    speaker = SPEAKERS[name](server, kind, **options)
    yield speaker
    await speaker.close()


class Speaker:
    """One format of one SDK: how a client is made and asked, and how its owner writes messages."""

    model: str

    def __init__(self, server: StrictServer, kind: str, **options: Any) -> None:
        self.is_async, self.streams = kind == "awaited", kind == "streamed"
        self.plain = self.open(server)
        self.client = cf.wrap(self.plain, **options)

    def open(self, server: StrictServer) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        await got(self.client.close())

    def user(self, text: str) -> Message:
        return {"role": "user", "content": text}

    async def ask(self, messages: list[Any]) -> tuple[list[Any], list[tuple[str, str]]]:
        """What the owner appends of an answer, and the calls in it."""
        raise NotImplementedError

    def results(self, calls: list[tuple[str, str]], text: str) -> list[Message]:
        raise NotImplementedError


class Claude(Speaker):
    model = "claude-sonnet-5-5"

    def open(self, server: StrictServer) -> Any:
        kind = anthropic.AsyncAnthropic if self.is_async else anthropic.Anthropic
        return kind(base_url=server.url, api_key=server.token)

    async def ask(self, messages: list[Any]) -> tuple[list[Any], list[tuple[str, str]]]:
        tools = [{"name": "read", "description": "Read a file.", "input_schema": SCHEMA}]
        asked = {"model": self.model, "max_tokens": 500, "messages": messages, "tools": tools, "system": "Be brief."}
        asked["thinking"] = {"type": "adaptive"}
        if self.streams:
            with self.client.messages.stream(**asked) as stream:
                answer = stream.get_final_message()
        else:
            answer = await got(self.client.messages.create(**asked))
        assert isinstance(answer, anthropic.types.Message)
        calls = [(block.id, block.name) for block in answer.content if block.type == "tool_use"]
        return [{"role": "assistant", "content": answer.content}], calls

    def results(self, calls: list[tuple[str, str]], text: str) -> list[Message]:
        given = [{"type": "tool_result", "tool_use_id": call, "content": text} for call, _ in calls]
        return [{"role": "user", "content": given}]


class Chat(Speaker):
    model = "gpt-4.1"

    def open(self, server: StrictServer) -> Any:
        kind = openai.AsyncOpenAI if self.is_async else openai.OpenAI
        return kind(base_url=f"{server.url}/v1", api_key=server.token)

    async def ask(self, messages: list[Any]) -> tuple[list[Any], list[tuple[str, str]]]:
        function = {"name": "read", "description": "Read a file.", "parameters": SCHEMA}
        asked = {"model": self.model, "messages": messages, "tools": [{"type": "function", "function": function}]}
        if self.streams:
            with self.client.chat.completions.stream(**asked, **BILLED) as stream:
                answer = stream.get_final_completion()
        else:
            answer = await got(self.client.chat.completions.create(**asked))
        assert isinstance(answer, openai.types.chat.ChatCompletion)
        said = answer.choices[0].message
        calls = [(call.id, call.function.name) for call in said.tool_calls or ()]
        kept = {"role", "content", "tool_calls"}
        return [said.model_dump(mode="json", include=kept, exclude_none=True)], calls

    def results(self, calls: list[tuple[str, str]], text: str) -> list[Message]:
        return [{"role": "tool", "tool_call_id": call, "content": text} for call, _ in calls]


class Responses(Chat):
    model = "gpt-6-sol"

    async def ask(self, messages: list[Any]) -> tuple[list[Any], list[tuple[str, str]]]:
        tool = {"type": "function", "name": "read", "description": "Read.", "parameters": SCHEMA, "strict": False}
        asked = {"model": self.model, "input": messages, "tools": [tool], "instructions": "Be brief.", "store": False}
        asked["include"] = ["reasoning.encrypted_content"]
        if self.streams:
            *_, last = await last_of(self.client.responses.create(**asked, stream=True))
            answer = last.response
        else:
            answer = await got(self.client.responses.create(**asked))
        assert isinstance(answer, openai.types.responses.Response)
        calls = [(item.call_id, item.name) for item in answer.output if item.type == "function_call"]
        return [item.model_dump(mode="json", exclude_none=True) for item in answer.output], calls

    def results(self, calls: list[tuple[str, str]], text: str) -> list[Message]:
        return [{"type": "function_call_output", "call_id": call, "output": text} for call, _ in calls]


class Gemini(Speaker):
    model = "gemini-3.8-flash"

    def open(self, server: StrictServer) -> Any:
        return genai.Client(api_key=server.token, http_options={"base_url": server.url})

    async def close(self) -> None:
        self.client.close()
        await self.client.aio.aclose()

    def user(self, text: str) -> Message:
        return {"role": "user", "parts": [{"text": text}]}

    async def ask(self, messages: list[Any]) -> tuple[list[Any], list[tuple[str, str]]]:
        declared = [{"name": "read", "description": "Read a file.", "parameters_json_schema": SCHEMA}]
        config = {"tools": [{"function_declarations": declared}], "system_instruction": "Be brief."}
        models = self.client.aio.models if self.is_async else self.client.models
        asked = {"model": self.model, "contents": messages, "config": config}
        if self.streams:
            parts = [part for each in await last_of(models.generate_content_stream(**asked)) for part in said_in(each)]
        else:
            answer = await got(models.generate_content(**asked))
            assert isinstance(answer, genai.types.GenerateContentResponse)
            parts = said_in(answer)
        calls = [(part.function_call.id, part.function_call.name) for part in parts if part.function_call]
        return [genai.types.Content(role="model", parts=parts)], calls

    def results(self, calls: list[tuple[str, str]], text: str) -> list[Message]:
        given = [{"id": call, "name": name, "response": {"output": text}} for call, name in calls]
        return [{"role": "user", "parts": [{"function_response": each} for each in given]}]


def said_in(answer: Any) -> list[Any]:
    return [part for candidate in answer.candidates or () for part in candidate.content.parts or ()]


SPEAKERS: dict[str, type[Speaker]] = {"anthropic": Claude, "chat": Chat, "responses": Responses, "gemini": Gemini}


def step(asked: Question) -> Say:
    calls = tuple(Call("read", {"path": path}) for path in PATHS)
    return Say("I read both.", calls, "" if asked.format == "openai-chat" else "Both at once.")


async def talk(speaker: Speaker, server: StrictServer, messages: list[Any], turns: int) -> None:
    """Turns with two calls at once; every message that was in the list before is as it was."""
    for number in range(turns):
        server.answer(step, "Both are fine.")
        messages.append(speaker.user(f"Look at the files, please. {number}"))
        calls: list[tuple[str, str]] | None = None
        while calls is None or calls:
            before = deepcopy(messages)
            said, calls = await speaker.ask(messages)
            assert messages == before
            messages += said
            messages += speaker.results(calls, f"line {number} of the file\n" * 160) if calls else []


def statuses(server: StrictServer) -> list[int]:
    return [exchange.status for exchange in server.exchanges]


def written(store: cf.Store) -> int:
    """How many messages the threads of a store ever held."""
    threads = [store.thread(each.name) for each in store.threads()]
    return sum(isinstance(entry.event, Appended) for thread in threads for entry in thread.events)


@pytest.mark.parametrize("kind", ["at once", "awaited", "streamed"])
@pytest.mark.parametrize("name", SPEAKERS)
async def test_a_wrapped_client_folds_by_itself_and_is_refused_nothing(
    name: str, kind: str, server: StrictServer, tmp_path: Path
) -> None:
    folds: list[Any] = []
    messages: list[Any] = []
    options: Message = {"thread": "main", "window": WINDOW, "on_fold": folds.append}
    with cf.open(tmp_path / "agent.db") as store:
        async with opened(name, server, kind, store=store, **options) as speaker:
            assert type(speaker.client) is type(speaker.plain)
            await talk(speaker, server, messages, 7)
        assert statuses(server) == [200] * 14
        assert len(folds) >= 3
        stats = cf.Session.on(store, "main").stats
        assert (stats.requests, stats.billed > 0) == (14, True)
        grouped = len(messages) if name != "responses" else 7 * (2 + 2 + 1)
        assert written(store) == grouped, "nothing twice, nothing lost"
        assert store.verify() == []


async def test_after_a_restart_nothing_is_written_twice(server: StrictServer, tmp_path: Path) -> None:
    messages: list[Any] = []
    for _ in range(2):
        async with opened("anthropic", server, store=tmp_path / "agent.db", window=WINDOW) as speaker:
            await talk(speaker, server, messages, 2)
    with cf.open(tmp_path / "agent.db") as store:
        assert len(store.threads()) == 1, "the conversation is known by what it begins with"
        assert written(store) == len(messages)


async def test_conversations_that_begin_otherwise_are_threads_of_their_own(server: StrictServer) -> None:
    with cf.open() as store:
        async with opened("chat", server, store=store) as speaker:
            for text in ("one", "two"):
                await speaker.ask([{"role": "system", "content": "Be brief."}, speaker.user(text)])
        assert len(store.threads()) == 2


async def test_retries_and_errors_are_the_sdks_own(server: StrictServer) -> None:
    with cf.open() as store:
        async with opened("anthropic", server, store=store, thread="main") as speaker:
            server.answer(faults.rate_limited(retry_after=0), "At last.")
            await speaker.ask([speaker.user("hello")])
            assert statuses(server) == [429, 200]
            assert written(store) == 2
            with pytest.raises(anthropic.BadRequestError):
                await speaker.ask([{"role": "user", "content": [{"type": "no_such_thing"}]}])
            smallest = {"model": speaker.model, "max_tokens": 100, "messages": [speaker.user("hello")]}
            with pytest.raises(anthropic.AuthenticationError):
                speaker.client.with_options(api_key="sk-other").messages.create(**smallest)


async def test_what_can_never_fit_is_told_as_its_provider_would(server: StrictServer) -> None:
    async with opened("anthropic", server, window=WINDOW) as speaker:
        with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
            await speaker.ask([speaker.user("word " * 20_000)])
    assert statuses(server) == []


@pytest.mark.parametrize("kind", ["at once", "awaited"])
async def test_a_request_that_its_provider_finds_too_long_is_tried_once_more(kind: str, server: StrictServer) -> None:
    folds: list[Any] = []
    messages: list[Any] = []
    async with opened("anthropic", server, kind, thread="main", on_fold=folds.append) as speaker:
        await talk(speaker, server, messages, 4)
        server.answer(faults.overflow(6_000, 4_000), "Shorter now.")
        messages.append(speaker.user("And now?"))
        await speaker.ask(messages)
    assert folds
    assert statuses(server)[-2:] == [400, 200]


async def test_a_stream_that_breaks_is_kept_as_far_as_it_came(server: StrictServer) -> None:
    with cf.open() as store:
        async with opened("anthropic", server, "streamed", store=store, thread="main") as speaker:
            server.answer(faults.cut(after=4))
            with pytest.raises(Exception, match=r"closed|incomplete|peer|Connection|error"):
                await speaker.ask([speaker.user("hello")])
        assert store.verify() == []


async def test_what_asks_for_no_turn_passes_as_it_is(server: StrictServer) -> None:
    with cf.open() as store:
        async with opened("chat", server, store=store) as speaker:
            with pytest.raises(openai.APIStatusError):
                speaker.client.models.list()
        assert store.threads() == []


def test_only_clients_that_are_known_can_be_wrapped() -> None:
    with pytest.raises(BadConfiguration, match="anthropic, openai or google-genai"):
        cf.wrap(object())


async def test_many_at_once_keep_apart(server: StrictServer) -> None:
    with cf.open() as store:
        async with opened("anthropic", server, "awaited", store=store) as speaker:
            await asyncio.gather(*(speaker.ask([speaker.user(f"question {number}")]) for number in range(8)))
        assert len(store.threads()) == 8
        assert written(store) == 16


async def test_answers_asked_for_at_once_in_one_conversation_stand_behind_their_own_questions(
    server: StrictServer,
) -> None:
    begun = "Let us begin. " + "alpha beta gamma delta " * 100
    tails = ["Short.", "Longer: " + "one two three four five " * 120, "Middle: " + "six seven " * 60]
    held: list[Held] = []

    def together(asked: Question) -> str | Held:
        tail = next((tail for tail in tails if tail in str(asked.body)), "")
        if not tail:
            return "Begun."
        held.append(Held(f"To {tail[:6]}"))
        if len(held) == len(tails):
            for each in held:
                each.release()
        return held[-1]

    server.always(together)
    store = cf.open()
    async with opened("anthropic", server, "awaited", store=store, thread="one") as speaker:
        first, _ = await speaker.ask([speaker.user(begun)])
        await asyncio.gather(*(speaker.ask([speaker.user(begun), *first, speaker.user(tail)]) for tail in tails))
    thread = store.thread("one")
    events = {entry.seq: entry for entry in thread.events}
    said = {seq: str(thread.message(seq).blocks) for seq, each in events.items() if isinstance(each.event, Appended)}
    answers = [seq for seq, text in said.items() if any(f"To {tail[:6]}" in text for tail in tails)]
    assert len(answers) == len(tails)
    for seq in answers:
        assert said[events[seq].parent].split("'")[1][:6] in said[seq]
    bills = [each.event for each in events.values() if isinstance(each.event, Measured)]
    counted = {bill.counted: bill.billed for bill in bills[1:]}
    assert sorted(counted.values()) == [counted[tokens] for tokens in sorted(counted)]
    assert len(counted) == len(tails)
