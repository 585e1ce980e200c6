"""Whatever a caller hands us: read in the dialect that is named, else by its shape; SDK objects at any depth."""

import enum
import json
from typing import Any

import pytest

import contextfold as cf
from contextfold import aio
from contextfold.dialects import plain, together
from contextfold.domain import encode
from contextfold.errors import BadMessage

CLAUDE, UNKNOWN = "claude-sonnet-5-5", "someones-own-model"

# As LangChain converts an answer of Claude with thinking.
MIXED = {
    "role": "assistant",
    "content": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "I look."}],
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "run", "arguments": "{}"}}],
}


def sent(message: object, model: str, dialect: str | None = None, **more: Any) -> Any:
    with cf.Session.open(model=model, **more) as session:
        session.append(message)
        session.append({"role": "user", "content": "hi"}, dialect="openai-chat")
        return session.prepare(dialect=dialect, max_tokens=500).body


@pytest.mark.finding("W2")
@pytest.mark.parametrize("model", [CLAUDE, UNKNOWN, "gpt-4.1", "gemini-3-pro-preview"])
def test_a_message_of_two_formats_at_once_is_refused_whatever_the_model(model: str) -> None:
    with cf.Session.open(model=model) as session:
        with pytest.raises(BadMessage, match=r"several formats at once: anthropic and openai-chat.*Write it in one"):
            session.append(MIXED)
        with pytest.raises(BadMessage, match="several formats at once"):
            session.append(MIXED, dialect="anthropic")
        with pytest.raises(BadMessage, match="named anthropic, and holds what only openai-chat writes"):
            session.append(
                {"role": "assistant", "content": "x", "tool_calls": MIXED["tool_calls"]}, dialect="anthropic"
            )
        assert session.thread.events == ()


@pytest.mark.finding("W2")
@pytest.mark.parametrize("model", [UNKNOWN, CLAUDE, "gpt-4.1"])
@pytest.mark.parametrize("content", ["Be brief.", [{"type": "input_text", "text": "Be brief."}]])
def test_what_a_developer_says_reaches_responses_as_it_was_said(model: str, content: object) -> None:
    said = {"role": "developer", "content": content}
    with cf.Session.open(model=model, dialect="openai-responses") as session:
        session.append(said)
        session.append({"role": "user", "content": "hi"})
        assert session.prepare().body["input"][0] == said


@pytest.mark.finding("W2")
@pytest.mark.parametrize("model", [UNKNOWN, CLAUDE])
def test_a_developer_stays_one_between_the_formats_that_know_one(model: str) -> None:
    developer = {"role": "developer", "content": "Be brief."}
    parts = {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]}
    assert sent(developer, model, "openai-responses")["input"][0]["role"] == "developer"
    assert sent(parts, model, "openai-responses")["input"][0] == parts
    assert sent(parts, model, "openai-chat")["messages"][0]["role"] == "developer"
    assert "Be brief." in json.dumps(sent(parts, model, "anthropic"))


@pytest.mark.finding("W2")
def test_a_thread_reads_in_the_dialect_that_is_named() -> None:
    with cf.open() as store:
        thread = store.thread("a", model=CLAUDE)
        seq = thread.append({"role": "user", "content": "hi"}, dialect="openai-responses")
        other = thread.append({"role": "user", "content": "hi"})
        assert [thread.message(each).dialect for each in (seq, other)] == ["openai-responses", "anthropic"]


@pytest.mark.finding("W2")
async def test_the_awaited_twins_take_the_same_names() -> None:
    async with await aio.Session.open(model=CLAUDE, dialect="openai-responses") as session:
        seq = await session.append({"role": "user", "content": "hi"})
        other = await session.append({"role": "user", "content": "hi"}, dialect="openai-chat")
        third = await session.thread.append({"role": "user", "parts": [{"text": "hi"}]}, dialect="gemini")
        found = [(await session.thread.message(each)).dialect for each in (seq, other, third)]
        assert found == ["openai-responses", "openai-chat", "gemini"]


class Told(str):
    """A kind of string, as some frameworks have them."""

    __slots__ = ()


class Role(enum.StrEnum):
    USER = "user"


@pytest.mark.finding("W2")
def test_kinds_of_strings_are_strings() -> None:
    with cf.Session.open(model=CLAUDE) as session:
        seq = session.append({"role": Role.USER, "content": [{"type": Told("text"), "text": Told("hi")}]})
        assert session.thread.message(seq).raw == b'{"role":"user","content":[{"type":"text","text":"hi"}]}'


@pytest.mark.finding("N7")
def test_the_usual_idiom_of_anthropic_s_sdk_is_taken() -> None:
    types = pytest.importorskip("anthropic").types
    reply = types.Message.model_validate(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "c",
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "a", "name": "run", "input": {"x": 1}},
            ],
        }
    )
    answer = {"role": "assistant", "content": reply.content}
    block = types.TextBlock(type="text", text="done")
    results = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [block]}]}
    messages: list[Any] = [{"role": "user", "content": "hi"}, answer, results]
    with cf.Session.open(model=CLAUDE) as session:
        for message in messages:
            session.append(message)
        body = session.prepare(max_tokens=500).body["messages"]
    assert body[1]["content"] == [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "a", "name": "run", "input": {"x": 1}},
    ]
    assert body[2]["content"][0]["content"] == [{"type": "text", "text": "done"}]
    assert cf.fit(messages, model=CLAUDE, max_tokens=500).body["messages"] == body
    assert cf.count(messages, model=CLAUDE).tokens == cf.count(body, model=CLAUDE).tokens


@pytest.mark.finding("N7")
def test_objects_inside_the_dicts_of_openai_and_google_are_taken() -> None:
    chat = pytest.importorskip("openai.types.chat.chat_completion_message_function_tool_call")
    function = chat.Function(name="run", arguments="{}")
    call = chat.ChatCompletionMessageFunctionToolCall(id="a", type="function", function=function)
    said = sent({"role": "assistant", "content": None, "tool_calls": [call]}, "gpt-4.1")["messages"]
    assert said[0]["tool_calls"] == [{"id": "a", "type": "function", "function": {"name": "run", "arguments": "{}"}}]
    google = pytest.importorskip("google.genai.types")
    part = google.Part(text="hi")
    assert sent({"role": "user", "parts": [part]}, "gemini-2.5-pro")["contents"][0]["parts"][0] == {"text": "hi"}


def test_items_of_one_answer_come_together_whether_they_are_bytes_or_not() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    call = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
    given = {"type": "function_call_output", "call_id": "c1", "output": "text"}
    as_bytes = [encode(each) for each in (thought, call, given)]
    assert list(together([thought, call, given])) == [[thought, call], given]
    assert list(together(as_bytes)) == [[thought, call], as_bytes[2]]


def test_whole_answers_and_what_is_no_message_stay_by_themselves() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
    answer = {"object": "response", "status": "completed", "output": [call]}
    said = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end"}
    for alone in ([answer, answer], [said, said], [b"[]", b"5"], [5, 6]):
        assert list(together(alone)) == alone


def test_googles_objects_say_their_role_also_where_it_is_a_default() -> None:
    types = pytest.importorskip("google.genai.types")
    assert plain(types.ModelContent(parts=[types.Part(text="hi")])) == {"role": "model", "parts": [{"text": "hi"}]}
