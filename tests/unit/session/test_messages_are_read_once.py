"""What happens to a message on its way: read once when it is appended, and written once for the request."""

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType

import pytest

import contextfold as cf
from contextfold import dialects
from contextfold.domain import encode

HOME = str(cf.__file__).removesuffix("__init__.py")


def entered(work: Callable[[], object]) -> Counter[str]:
    """How often each function of the dialects is entered, by its name."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(f"{HOME}dialects/"):
            calls[frame.f_code.co_qualname] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.finding("H7")
@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gpt-5.2", "gemini-2.5-pro"])
def test_words_are_read_by_one_dialect_and_no_other_is_asked(model: str) -> None:
    with cf.Session.open(model=model) as session:
        calls = entered(lambda: session.append({"role": "user", "content": "Good morning."}))
    assert sum(times for name, times in calls.items() if name in ("parse", "words")) == 1
    assert not [name for name in calls if name.endswith("reply")]
    assert calls["claims"] <= 1, "its own may look, nobody else"


@pytest.mark.parametrize("default", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_words_are_read_as_if_every_dialect_had_been_asked(default: str) -> None:
    for role in ("user", "assistant", "system"):
        value = {"role": role, "content": "Good morning."}
        read = dialects.understand(value, default).message
        assert read.dialect == dialects.find(dialects.reading(value, default)).name
        assert read.text == "Good morning."


@pytest.mark.parametrize("text", ["", "plain", "日本語", "half \ud83d", "a pair of halves \ud83d\ude00", '"\\u0041"'])
@pytest.mark.parametrize("default", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_words_at_hand_are_read_as_their_bytes_are(default: str, text: str) -> None:
    value = {"role": "user", "content": text}
    assert dialects.understand(value, default) == dialects.understand(encode(value), default)


@pytest.mark.finding("H7")
def test_preparing_again_writes_no_message_anew() -> None:
    with cf.Session.open(model="claude-sonnet-4-5") as session:
        for number in range(20):
            session.append({"role": "assistant" if number % 2 else "user", "content": f"{number}"})
        session.append({"role": "user", "content": "newest"})
        first = entered(lambda: session.prepare(max_tokens=100))
        again = entered(lambda: session.prepare(max_tokens=100))
    assert first["as_given"] == 21
    assert first["parse"] == first["AnthropicDialect.chunk"] == 0, "what goes as it came is not read again"
    assert again["as_given"] == again["parse"] == again["AnthropicDialect.chunk"] == 0


@pytest.mark.finding("H7")
def test_a_result_is_read_again_once_for_what_stands_inside_of_it() -> None:
    with cf.Session.open(model="claude-sonnet-4-5") as session:
        session.append({"role": "user", "content": "Read it."})
        session.append({"role": "assistant", "content": CALLS["claude-sonnet-4-5"]})
        session.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]})
        first = entered(lambda: session.prepare(max_tokens=100))
        again = entered(lambda: session.prepare(max_tokens=100))
    assert first["parse"] == first["AnthropicDialect.chunk"] == 1
    assert again["parse"] == again["AnthropicDialect.chunk"] == 0


CALLS = {
    "claude-sonnet-4-5": [{"type": "tool_use", "id": "a", "name": "read", "input": {}}],
    "gpt-5.2": [{"type": "text", "text": "Looking."}],
}


@pytest.mark.finding("H7")
@pytest.mark.parametrize("model", CALLS)
def test_blocks_are_offered_to_each_dialect_once_and_never_taken_for_a_whole_answer(model: str) -> None:
    with cf.Session.open(model=model) as session:
        session.append({"role": "user", "content": "Read it."})
        calls = entered(lambda: session.append({"role": "assistant", "content": CALLS[model]}))
    assert sum(times for name, times in calls.items() if name in ("parse", "words")) == 1
    assert not [name for name in calls if name.endswith("reply")]
    offered = [times for name, times in calls.items() if name.endswith("Dialect.claims")]
    assert offered == [1] * len(dialects.names())
