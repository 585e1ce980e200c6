import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextfold.domain import (
    Block,
    BlockShape,
    Document,
    Image,
    Message,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from contextfold.tokens import counter_for, scale
from tests.unit.tokens import pictures

WORDS = "a thousand words " * 300
KINDS: list[Block] = [
    Text(WORDS),
    Reasoning(WORDS),
    Reasoning(sealed="x" * 4000),
    Reasoning(signature="x" * 4000),
    Document("text/plain", text=WORDS),
    Document("application/pdf", data="JVBERi0x" * 600),
    ToolCall("1", "write", f'{{"text": "{WORDS}"}}'),
    ToolResult("1", (Text(WORDS),)),
    ToolResult("1", (Document(text=WORDS), Opaque("search", f'"{WORDS}"'))),
    Opaque("server_tool_use", f'{{"text": "{WORDS}"}}'),
    Image("image/png", pictures.png(900, 900)),
    Image(url="https://example.org/a.png"),
]


def block_of(block: Block, model: str = "claude-opus-4-6") -> BlockShape:
    return counter_for(model).shape(Message("user", (block,))).blocks[0]


@pytest.mark.seed("R18")
@pytest.mark.parametrize("model", ["claude-opus-4-6", "gpt-5.5", "gemini-3.8-flash", "nobody-knows"])
@pytest.mark.parametrize("block", KINDS, ids=lambda block: type(block).__name__)
def test_every_kind_of_block_counts(block: Block, model: str) -> None:
    assert counter_for(model).block_tokens(block_of(block, model).measure) > 400


@pytest.mark.seed("R18")
@pytest.mark.parametrize(
    "block",
    [Text(""), Reasoning(), ToolCall("", ""), ToolResult(""), Opaque(""), Image(), Document(), Document(title="x")],
    ids=lambda block: type(block).__name__,
)
def test_an_empty_block_still_counts(block: Block) -> None:
    assert counter_for("claude-opus-4-6").block_tokens(block_of(block).measure) >= 1


@pytest.mark.seed("R18")
def test_reasoning_counts_like_the_same_words_as_text() -> None:
    assert block_of(Reasoning(WORDS)).measure == block_of(Text(WORDS)).measure


def test_a_call_and_its_result_carry_what_pairs_them() -> None:
    call, result = block_of(ToolCall("call-7", "grep", "{}")), block_of(ToolResult("call-7", (Text("x"),), True))
    assert (call.kind, call.call, call.name) == ("call", "call-7", "grep")
    assert (result.kind, result.call, result.is_error) == ("result", "call-7", True)


@pytest.mark.parametrize("text", ["", " ", "\n\t \u3000"])
def test_text_that_says_nothing_has_no_size(text: str) -> None:
    assert block_of(Text(text)).is_blank


def test_the_size_is_in_bytes() -> None:
    assert block_of(Text("折る")).size == 6
    assert block_of(ToolResult("1", (Text("折る"), Text("ab")))).size == 8


def test_a_message_is_as_large_as_it_was_given() -> None:
    counter = counter_for("claude-opus-4-6")
    assert counter.shape(Message("user", (Text("hi"),), b'{"role":"user","content":"hi"}')).size == 30
    assert counter.shape(Message("user", (Text("hi"), Text("折る")))).size == 8


def test_outlines_for_an_exact_model_hold_classes_too() -> None:
    exact, estimated = block_of(Text(WORDS), "gpt-5.5").measure, block_of(Text(WORDS)).measure
    assert exact.classes == estimated.classes
    assert set(exact.bpe) == {"o200k"}
    assert estimated.bpe == {}


@pytest.mark.finding("K13")
@given(text=st.text(st.sampled_from("ab AB1\n.,\t\u00e9\u65e5\U0001f600\u3042"), max_size=400))
def test_a_long_text_weighs_span_by_span_what_it_weighs_as_a_whole(text: str) -> None:
    long = text * (1 + 100_000 // max(1, len(text)))
    assert scale.weigh_long(long) == (len(long.encode()), scale.weigh(long.encode()))
