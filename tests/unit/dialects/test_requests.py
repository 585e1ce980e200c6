"""Whole requests: settings, system, tools, and messages by joining."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import Raw

from contextfold.dialects import OPENINGS
from contextfold.dialects.anthropic import AnthropicDialect
from contextfold.dialects.openai_chat import OpenAIChatDialect
from contextfold.domain import Message, Text, decode, encode
from contextfold.errors import BadConfiguration

from .outline import bytes_of, item

ANTHROPIC, CHAT = AnthropicDialect(), OpenAIChatDialect()
USER, REPLY = b'{"role":"user","content":"hi"}', b'{"content":"hello","role":"assistant"}'
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
CLAUDE_TOOL = {"name": "f", "description": "does", "input_schema": SCHEMA}
CHAT_TOOL = {"type": "function", "function": {"name": "f", "description": "does", "parameters": SCHEMA}}


def system_first(message: Message, settings: Mapping[str, Any]) -> dict[str, Any]:
    first = item(message)
    body: dict[str, Any] = decode(ANTHROPIC.body([ANTHROPIC.chunk(first, message), USER], settings, first))
    return body


@pytest.mark.parametrize("dialect", [ANTHROPIC, CHAT], ids=lambda dialect: dialect.name)
def test_messages_are_joined_byte_for_byte(dialect: AnthropicDialect | OpenAIChatDialect) -> None:
    body = dialect.body([USER, REPLY, b"", USER], {"model": "m", "max_tokens": 5}, None)
    assert body == b'{"model":"m","max_tokens":5,"messages":[' + b",".join((USER, REPLY, USER)) + b"]}"


@pytest.mark.parametrize("dialect", [ANTHROPIC, CHAT], ids=lambda dialect: dialect.name)
def test_no_settings_and_no_messages_are_still_json(dialect: AnthropicDialect | OpenAIChatDialect) -> None:
    assert dialect.body([], {}, None) == b'{"messages":[]}'


def test_settings_that_are_already_json_are_not_touched() -> None:
    body = ANTHROPIC.body([USER], {"tools": Raw(b'[{"name": "f"}]'), "system": "a"}, None)
    assert body == b'{"tools":[{"name": "f"}],"system":"a","messages":[' + USER + b"]}"


def test_messages_among_the_settings_are_refused() -> None:
    with pytest.raises(BadConfiguration, match="messages"):
        CHAT.body([USER], {"messages": []}, None)


@pytest.mark.peer("B9")
def test_the_user_opens_where_the_assistant_would_speak_first() -> None:
    body = ANTHROPIC.body([REPLY, USER], {}, None)
    opener = encode({"role": "user", "content": OPENINGS["en"]})
    assert body == b'{"messages":[' + b",".join((opener, REPLY, USER)) + b"]}"
    assert ANTHROPIC.check(decode(body)) == []


def test_what_opens_speaks_the_language_of_the_message_behind_it() -> None:
    japanese = encode({"role": "assistant", "content": "わかりました。始めます。"})
    first = decode(ANTHROPIC.body([japanese, USER], {}, None))["messages"][0]
    assert first == {"role": "user", "content": OPENINGS["ja"]}


def test_a_system_message_at_the_head_is_lifted_to_the_top() -> None:
    words = Message("system", (Text("be brief"),), dialect="openai-chat")
    body = system_first(words, {})
    assert body == {"system": [{"type": "text", "text": "be brief"}], "messages": [decode(USER)]}


@pytest.mark.parametrize("system", ["rules", [{"type": "text", "text": "rules"}], Raw(b'"rules"')])
def test_a_lifted_system_message_follows_the_system_prompt(system: object) -> None:
    words = ANTHROPIC.parse(bytes_of(role="system", content="be brief"))
    body = system_first(words, {"system": system})
    assert [block["text"] for block in body["system"]] == ["rules", "be brief"]
    assert ANTHROPIC.check(body) == []


def test_several_system_messages_of_its_own_are_lifted_together() -> None:
    chunks = [bytes_of(role="system", content=[{"type": "text", "text": words}]) for words in ("a", "b")]
    body = decode(ANTHROPIC.body([*chunks, REPLY, USER], {}, None))
    assert [block["text"] for block in body["system"]] == ["a", "b"]
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]


def test_a_blank_system_message_at_the_head_lifts_nothing() -> None:
    words = ANTHROPIC.parse(bytes_of(role="system", content=""))
    assert system_first(words, {}) == {"messages": [decode(USER)]}


@pytest.mark.parametrize("system", ["be brief", [{"type": "text", "text": "be brief"}], Raw(b'"be brief"')])
def test_the_system_prompt_is_the_first_chat_message(system: object) -> None:
    body = decode(CHAT.body([USER], {"model": "m", "system": system}, None))
    assert body == {"model": "m", "messages": [{"role": "system", "content": "be brief"}, decode(USER)]}


@pytest.mark.parametrize("system", [None, "", " ", []])
def test_an_empty_system_prompt_is_no_message(system: object) -> None:
    assert CHAT.body([USER], {"system": system}, None) == b'{"messages":[' + USER + b"]}"


def test_tools_are_written_in_the_dialect() -> None:
    for given in (CLAUDE_TOOL, CHAT_TOOL):
        assert decode(ANTHROPIC.body([USER], {"tools": [given]}, None))["tools"] == [CLAUDE_TOOL]
        assert decode(CHAT.body([USER], {"tools": (given,)}, None))["tools"] == [CHAT_TOOL]


def test_tools_with_nothing_but_a_name_are_written_too() -> None:
    bare = {"type": "function", "function": {"name": "f"}}
    assert decode(ANTHROPIC.body([USER], {"tools": [bare]}, None))["tools"] == [
        {"name": "f", "input_schema": {"type": "object", "properties": {}}}
    ]
    assert decode(CHAT.body([USER], {"tools": [{"name": "f", "input_schema": SCHEMA}]}, None))["tools"] == [
        {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
    ]


def test_tools_that_nobody_knows_pass_as_they_are_and_those_of_another_provider_not_at_all() -> None:
    search, unknown = {"type": "web_search_20260209", "name": "web_search"}, {"type": "custom"}
    assert encode([search, unknown]) in ANTHROPIC.body([USER], {"tools": [search, unknown]}, None)
    assert decode(CHAT.body([USER], {"tools": [search, unknown]}, None))["tools"] == [unknown]
    assert "tools" not in decode(CHAT.body([USER], {"tools": [search]}, None))
