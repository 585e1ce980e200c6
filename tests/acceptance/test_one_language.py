"""Whatever contextfold says to the model in one thread is in that thread's language."""

from __future__ import annotations

import pytest

import contextfold as cf
from contextfold.domain import Attached

CALL = {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a.py"}}


def added(first: str, *messages: dict[str, object]) -> list[str]:
    """What a session adds at the end, after these messages."""
    with cf.Session.open(":memory:", thread="one", model="claude-opus-4-6") as session:
        session.append({"role": "user", "content": first})
        for message in messages:
            session.append(message)
        session.prepare(max_tokens=200)
        events = [entry for entry in session.thread.events if isinstance(entry.event, Attached)]
        return [message.text for message in session.view.messages if message.seq in {entry.seq for entry in events}]


@pytest.mark.finding("H10")
@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("パーサーの名前を変えてください。", "[上のツール呼び出しは中断されました。結果なしで続けてください。]"),
        ("Rename the parser, please.", "[The tool calls above were interrupted. Go on without their results.]"),
    ],
)
def test_interrupted_calls_are_told_in_the_language_of_the_thread(said: str, text: str) -> None:
    assert added(said, {"role": "assistant", "content": [CALL]}) == [text]


@pytest.mark.finding("H10")
@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("パーサーの名前を変えてください。", "[ここから続けてください。]"),
        ("Rename the parser, please.", "[Go on from here.]"),
    ],
)
def test_going_on_is_asked_for_in_the_language_of_the_thread(said: str, text: str) -> None:
    assert added(said, {"role": "assistant", "content": "OK."}) == [text]


@pytest.mark.finding("H10")
@pytest.mark.parametrize("model", ["claude-opus-4-6", "gemini-2.5-pro"])
@pytest.mark.parametrize(
    ("greeting", "text"),
    [
        ("こんにちは。何をしましょうか。", "[会話はここから続きます。]"),
        ("Hello. What shall I do?", "[The conversation continues from here.]"),
    ],
)
def test_a_view_that_begins_with_the_model_is_opened_in_its_language_and_stays_so(
    model: str, greeting: str, text: str
) -> None:
    with cf.Session.open(model=model) as session:
        session.append({"role": "assistant", "content": greeting})
        for said in ("Rename the parser, please.", "パーサーの名前を変えてください。"):
            session.append({"role": "user", "content": said})
            request = session.prepare(max_tokens=200)
            assert text in request.parts[0].wire.decode()
            session.append({"role": "assistant", "content": "OK."})
