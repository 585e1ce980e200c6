"""Recorded sessions: everything real agents said can be read, and is sent again as the bytes it came in."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.dialects import detect, find, openai_responses, reply
from contextfold.domain import Text, decode, encode

from .outline import item

ANTHROPIC, CHAT = find("anthropic"), find("openai-chat")
RESPONSES, GEMINI = find("openai-responses"), find("gemini")


def claude_code(data: Path) -> Iterator[dict[str, Any]]:
    for file in sorted((data / "claude-code").glob("*.jsonl.gz")):
        with gzip.open(file) as lines:
            for line in lines:
                message = decode(line).get("message")
                if isinstance(message, dict):
                    yield message


def tau_bench(data: Path) -> Iterator[dict[str, Any]]:
    for file in sorted((data / "tau-bench").glob("*.json.gz")):
        for run in decode(gzip.decompress(file.read_bytes())):
            yield from run["traj"]


def test_every_message_of_recorded_claude_code_sessions_keeps_its_bytes(shared_data: Path) -> None:
    read = blank = 0
    for value in claude_code(shared_data):
        raw = encode(value)
        message = ANTHROPIC.parse(raw)
        chunk = ANTHROPIC.chunk(item(message), message)
        read += 1
        if any(isinstance(block, Text) and not block.text.strip() for block in message.blocks):
            blank += 1  # the product recorded blank text that the API does not take back
        else:
            assert chunk == raw
        assert detect(value) in ("anthropic", None)
    assert read > 10_000
    assert blank < read / 100


def test_answers_in_recorded_claude_code_sessions_are_recognised(shared_data: Path) -> None:
    answers = 0
    for value in claude_code(shared_data):
        answer = reply(value)
        if answer is not None:
            answers += 1
            assert answer.message.raw == encode({"role": "assistant", "content": value["content"]})
            assert answer.usage == value.get("usage")
    assert answers > 5_000


def test_every_message_of_recorded_tau_bench_runs_keeps_its_bytes(shared_data: Path) -> None:
    read = 0
    for value in tau_bench(shared_data):
        raw = encode(value)
        message = CHAT.parse(raw)
        assert CHAT.chunk(item(message), message) == raw
        assert detect(value) in ("openai-chat", None)
        read += 1
    assert read > 1_000


@pytest.mark.parametrize("name", ["anthropic", "openai-chat"])
def test_recorded_tau_bench_runs_are_valid_in_every_dialect(shared_data: Path, name: str) -> None:
    """Chat servers do use an id twice in one run; what Anthropic thinks of that is reported, and nothing else."""
    dialect = find(name)
    for file in sorted((shared_data / "tau-bench").glob("*.json.gz")):
        for run in decode(gzip.decompress(file.read_bytes())):
            messages = [CHAT.parse(encode(value)) for value in run["traj"]]
            while messages[-1].role == "assistant":  # the run ends with an answer; nothing is asked after it
                messages.pop()
            chunks = [dialect.chunk(item(message), message) for message in messages]
            body = decode(dialect.body(chunks, {"model": "m"}, item(messages[0])))
            ids = [call.id for message in messages for call in message.calls]
            reported = {"duplicate-call"} if name == "anthropic" and len(set(ids)) < len(ids) else set()
            assert {problem.rule for problem in dialect.check(body)} == reported


def test_recorded_claude_code_messages_render_as_chat(shared_data: Path) -> None:
    for value in claude_code(shared_data):
        message = ANTHROPIC.parse(encode(value))
        for one in decode(b"[" + CHAT.chunk(item(message), message) + b"]"):
            CHAT.parse(encode(one))


def codex(data: Path) -> Iterator[list[dict[str, Any]]]:
    for file in sorted((data / "codex").glob("*.jsonl.gz")):
        with gzip.open(file) as lines:
            rows = [decode(line) for line in lines]
            yield [row["payload"] for row in rows if row["type"] == "response_item"]


def test_every_item_of_recorded_codex_sessions_keeps_its_bytes_answer_by_answer(shared_data: Path) -> None:
    read = 0
    for items in codex(shared_data):
        chunks = []
        for turn in openai_responses.turns(items):
            message = RESPONSES.parse(encode(turn[0] if len(turn) == 1 else turn))
            chunks.append(RESPONSES.chunk(item(message), message))
        body = RESPONSES.body(RESPONSES.limited(chunks, 0), {}, None)
        assert body == b'{"input":' + encode(items) + b"}"
        # A session may end in the middle of a step; nothing else is wrong with any of them.
        assert {problem.rule for problem in RESPONSES.check(decode(body))} <= {"unanswered-call"}
        read += len(items)
    assert read > 2_000


def test_recorded_codex_sessions_are_valid_in_every_dialect(shared_data: Path) -> None:
    for items in list(codex(shared_data))[::2]:
        with cf.Session.open(model="gpt-5.4") as session:
            for turn in openai_responses.turns(items):
                session.append(turn)
            session.append({"role": "user", "content": "Go on."})
            for name in ("anthropic", "openai-chat", "gemini"):
                request = session.prepare(dialect=name)
                assert find(name).check(request.body) == []
                assert any(loss.startswith("reasoning is left out") for loss in request.report.losses)


def test_every_content_of_recorded_gemini_sessions_keeps_its_bytes(shared_data: Path) -> None:
    read = 0
    for file in sorted((shared_data / "gemini").glob("*.json.gz")):
        history = decode(gzip.decompress(file.read_bytes()))["history"]
        messages = [GEMINI.parse(encode(value)) for value in history]
        chunks = GEMINI.limited([GEMINI.chunk(item(message), message) for message in messages], 0)
        assert GEMINI.body(chunks, {}, None) == b'{"contents":' + encode(history) + b"}"
        assert all(detect(value) == "gemini" for value in history)
        for dialect in (ANTHROPIC, CHAT, RESPONSES):
            assert all(dialect.chunk(item(message), message) for message in messages)
        read += len(history)
    assert read > 100
