"""What servers that copy Chat Completions demand beyond it, and how messages come to suit them."""

from typing import Any

import msgspec
import pytest

import contextfold as cf
from contextfold import dialects
from contextfold.dialects import openai_chat
from contextfold.errors import BadConfiguration
from contextfold.models import find
from contextfold.models.model import Model

USER: dict[str, Any] = {"role": "user", "content": "hi"}
FUNCTION = {"name": "read", "arguments": '{"path": "a"}'}
CALL = {"id": "c1", "type": "function", "function": FUNCTION}
CALLING: dict[str, Any] = {"role": "assistant", "content": "See.", "tool_calls": [CALL]}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "print(1)"}


@pytest.mark.parametrize(
    ("model", "dialect"),
    [
        ("deepseek-v4-pro", "openai-chat:deepseek"),
        ("kimi-k3", "openai-chat:kimi"),
        ("glm-5.3", "openai-chat:zai"),
        ("deepseek-r1", "openai-chat:deepseek"),
        ("deepseek-v3", "openai-chat"),  # it writes no reasoning that could be wanted back
        ("gpt-4.1", "openai-chat"),
        ("claude-sonnet-5-5", "anthropic"),
    ],
)
def test_the_models_profile_chooses_the_flavour(model: str, dialect: str) -> None:
    assert dialects.spoken(find(model)) == dialect


def test_a_flavour_can_be_named_in_the_settings_of_a_model() -> None:
    assert dialects.spoken(Model("mine", dialect="openai-chat:strict")) == "openai-chat:strict"
    assert dialects.spoken(Model("mine", provider="bedrock", dialect="openai-chat")) == "openai-chat:bedrock"
    with pytest.raises(BadConfiguration, match="Use one of: plain, deepseek"):
        dialects.find("openai-chat:unheard-of")


def body_of(dialect: str, *messages: object, model: str = "gpt-4.1") -> list[dict[str, Any]]:
    request = cf.fit(messages, model=model, dialect=dialect)
    found: list[dict[str, Any]] = request.body["messages"]
    return found


def test_reasoning_goes_back_as_it_came() -> None:
    thought = {**CALLING, "reasoning_content": "First read it."}
    request = cf.fit([USER, thought, ANSWER, USER], model="deepseek-v4-pro")
    assert request.dialect == "openai-chat:deepseek"
    assert request.body["messages"] == [USER, thought, ANSWER, USER]


def test_a_turn_that_lost_its_reasoning_says_so_in_words_of_its_own() -> None:
    second = {**CALLING, "tool_calls": [{**CALL, "id": "c2"}]}
    messages = body_of("openai-chat:deepseek", USER, CALLING, ANSWER, second, {**ANSWER, "tool_call_id": "c2"}, USER)
    words = [each["reasoning_content"] for each in messages if each["role"] == "assistant"]
    assert words == [f"[Reasoning not kept. It led to read {call}.]" for call in ("c1", "c2")]


def test_reasoning_under_its_other_name_is_used() -> None:
    messages = body_of("openai-chat:kimi", USER, {**CALLING, "reasoning": "Look first."}, ANSWER, USER)
    assert messages[1]["reasoning_content"] == "Look first."


def test_neighbours_of_one_speaker_are_joined() -> None:
    parts = {"role": "user", "content": [{"type": "text", "text": "more"}]}
    messages = body_of("openai-chat:bedrock", USER, parts, {"role": "assistant", "content": "a"}, CALLING, ANSWER, USER)
    assert messages[0] == {
        "role": "user",
        "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": "more"}],
    }
    assert messages[1] == {**CALLING, "content": "a\n\nSee."}
    assert messages[2:] == [ANSWER, USER]


def test_the_user_opens_and_system_messages_stay_in_front() -> None:
    late = {"role": "system", "content": "Be brief."}
    messages = body_of("openai-chat:strict", {"role": "assistant", "content": "Hello."}, USER, late, USER)
    assert [each["role"] for each in messages] == ["user", "assistant", "user"]
    assert messages[2]["content"] == "hi\n\n[System message]\nBe brief.\n\nhi"


def test_messages_that_name_their_speaker_last_are_joined_too() -> None:
    first, second = b'{"content": "one", "role": "user"}', b'{"content": "two", "role": "user"}'
    assert body_of("openai-chat:strict", first, second) == [{"content": "one\n\ntwo", "role": "user"}]


def test_results_of_another_dialect_keep_their_turn() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
    messages = body_of(
        "openai-chat:bedrock",
        USER,
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result, {"type": "text", "text": "and now"}]},
        USER,
    )
    assert [each["role"] for each in messages] == ["user", "assistant", "tool", "user"]
    assert messages[-1]["content"] == "and now\n\nhi"


def test_without_a_tool_role_calls_and_results_are_told_in_words() -> None:
    legacy = {"role": "assistant", "content": None, "function_call": FUNCTION}
    seen = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "print(1)"}]}
    messages = body_of("openai-chat:no-tools", USER, CALLING, seen, legacy, {"role": "function", "name": "read"}, USER)
    assert messages[1] == {"role": "assistant", "content": 'See.\n[Tool call c1: read {"path": "a"}]'}
    assert messages[2]["content"][0] == {"type": "text", "text": "[Result of tool call c1]"}
    assert [each["role"] for each in messages] == ["user", "assistant", "user", "assistant", "user"]


REJECTED: list[tuple[str, str, list[dict[str, Any]]]] = [
    ("deepseek", "missing-reasoning", [USER, CALLING, ANSWER]),
    ("bedrock", "alternation", [USER, USER]),
    ("bedrock", "alternation", [{"role": "assistant", "content": "a"}, USER]),
    ("bedrock", "alternation", [USER, {"role": "system", "content": "s"}]),
    ("no-tools", "no-tool-role", [USER, CALLING, ANSWER]),
]


@pytest.mark.parametrize(("flavour", "rule", "messages"), REJECTED)
def test_each_demand_is_a_rule_of_its_flavour_alone(flavour: str, rule: str, messages: list[dict[str, Any]]) -> None:
    body = {"messages": messages}
    assert {each.rule for each in cf.validate(body, dialect=f"openai-chat:{flavour}")} == {rule}
    assert cf.validate(body, dialect="openai-chat") == []
    repaired = cf.repair(body, dialect=f"openai-chat:{flavour}")
    assert {each.rule for each in repaired.repairs} == {rule}
    assert repaired.is_sound


def test_every_flavour_says_what_it_is_about() -> None:
    assert {name for name, each in openai_chat.flavours().items() if not each.about} == set()


@pytest.mark.parametrize("silent", [None, ""])
def test_a_message_that_says_nothing_adds_nothing_to_its_neighbour(silent: str | None) -> None:
    calls = {"role": "assistant", "content": silent, "tool_calls": [CALL]}
    words = {"role": "assistant", "content": "See."}
    for pair in ((words, calls), (calls, words)):
        assert openai_chat.suit.merged(*pair)["content"] == "See."


def test_a_habit_that_nobody_knows_is_refused_where_flavours_are_written() -> None:
    with pytest.raises(msgspec.ValidationError, match="unheard_of"):
        msgspec.json.decode(b'{"unheard_of": true}', type=openai_chat.ChatFlavour)
