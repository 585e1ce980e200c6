"""Counting holds for every string and every history: no part is free, more is never less, nothing raises."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfold.domain import Block, Document, Image, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from contextfold.tokens import Calibration, count, counter_for, learn

MODELS = ["claude-opus-4-6", "claude-sonnet-5-5", "gpt-6-sol", "qwen3", "nobody-knows"]

# Any string at all, lone surrogates and controls included, beside the common kinds.
anything = st.text(st.characters(), max_size=200) | st.text('aA9 \n\t!{"}:漢か한😀\0', max_size=400)
models = st.sampled_from(MODELS)

flat: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, anything),
    st.builds(Image, anything, anything, anything, st.sampled_from(["", "low", "high"])),
    st.builds(Document, anything, anything, anything, anything, anything),
    st.builds(ToolCall, anything, anything, anything),
    st.builds(Reasoning, anything, anything, anything),
    st.builds(Opaque, anything, anything),
)
blocks: st.SearchStrategy[Block] = flat | st.builds(
    ToolResult, anything, st.lists(flat, max_size=3).map(tuple), st.booleans()
)
messages = st.builds(Message, st.sampled_from(["user", "assistant", "system"]), st.lists(blocks, max_size=4).map(tuple))


@pytest.mark.seed("R18")
@given(blocks, models)
def test_every_block_counts_and_none_raises(block: Block, model: str) -> None:
    counter = counter_for(model)
    shape = counter.shape(Message("user", (block,)))
    assert counter.knows(shape)
    assert counter.block_tokens(shape.blocks[0].measure) >= 1
    assert shape.blocks[0].size >= 0


@given(messages, blocks, models)
def test_one_more_block_is_never_fewer_tokens(message: Message, block: Block, model: str) -> None:
    counter = counter_for(model)
    longer = Message(message.role, (*message.blocks, block))
    assert counter.tokens(counter.shape(longer)) > counter.tokens(counter.shape(message)) - (not message.blocks)


@given(st.lists(messages, max_size=4), messages, models)
def test_one_more_message_is_more_tokens_bytes_and_pictures(said: list[Message], more: Message, model: str) -> None:
    before, after = count(said, model), count([*said, more], model)
    assert after.tokens > before.tokens or not more.blocks
    assert after.tokens >= before.tokens
    assert after.bytes >= before.bytes
    assert after.images >= before.images
    assert after.tokens == sum(after.parts.values())


@given(anything, anything)
def test_more_text_is_never_a_smaller_estimate(text: str, more: str) -> None:
    counter = counter_for("claude-opus-4-6")
    one, two = (counter.shape(Message("user", (Text(each),))) for each in (text, text + " " + more))
    assert counter.tokens(two) >= counter.tokens(one)


@given(messages, models)
def test_the_same_message_always_has_the_same_outline(message: Message, model: str) -> None:
    assert counter_for(model).shape(message) == counter_for(model).shape(message)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**7)), max_size=20), st.integers(1, 10**6))
def test_no_history_of_bills_makes_a_count_negative_or_unbounded(bills: list[tuple[int, int]], raw: int) -> None:
    calibration = Calibration("m")
    for counted, billed in bills:
        calibration = learn(calibration, counted, billed)
    assert 1 <= calibration.apply(raw) <= 3 * raw + 10**7 + 3 * 10**6


@given(st.lists(st.tuples(st.integers(1, 10**5), st.integers(1, 10**6)), max_size=12), st.integers(1, 10**5))
def test_after_any_bills_more_is_never_less(bills: list[tuple[int, int]], raw: int) -> None:
    calibration = Calibration("m")
    for counted, billed in bills:
        calibration = learn(calibration, counted, billed)
    assert calibration.apply(raw + 1) >= calibration.apply(raw)


@settings(max_examples=10)
@given(st.lists(messages, min_size=8, max_size=8), models)
def test_many_threads_count_alike(said: list[Message], model: str) -> None:
    alone = [count([message], model) for message in said]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda message: count([message], model), said * 3)) == alone * 3
