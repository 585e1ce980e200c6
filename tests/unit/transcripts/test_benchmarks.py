"""Runs that benchmarks and data sets publish."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextfold import transcripts
from contextfold.errors import BadMessage
from tests.unit.transcripts.every import DIALOGUE, LONGMEMEVAL, OPENHANDS, SWE_AGENT, TAU, TAU2, tar
from tests.unit.transcripts.samples import kinds, messages, only, packed, places, put, put_json, spelled


def test_swe_agent_keeps_actions_as_text_and_marks_demonstrations(tmp_path: Path) -> None:
    recording = only(put_json(tmp_path, SWE_AGENT, "x.traj"))
    read = recording.whole()

    assert (recording.name, recording.format, recording.system) == ("x", "swe-agent", "Solve it.")
    assert [(turn.is_meta, turn.human) for turn in read.turns[:4]] == [
        (True, False),
        (False, True),
        (False, False),
        (False, False),
    ]
    assert messages(read)[2] == {"role": "assistant", "content": "ls\n```\nls\n```"}
    assert messages(read)[-1] == {"role": "tool", "tool_call_id": "t1", "content": "done"}
    assert recording.details == {"exit_status": "submitted"}
    assert not read.defects


def test_tau_bench_holds_many_conversations_byte_for_byte(tmp_path: Path) -> None:
    first, second = transcripts.read(put_json(tmp_path, TAU))

    assert (first.id, second.id) == ("3.1", "4.0")
    assert first.system == "Be brief."
    assert first.details == {"task_id": 3, "trial": 1, "reward": 1.0}
    assert [turn.original for turn in first.turns] == [b""] * 4
    assert len(list(second.turns)) == 1


def test_an_id_used_for_two_calls_is_reported(tmp_path: Path) -> None:
    twice = [*TAU[0]["traj"], *TAU[0]["traj"][2:4]]

    (recording,) = transcripts.read(put_json(tmp_path, [TAU[0] | {"traj": twice}]))

    assert kinds(recording.whole()) == ["repeated-call"]


def test_tau2_bench_is_written_as_chat_without_the_users_own_tools(tmp_path: Path) -> None:
    recording = only(put_json(tmp_path, TAU2))
    read = recording.whole()

    assert (recording.id, recording.system) == ("sim1", "Be kind.")
    assert messages(read)[2:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "find", "arguments": '{"n":1}'}}],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "found"},
    ]
    assert read.account.skipped == {"user-tool": 2}
    assert read.turns[2].usage is not None
    assert read.turns[2].usage["input_tokens"] == 50
    assert read.turns[2].model == "gpt-x"


def test_the_response_of_a_logged_call_is_the_last_turn_with_its_bill(tmp_path: Path) -> None:
    recording = only(put_json(tmp_path, OPENHANDS))
    read = recording.whole()

    assert (recording.format, recording.system) == ("openhands", "Be brief.")
    last = read.turns[-1]
    assert last.message == {"role": "assistant", "content": "Rain."}
    assert last.usage is not None
    assert (last.usage["input_tokens"], last.usage["cache_read_input_tokens"]) == (20, 10)
    assert (last.model, last.at) == ("gpt-x", 1_700_000_000.5)
    assert read.turns[0].usage is None


@pytest.mark.parametrize("alone", [True, False])
def test_longmemeval_strings_the_conversations_of_a_question_together(tmp_path: Path, alone: bool) -> None:
    recording = only(put_json(tmp_path, LONGMEMEVAL[0] if alone else LONGMEMEVAL))
    read = recording.whole()

    assert recording.id == "q1"
    assert recording.details["answer"] == "a terrier"
    assert recording.details["evidence"] == [1]
    assert [turn.message["content"] for turn in read.turns] == ["I got a terrier", "Nice!", "Hello again"]
    assert [turn.at for turn in read.turns] == [1684549260.0, 1684549260.0, None]
    assert b"has_answer" not in read.turns[0].raw


def test_dialogues_in_an_archive_are_read_as_they_pass(tmp_path: Path) -> None:
    path = put(tmp_path, tar({"a/001.json": spelled(DIALOGUE), "notes.txt": b"x", "002.json": spelled(DIALOGUE)}))

    recordings = list(transcripts.read(path))

    assert [each.name for each in recordings] == ["session#001", "session#002"]
    assert [turn.message["role"] for turn in recordings[0].turns] == ["assistant", "user"]
    assert [turn.human for turn in recordings[0].turns] == [False, True]
    assert [each.whole() for each in recordings] == [each.whole() for each in transcripts.read(packed(path))]


def test_members_that_are_no_dialogue_are_reported_one_by_one(tmp_path: Path) -> None:
    path = put(tmp_path, tar({"1.json": b"{broken", "2.json": b'{"meta":{}}', "3.json": spelled(DIALOGUE)}))

    first, second, third = (each.whole() for each in transcripts.read(path))

    assert kinds(first) == kinds(second) == ["damaged"]
    assert len(third.turns) == 2
    with pytest.raises(BadMessage, match="line 1"):
        list(transcripts.read(path, strict=True))


def test_an_archive_that_is_cut_short_gives_what_came_before(tmp_path: Path) -> None:
    long = DIALOGUE | {"utterances": DIALOGUE["utterances"] * 500}
    content = tar({"1.json": spelled(DIALOGUE), "2.json": spelled(long)})

    *_, last = transcripts.read(put(tmp_path, content[:4_000]))

    assert kinds(last.whole()) == ["damaged"]


def test_an_archive_without_dialogues_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadMessage, match="without dialogues"):
        list(transcripts.read(put(tmp_path, tar({"notes.txt": b"x"}))))


def test_a_record_without_messages_is_a_recording_of_its_report(tmp_path: Path) -> None:
    records: list[object] = [TAU[0], {"task_id": 9, "traj": 7}, "not a record"]

    first, second, third = (each.whole() for each in transcripts.read(put_json(tmp_path, records)))

    assert len(first.turns) == 4
    assert kinds(second) == kinds(third) == ["damaged"]
    assert (places(second), places(third)) == ([2], [3])


@pytest.mark.finding("W16")
def test_a_tau2_file_without_its_info_is_read_too(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "good day"}]
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"simulations": [{"id": "s", "messages": said}]}))
    assert transcripts.detect(path) == "tau2-bench"
    (recording,) = transcripts.read(path)
    assert [turn.message["content"] for turn in recording.turns] == ["hello", "good day"]
