"""Nasty histories: the same for one seed, shrinking under Hypothesis, and with everything that is promised in them."""

import itertools
import json
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import find, given

from contextfold.domain import Block, Message, Opaque, Reasoning, Text, ToolCall, ToolResult, nested
from contextfold.testing import nasty
from contextfold.testing.wire import DialectName, WireMessage


def many() -> Iterator[list[Message]]:
    return (nasty.conversation(Random(seed), length=40) for seed in range(60))


def blocks() -> list[Block]:
    return [inner for talk in many() for message in talk for block in message.blocks for inner in nested(block)]


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
def test_the_same_seed_gives_the_same_history(dialect: DialectName) -> None:
    assert nasty.history(5, dialect=dialect) == nasty.history(5, dialect=dialect)
    assert nasty.history(5, dialect=dialect) != nasty.history(6, dialect=dialect)


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="user_speaks"):
        nasty.history(kinds=["polite"])


def test_every_kind_of_block_occurs() -> None:
    assert {type(block).__name__ for block in blocks()} == {
        "Document",
        "Image",
        "Opaque",
        "Reasoning",
        "Text",
        "ToolCall",
        "ToolResult",
    }


def test_texts_hold_nul_lone_surrogates_blanks_and_far_too_much() -> None:
    texts = [block.text for block in blocks() if isinstance(block, Text)]
    assert any("\x00" in text for text in texts)
    assert any("\ud800" <= letter <= "\udfff" for text in texts for letter in text)
    assert any(not text.strip() for text in texts)
    assert max(map(len, texts)) > 20_000


def test_reasoning_is_signed_redacted_or_neither() -> None:
    thoughts = [block for block in blocks() if isinstance(block, Reasoning)]
    assert {(bool(thought.signature), bool(thought.sealed)) for thought in thoughts} == {
        (True, False),
        (False, True),
        (False, False),
    }


def test_results_are_missing_doubled_late_and_without_call() -> None:
    missing = doubled = orphaned = batches = 0
    for talk in many():
        calls = [block.id for message in talk for block in message.blocks if isinstance(block, ToolCall)]
        results = [block.call for message in talk for block in message.blocks if isinstance(block, ToolResult)]
        missing += bool(set(calls) - set(results))
        orphaned += bool(set(results) - set(calls))
        doubled += len(results) > len(set(results))
        batches += any(len(message.calls) > 1 for message in talk)
    assert min(missing, doubled, orphaned, batches) > 10


def test_neighbours_have_one_role_and_some_talks_begin_with_the_assistant() -> None:
    talks = list(many())
    assert any(talk[0].role == "assistant" for talk in talks)
    assert any(talk[0].role == "system" for talk in talks)
    assert any(a.role == b.role for talk in talks for a, b in itertools.pairwise(talk))


def test_content_is_a_string_a_list_empty_or_null_on_the_wire() -> None:
    for dialect in ("anthropic", "openai-chat"):
        contents = [message["content"] for seed in range(60) for message in nasty.history(seed, dialect=dialect)]
        assert {type(content) for content in contents} == {str, list, type(None)}
        assert "" in contents


def test_kinds_can_be_left_out() -> None:
    talk = nasty.conversation(Random(1), length=50, kinds=["user_speaks", "unheard_of"])
    kinds = {type(block) for message in talk for block in message.blocks}
    assert kinds == {Text, Opaque}


@given(nasty.histories(max_length=15))
def test_hypothesis_draws_histories_that_are_json(history: list[WireMessage]) -> None:
    assert json.loads(json.dumps(history)) == history


def test_a_failing_history_shrinks_to_what_fails() -> None:
    def holds_a_call(talk: list[Message]) -> bool:
        return any(message.calls for message in talk)

    assert len(find(nasty.conversations(), holds_a_call)) <= 3
