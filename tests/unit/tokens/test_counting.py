from typing import Any

import pytest

from contextfold.domain import Count, Image, Message, Reasoning, Text, encode
from contextfold.tokens import FixedCost, count, counter_for, fixed_cost
from contextfold.tokens.counters import _Kept
from tests.unit.tokens import pictures

SYSTEM = "You are a careful engineer. " * 20
TOOLS: list[dict[str, Any]] = [
    {"name": "grep", "description": "Search files.", "input_schema": {"type": "object", "properties": {"q": {}}}},
    {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}},
]


def hello(text: str = "Hello, world!") -> list[Message]:
    return [Message("user", (Text(text),))]


def test_an_exact_count_names_its_vocabulary_and_parts() -> None:
    found = count(hello(), "gpt-6-sol", system=SYSTEM, tools=TOOLS)
    assert (found.exact, found.method) == (True, "o200k")
    assert found.tokens == sum(found.parts.values())
    assert found.parts["messages"] == 4 + 4 + 3  # four tokens of text, four around a message, three once
    assert found.parts["system"] > 100
    assert found.parts["tools"] > 30


def test_nothing_said_costs_only_what_surrounds_it() -> None:
    assert count([], "claude-opus-4-6") == Count(0, False, "estimate:claude", {"system": 0, "tools": 0, "messages": 0})


@pytest.mark.parametrize("extra", [Image(data=pictures.png(9, 9)), Reasoning(sealed="x" * 900)])
def test_what_no_vocabulary_has_seen_makes_a_count_an_estimate(extra: Image | Reasoning) -> None:
    assert not count([Message("user", (Text("hi"), extra))], "gpt-6-sol").exact


@pytest.mark.seed("R20")
def test_bytes_and_pictures_are_counted_as_well() -> None:
    raw = encode({"role": "user", "content": "hi"})
    message = Message("user", (Text("hi"), Image(data=pictures.png(9, 9))), raw)
    found = count([message, message], "claude-opus-4-6", system="xyz")
    assert (found.images, found.bytes) == (2, 2 * len(raw) + len(b'"xyz"'))


@pytest.mark.seed("R36")
def test_a_history_and_a_number_of_tokens_are_different_types() -> None:
    assert type(count(hello(), "gpt-6-sol")) is Count
    assert type(fixed_cost(SYSTEM, TOOLS, counter_for("gpt-6-sol"))) is FixedCost


def test_a_system_prompt_in_blocks_costs_what_its_text_costs() -> None:
    counter = counter_for("gpt-6-sol")
    as_text = fixed_cost(SYSTEM, None, counter)
    assert fixed_cost([{"type": "text", "text": SYSTEM, "cache_control": {}}], None, counter).system == as_text.system
    assert fixed_cost([{"type": "other", "data": SYSTEM}], None, counter).system > as_text.system


def test_each_tool_adds_its_definition() -> None:
    counter = counter_for("claude-opus-4-6")
    one, two = fixed_cost("", TOOLS[:1], counter), fixed_cost("", TOOLS, counter)
    assert 346 < one.tools < two.tools
    assert two.size == len(encode(TOOLS))
    assert two.tokens == two.system + two.tools + two.request


@pytest.mark.seed("R35")
def test_system_and_tools_are_counted_once_for_each_content() -> None:
    counter = counter_for("claude-opus-4-6")
    first = fixed_cost(SYSTEM, TOOLS, counter)
    assert fixed_cost(SYSTEM, [dict(tool) for tool in TOOLS], counter) is first
    assert fixed_cost(SYSTEM, TOOLS[:1], counter) != first
    assert fixed_cost(SYSTEM, TOOLS, counter_for("gpt-6-sol")) != first


@pytest.mark.seed("R35")
def test_what_is_remembered_is_bounded() -> None:
    kept = _Kept(3)
    counter = counter_for("claude-opus-4-6")
    for number in range(9):
        kept.keep((counter, bytes([number])), FixedCost(number))
    found = [kept.get((counter, bytes([number]))) for number in range(9)]
    assert found == [None] * 6 + [FixedCost(6), FixedCost(7), FixedCost(8)]
