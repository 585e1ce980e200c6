"""The recorded sessions kept beside the repository: all of them, counted."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import contextfold
from contextfold import dialects, transcripts
from contextfold.transcripts import Recording, Whole
from tests.unit.transcripts.samples import places

# What the table of the data's README counts as messages: rows that carry one. Read are those, less the ones that are
# told apart (summaries, abandoned branches, what the product wrote itself, the system's and the user's own).
MESSAGES = {
    "claude-code": 14_124 + 25,  # and words typed while the agent worked, which stand in no row of their own
    "codex": 2_899,
    "copilot": 3,
    "gemini": 122,
    "asdc": 2_141,
    "longmemeval": 598,
    "openhands": 20,
    "plain": 10,  # a list of messages that OpenHands keeps as a fixture
    "pi": 914,
    "roo-api": 61,
    "roo-ui": 108,
    "swe-agent": 2_341,
    "tau-bench": 2_526,
    "tau2-bench": 5_085,
}
TOLD_APART = {
    "claude-code": ("abandoned", "assistant:synthetic"),
    "copilot": ("system.message",),
    "pi": ("assistant:empty",),
}
WHOLE_LISTS = (
    "gemini",
    "asdc",
    "longmemeval",
    "openhands",
    "plain",
    "roo-api",
    "roo-ui",
    "swe-agent",
    "tau-bench",
    "tau2-bench",
)


class Read:
    """One file, read once for all tests, and strictly: no line of these files is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.format = transcripts.detect(path)
        self.recordings: list[tuple[Recording, Whole]] = [
            (each, each.whole()) for each in transcripts.read(path, strict=True)
        ]

    def messages(self) -> int:
        """Rows that carry a message, counted as the README does."""
        accounts = [whole.account for _, whole in self.recordings]
        if self.format in WHOLE_LISTS:
            answers = len(accounts) if self.format == "openhands" else 0  # the response is a turn of ours
            return sum(account.lines for account in accounts) - answers
        apart = sum(account.skipped.get(kind, 0) for account in accounts for kind in TOLD_APART.get(self.format, ()))
        summaries = [each for _, whole in self.recordings for each in whole.compactions if each.summary]
        return sum(account.read for account in accounts) + apart + len(summaries) * (self.format == "claude-code")


@pytest.fixture(scope="module")
def every(shared_data: Path) -> list[Read]:
    return [Read(path) for path in sorted(shared_data.glob("*/*.gz"))]


def wholes(every: list[Read], format: str = "") -> Iterator[Whole]:
    return (whole for file in every if format in ("", file.format) for _, whole in file.recordings)


def test_every_conversation_is_found(every: list[Read]) -> None:
    assert len(every) == 93
    main = [recording for file in every for recording, _ in file.recordings if "is_sidechain" not in recording.details]
    assert len(main) == 433
    assert sum(len(file.recordings) for file in every) == 433 + 2  # one session has two conversations of subagents


def test_the_format_found_is_the_one_the_manifest_names(shared_data: Path, every: list[Read]) -> None:
    manifest = json.loads((shared_data / "MANIFEST.json").read_text())
    named = {entry["file"]: entry["format"].removesuffix("-traj").removesuffix("-llm-log") for entry in manifest}

    differ = {file.path.name for file in every if named[f"{file.path.parent.name}/{file.path.name}"] != file.format}

    assert differ == {"llm_data__nonfncall-llm-message.json.gz"}  # a plain list of messages, whoever wrote it


def test_messages_are_as_many_as_the_table_says(every: list[Read]) -> None:
    found: Counter[str] = Counter()
    for file in every:
        found[file.format] += file.messages()

    assert dict(found) == MESSAGES
    assert found.total() == 30_952 + 25


