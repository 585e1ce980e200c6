"""Generated sessions: the same for everyone, as long as asked, and such that a provider would accept them."""

import itertools
import json
import subprocess
import sys
from hashlib import sha256

import pytest

import contextfold as cf
from contextfold.testing import session, tools
from contextfold.testing.histories import Languages
from contextfold.testing.wire import DialectName, WireMessage

DIALECTS: list[DialectName] = ["anthropic", "openai-chat"]


def digest(messages: list[WireMessage]) -> str:
    return sha256(json.dumps(messages).encode()).hexdigest()


def test_the_same_seed_gives_the_same_session_in_every_process() -> None:
    script = (
        "import json, sys; from hashlib import sha256; from contextfold.testing import session;"
        "sys.stdout.write(sha256(json.dumps(session(7, tokens=9000)).encode()).hexdigest())"
    )
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert other == digest(session(7, tokens=9000))
    assert other != digest(session(8, tokens=9000))


@pytest.mark.parametrize("language", ["en", "ja", "mixed"])
@pytest.mark.parametrize("tokens", [20_000, 120_000])
def test_a_session_is_about_as_long_as_asked(language: Languages, tokens: int) -> None:
    with cf.open() as store:
        for seed in range(3):
            thread = store.thread(f"session {seed}", model="gpt-5")
            for message in session(seed, tokens=tokens, language=language, dialect="openai-chat"):
                thread.append(message)
            count = thread.view.count
            assert count.exact
            assert 0.9 * tokens < count.tokens < 1.1 * tokens


@pytest.mark.parametrize("tokens", [500, 3000, 20_000])
def test_a_session_begins_with_the_user_and_ends_with_the_assistant(tokens: int) -> None:
    for seed in range(10):
        messages = session(seed, tokens=tokens)
        assert messages[0]["role"] == "user"
        assert messages[-1]["role"] == "assistant"
        assert not any(block["type"] == "tool_use" for block in messages[-1]["content"])


def test_every_call_is_answered_in_the_next_message_and_roles_take_turns() -> None:
    messages = session(3, tokens=40_000)
    parallel, errors = 0, 0
    for message, following in itertools.pairwise(messages):
        assert message["role"] != following["role"]
        if message["role"] == "assistant":
            calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
            answers = [block for block in following["content"] if calls and block["type"] == "tool_result"]
            assert calls == [answer["tool_use_id"] for answer in answers]
            parallel += len(calls) > 1
            errors += sum(answer.get("is_error", False) for answer in answers)
    assert parallel > 3
    assert errors > 1


def test_every_chat_call_is_answered_before_anything_else_is_said() -> None:
    waiting: list[str] = []
    for message in session(3, tokens=40_000, dialect="openai-chat"):
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting
            waiting = [call["id"] for call in message.get("tool_calls", ())]
    assert not waiting


def test_a_session_speaks_the_language_asked_for() -> None:
    said = {
        language: "".join(
            m["content"] for m in session(2, tokens=9000, language=language) if isinstance(m["content"], str)
        )
        for language in ("en", "ja")
    }
    assert said["en"].isascii()
    assert "ください" in said["ja"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_tool_that_a_session_uses_is_defined(dialect: DialectName) -> None:
    written = json.dumps(session(4, tokens=60_000, dialect=dialect))
    defined = {tool.get("name") or tool["function"]["name"] for tool in tools(dialect)}
    assert {name for name in defined if f'"name": "{name}"' in written} == defined
