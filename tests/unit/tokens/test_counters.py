import pytest

from benchmarks.samples import SAMPLES
from contextfold.domain import Message, Reasoning, Shape, Text, ToolCall, ToolResult
from contextfold.models import Model, find
from contextfold.tokens import count, counter_for
from contextfold.tokens.counters import families, weights

JAPANESE = SAMPLES["Japanese"]
ENGLISH = SAMPLES["English prose"]


def said(text: str) -> Message:
    return Message("user", (Text(text),))


def exactly(text: str, model: str = "gpt-5.5") -> int:
    (found,) = counter_for(model).shape(said(text)).blocks[0].measure.bpe.values()
    return found


@pytest.mark.parametrize(
    ("model", "method", "exact"),
    [
        ("gpt-6-sol", "o200k", True),
        ("gpt-4", "cl100k", True),
        ("kimi-k3", "kimi", True),
        ("gemini-3.8-flash", "stand-in:gemma", False),
        ("claude-opus-4-6", "estimate:claude", False),
        ("claude-sonnet-5-5", "estimate:claude-4.7", False),
        ("nobody-knows", "estimate:generic", False),
        (None, "estimate:generic", False),
    ],
)
def test_a_counter_says_how_it_counts(model: str | None, method: str, exact: bool) -> None:
    counter = counter_for(model)
    assert (counter.method, counter.exact) == (method, exact)


def test_an_exact_counter_needs_the_number_of_its_own_vocabulary() -> None:
    message = said(ENGLISH)
    gpt, claude, kimi = (counter_for(name) for name in ("gpt-5.5", "claude-opus-4-6", "kimi-k3"))
    assert gpt.knows(gpt.shape(message))
    assert not gpt.knows(claude.shape(message))
    assert not kimi.knows(gpt.shape(message))
    assert claude.knows(gpt.shape(message))


def test_without_its_number_an_exact_counter_estimates() -> None:
    gpt = counter_for("gpt-5.5")
    measure = counter_for("claude-opus-4-6").shape(said(ENGLISH)).blocks[0].measure
    assert gpt.block_tokens(measure) == pytest.approx(exactly(ENGLISH), rel=0.15)


def test_sealed_reasoning_is_estimated_beside_exact_text() -> None:
    counter = counter_for("gpt-5.5")
    shape = counter.shape(Message("assistant", (Reasoning(sealed="x" * 5000),)))
    assert counter.knows(shape)
    assert counter.tokens(shape) > 500


@pytest.mark.seed("R21")
def test_overheads_are_explicit() -> None:
    counter = counter_for("claude-opus-4-6")
    call, result = ToolCall("1", "grep", '{"pattern": "x"}'), ToolResult("1", (Text("found"),))
    shapes = counter.shape(Message("assistant", (call,))), counter.shape(Message("user", (result,)))
    bare = sum(counter.block_tokens(shape.blocks[0].measure) for shape in shapes)
    overhead = weights("claude").overhead
    assert sum(counter.tokens(shape) for shape in shapes) == bare + overhead.call + overhead.result
    assert overhead.call + overhead.result == 76


@pytest.mark.seed("R21")
def test_no_factor_is_added_to_an_exact_count() -> None:
    assert counter_for("gpt-5.5").tokens(counter_for("gpt-5.5").shape(said(JAPANESE))) == exactly(JAPANESE) + 4


@pytest.mark.seed("R12")
def test_before_and_after_are_counted_alike() -> None:
    """A message counts the same alone, in a request, and from its stored outline."""
    for name in ("claude-opus-4-6", "gpt-5.5"):
        counter = counter_for(name)
        stored = counter.shape(said(ENGLISH))
        request = weights(find(name, environ={}).tokenizer).overhead.request
        assert count([said(ENGLISH)], name).tokens == counter.tokens(stored) + request


@pytest.mark.seed("C11")
def test_the_same_text_weighs_the_same_wherever_it_stands() -> None:
    counter = counter_for("claude-opus-4-6")
    places = [Message("user", (Text(JAPANESE),)), Message("user", (ToolResult("1", (Text(JAPANESE),)),))]
    tokens = {counter.block_tokens(counter.shape(message).blocks[0].measure) for message in places}
    assert len(tokens) == 1


@pytest.mark.seed("X1")
@pytest.mark.seed("D15")
@pytest.mark.seed("F6")
@pytest.mark.peer("C6")
@pytest.mark.parametrize("kind", [kind for kind in SAMPLES if kind != "emoji"])
@pytest.mark.parametrize(
    ("encoding", "model"), [("o200k", "gpt-5.5"), ("qwen", "qwen3"), ("deepseek", "deepseek-v3"), ("gemma", "gemma-3")]
)
def test_estimates_by_class_hold_in_every_script(kind: str, encoding: str, model: str) -> None:
    """Characters times a constant are off by two to six times for one script or another."""
    classes = counter_for(model).shape(said(SAMPLES[kind])).blocks[0].measure.classes
    assert weights(encoding).tokens(classes) == pytest.approx(exactly(SAMPLES[kind], model), rel=0.15)


@pytest.mark.seed("F6")
@pytest.mark.parametrize("kind", SAMPLES)
def test_the_estimate_for_unknown_models_is_never_far_below_a_known_one(kind: str) -> None:
    generic = counter_for("nobody-knows")
    estimated = generic.block_tokens(generic.shape(said(SAMPLES[kind])).blocks[0].measure)
    for model in ("gpt-5.5", "gpt-4", "llama-3.3", "qwen3", "deepseek-v3", "gemma-3", "mistral-nemo", "kimi-k3"):
        assert estimated > 0.88 * exactly(SAMPLES[kind], model)


def test_the_newer_claude_tokenizer_counts_a_third_more() -> None:
    older, newer = (count([said(ENGLISH * 5)], name).tokens for name in ("claude-sonnet-4-6", "claude-sonnet-5"))
    assert newer / older == pytest.approx(1.32, abs=0.01)


def test_models_that_count_alike_share_a_counter() -> None:
    assert counter_for("gpt-6-sol") is counter_for("gpt-6-luna")
    assert counter_for("gpt-6-sol") is counter_for(find("gpt-6-sol", environ={}))


def test_a_model_made_by_hand_is_counted_by_its_tokenizer() -> None:
    assert counter_for(Model("mine", tokenizer="llama3")).method == "llama3"


@pytest.mark.parametrize("family", families())
def test_no_class_is_free_in_any_family(family: str) -> None:
    assert all(weight > 0 for weight in weights(family).classes)


def test_an_empty_message_counts_one() -> None:
    assert counter_for("claude-opus-4-6").tokens(Shape("user")) == 1