def test_every_line_is_accounted_for_once(every: list[Read]) -> None:
    for file in every:
        if file.format in ("claude-code", "codex", "copilot", "pi"):
            lines = len(gzip.decompress(file.path.read_bytes()).removesuffix(b"\n").split(b"\n"))
            own = sorted(place for _, whole in file.recordings for place in places(whole))
            assert own == list(range(1, lines + 1)), file.path.name
        else:
            for recording, whole in file.recordings:
                assert places(whole) == list(range(1, whole.account.lines + 1)), recording.name


def test_known_defects_of_the_originals_are_reported(every: list[Read]) -> None:
    found = {file.format: Counter[str]() for file in every}
    for file in every:
        found[file.format].update(defect.kind for _, whole in file.recordings for defect in whole.defects)

    assert {name: dict(kinds) for name, kinds in found.items() if kinds} == {
        "claude-code": {"result-before-call": 34, "call-without-result": 7, "missing-parent": 5},
        "codex": {"call-without-result": 2 + 15},  # 15 searches at the provider, whose results no log holds
        "pi": {"call-without-result": 18},
        "tau-bench": {"repeated-call": 38},
        "openhands": {"call-without-result": 2},  # the logged call ends with them
    }


def test_results_follow_their_calls(every: list[Read]) -> None:
    for whole in wholes(every):
        called: set[str] = set()
        for turn in whole.turns:
            message = turn.message
            called |= set(calls(message))
            assert all(answer in called for answer in answers(message))


def calls(message: dict[str, Any]) -> Iterator[str]:
    for block in message["content"] if isinstance(message.get("content"), list) else ():
        if block["type"] == "tool_use":
            yield block["id"]
    yield from (call["id"] for call in message.get("tool_calls") or ())


def answers(message: dict[str, Any]) -> Iterator[str]:
    for block in message["content"] if isinstance(message.get("content"), list) else ():
        if block["type"] == "tool_result":
            yield block["tool_use_id"]
    if message["role"] == "tool":
        yield message["tool_call_id"]


def test_the_products_own_compactions_are_found_with_their_summaries(every: list[Read]) -> None:
    claude = [each for whole in wholes(every, "claude-code") for each in whole.compactions]
    codex = [each for whole in wholes(every, "codex") for each in whole.compactions]

    assert Counter(each.kind for each in claude) == {"summary": 18, "clear": 1}
    assert all(
        each.summary and each.shown and each.before_tokens > 150_000 for each in claude if each.kind == "summary"
    )
    assert [(len(each.shown), each.before_tokens > 200_000) for each in codex] == [(33, True)]


def test_what_was_billed_is_there_for_every_answer_of_claude_code(every: list[Read]) -> None:
    answered = [turn for whole in wholes(every, "claude-code") for turn in whole.turns if turn.model]

    assert len(answered) > 4_000
    assert all(turn.usage and "cache_read_input_tokens" in turn.usage for turn in answered)


def test_every_turn_is_a_message_that_a_dialect_takes(every: list[Read]) -> None:
    for file in every:
        for whole in (whole for _, whole in file.recordings):
            for turn in whole.turns:
                dialect = dialects.find(dialects.detect(turn.message) or "anthropic")
                assert dialect.parse(turn.raw).blocks


@pytest.mark.parametrize("format", ["claude-code", "codex", "pi", "gemini", "swe-agent", "tau-bench", "tau2-bench"])
def test_a_thread_makes_valid_requests_of_a_recording(every: list[Read], format: str) -> None:
    """Only the end may be wrong: a recording ends where it ends, with an answer or an open call."""
    recording = next(recording for file in every if file.format == format for recording, _ in file.recordings)
    with contextfold.open() as store:
        thread = store.thread("recorded")
        for turn in recording.turns:
            thread.append(turn.raw)
        for dialect in ("anthropic", "openai-chat"):
            problems = dialects.find(dialect).check(json.loads(thread.body(dialect=dialect, model="m", max_tokens=9)))
            assert {problem.rule for problem in problems} <= {"ends-with-assistant", "unanswered-call"}
