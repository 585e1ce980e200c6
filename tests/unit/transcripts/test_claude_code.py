"""Claude Code's session files: a tree of lines, several of them one message."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextfold import transcripts
from contextfold.errors import BadMessage
from tests.unit.transcripts.samples import Json, kinds, messages, only, packed, places, put_lines, whole, words


def line(type_: str, uuid: str, parent: str | None, content: object = None, **more: object) -> Json:
    message: Json = {"role": type_, "content": content}
    if type_ == "assistant":
        extra = more.pop("message", {})
        message |= {"id": "msg_1", "type": "message", "model": "claude-x", "usage": {"input_tokens": 7}}
        message |= extra if isinstance(extra, dict) else {}
    row: Json = {"type": type_, "uuid": uuid, "parentUuid": parent, "sessionId": "s1", "isSidechain": False}
    if content is not None:
        row["message"] = message
    return row | {"timestamp": "2026-01-02T03:04:05Z"} | more


def call(id: str) -> list[Json]:
    return [{"type": "tool_use", "id": id, "name": "Read", "input": {"path": f"{id}.py"}}]


def answer(id: str) -> list[Json]:
    return [{"type": "tool_result", "tool_use_id": id, "content": f"content of {id}"}]


SESSION = [
    {"type": "file-history-snapshot", "messageId": "x"},
    line("user", "u1", None, "read two files"),
    line("assistant", "a1", "u1", words("I will.")),
    line("assistant", "a2", "a1", call("one")),
    line("user", "r1", "a2", answer("one")),
    line("assistant", "a3", "a2", call("two"), message={"usage": {"input_tokens": 9, "output_tokens": 3}}),
    line("user", "r2", "a3", answer("two")),
    line("assistant", "a4", "r2", words("Done."), message={"id": "msg_2"}),
]


def test_the_lines_of_one_api_message_are_one_turn_and_its_results_follow(tmp_path: Path) -> None:
    read = whole(put_lines(tmp_path, SESSION))

    assert messages(read) == [
        {"role": "user", "content": "read two files"},
        {"role": "assistant", "content": [*words("I will."), *call("one"), *call("two")]},
        {"role": "user", "content": answer("one")},
        {"role": "user", "content": answer("two")},
        {"role": "assistant", "content": words("Done.")},
    ]
    assert [turn.lines for turn in read.turns] == [(2,), (3, 4, 6), (5,), (7,), (8,)]


def test_a_turn_carries_time_model_author_and_what_was_billed_last(tmp_path: Path) -> None:
    read = whole(put_lines(tmp_path, SESSION))

    asked, answered = read.turns[:2]
    assert asked.human
    assert asked.at == 1767323045.0
    assert asked.usage is None
    assert not read.turns[2].human
    assert answered.model == "claude-x"
    assert answered.usage == {"input_tokens": 9, "output_tokens": 3}


def test_the_bytes_of_blocks_are_those_of_the_file(tmp_path: Path) -> None:
    odd = b'{"type":"text",  "text":"caf\\u00e9",   "unknown":1.0}'
    row = (
        b'{"type":"assistant","uuid":"a","parentUuid":null,"sessionId":"s",'
        b'"message":{"role":"assistant","id":"m","content":[' + odd + b"]}}"
    )

    (turn,) = whole(put_lines(tmp_path, [row])).turns

    assert turn.raw == b'{"role":"assistant","content":[' + odd + b"]}"
    assert b'"id":"m"' in turn.original


def test_the_branch_that_was_left_is_reported_and_the_one_that_went_on_is_read(tmp_path: Path) -> None:
    rows = [
        line("user", "u1", None, "first"),
        line("assistant", "a1", "u1", words("yes")),
        line("user", "u2", "a1", "a mistake"),
        line("assistant", "a2", "u2", words("hm"), message={"id": "msg_2"}),
        line("user", "u3", "a1", "better"),
        line("assistant", "a3", "u3", words("good"), message={"id": "msg_3"}),
    ]

    read = whole(put_lines(tmp_path, rows))

    assert [turn.lines for turn in read.turns] == [(1,), (2,), (5,), (6,)]
    assert [(each.line, each.kind) for each in read.skipped] == [(3, "abandoned"), (4, "abandoned")]


def test_a_late_result_of_a_parallel_call_does_not_cut_off_what_was_said_since(tmp_path: Path) -> None:
    rows = [
        line("user", "u1", None, "go"),
        line("assistant", "a1", "u1", call("one")),
        line("assistant", "a2", "a1", call("two")),
        line("user", "r2", "a2", answer("two")),
        line("user", "u2", "r2", "and then?"),
        line("user", "r1", "a1", answer("one")),
    ]

    read = whole(put_lines(tmp_path, rows))

    assert places(read) == [1, 2, 3, 4, 5, 6]
    assert [turn.lines for turn in read.turns] == [(1,), (2, 3), (4,), (6,), (5,)]
    assert not read.skipped


def test_a_result_that_stands_before_its_call_follows_it_and_is_reported(tmp_path: Path) -> None:
    rows = [
        line("user", "u1", None, "go"),
        line("user", "r1", "a1", answer("one")),
        line("assistant", "a1", "u1", call("one")),
        line("assistant", "a2", "r1", words("ok"), message={"id": "msg_2"}),
    ]

    read = whole(put_lines(tmp_path, rows))

    assert [turn.lines for turn in read.turns] == [(1,), (3,), (2,), (4,)]
    assert [(defect.line, defect.kind) for defect in read.defects] == [(2, "result-before-call")]


def test_a_call_without_result_and_a_result_without_call_are_reported(tmp_path: Path) -> None:
    rows = [
        line("user", "u1", None, answer("never")),
        line("assistant", "a1", "u1", call("open")),
        line("user", "u2", "a1", "stop"),
    ]

    read = whole(put_lines(tmp_path, rows))

    assert sorted(kinds(read)) == ["call-without-result", "result-without-call"]
    assert len(read.turns) == 3


def test_a_subagents_side_conversation_is_a_recording_of_its_own(tmp_path: Path) -> None:
    rows = [
        line("user", "u1", None, "go"),
        line("user", "s1", None, "look around", isSidechain=True, agentId="ag7"),
        line("assistant", "s2", "s1", words("I see"), message={"id": "msg_9"}, isSidechain=True),
        line("assistant", "a1", "u1", words("done")),
    ]

    main, side = transcripts.read(put_lines(tmp_path, rows))

    assert (main.id, side.id) == ("s1", "s1/ag7")
    assert [turn.lines for turn in main.turns] == [(1,), (4,)]
    assert [turn.lines for turn in side.turns] == [(2,), (3,)]
    assert side.details["is_sidechain"] is True


COMPACTED = [
    line("user", "u1", None, "long story"),
    line("assistant", "a1", "u1", words("aha")),
    {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "c1",
        "parentUuid": None,
        "logicalParentUuid": "gone",
        "compactMetadata": {"trigger": "auto", "preTokens": 155_000},
    },
    line("user", "c2", "c1", "This session is being continued: …", isCompactSummary=True),
    line("assistant", "a2", "c2", words("going on"), message={"id": "msg_2"}),
]


def test_the_products_own_compaction_is_kept_apart_from_what_was_said(tmp_path: Path) -> None:
    read = whole(put_lines(tmp_path, COMPACTED))

    assert [turn.lines for turn in read.turns] == [(1,), (2,), (5,)]
    (compaction,) = read.compactions
    assert compaction.after_index == 2
    assert compaction.trigger == "auto"
    assert compaction.before_tokens == 155_000
    assert compaction.summary.startswith("This session is being continued")
    assert compaction.lines == (3, 4)
    assert read.account.lines == 5
    assert not read.defects


def test_clearing_old_results_is_a_compaction_of_its_own_kind(tmp_path: Path) -> None:
    micro = {
        "type": "system",
        "subtype": "microcompact_boundary",
        "uuid": "m",
        "parentUuid": "u1",
        "microcompactMetadata": {"trigger": "auto", "preTokens": 9, "compactedToolIds": ["one"]},
    }

    read = whole(put_lines(tmp_path, [line("user", "u1", None, "go"), micro]))

    assert [(each.kind, each.cleared, each.after_index) for each in read.compactions] == [("clear", ("one",), 1)]


def test_what_the_product_wrote_itself_is_marked_or_left_out(tmp_path: Path) -> None:
    rows = [
        line("user", "u1", None, "<local-command-caveat>Caveat", isMeta=True),
        line("user", "u2", "u1", "<command-name>/exit</command-name>"),
        line("assistant", "a1", "u2", words("No response requested."), message={"model": "<synthetic>"}),
        line("user", "u3", "a1", "real words"),
    ]

    read = whole(put_lines(tmp_path, rows))

    assert [(turn.is_meta, turn.human) for turn in read.turns] == [(True, False), (False, False), (False, True)]
    assert [each.kind for each in read.skipped] == ["assistant:synthetic"]


def test_a_parent_that_is_nowhere_is_reported_and_the_line_before_takes_its_place(tmp_path: Path) -> None:
    rows = [line("user", "u1", None, "go"), line("assistant", "a1", "lost", words("ok"))]

    read = whole(put_lines(tmp_path, rows))

    assert len(read.turns) == 2
    assert [(defect.line, defect.kind) for defect in read.defects] == [(2, "missing-parent")]


def test_lines_that_go_round_in_a_circle_are_read_all_the_same(tmp_path: Path) -> None:
    rows = [line("user", "u1", "u2", "one"), line("user", "u2", "u1", "two")]

    assert places(whole(put_lines(tmp_path, rows))) == [1, 2]


DAMAGED: list[Json | str | bytes] = [
    SESSION[1],
    '{"type":"user", "uuid":',
    b"\xff\xfe not utf-8",
    "",
    "[1,2]",
    line("user", "u9", "u1", [{"type": "tool_result", "content": "no id"}]),
    line("user", "u8", "u1", "end"),
]


def test_damaged_lines_are_reported_by_number_and_passed_over(tmp_path: Path) -> None:
    read = whole(put_lines(tmp_path, DAMAGED))

    assert [turn.lines for turn in read.turns] == [(1,), (7,)]
    assert [defect.line for defect in read.defects if defect.kind == "damaged"] == [2, 3, 5, 6]
    assert [each.line for each in read.skipped if each.kind == "blank"] == [4]
    assert places(read) == [1, 2, 3, 4, 5, 6, 7]


def test_a_strict_reading_refuses_a_damaged_line_by_file_and_number(tmp_path: Path) -> None:
    path = put_lines(tmp_path, DAMAGED)

    with pytest.raises(BadMessage, match=r"session, line 2:"):
        list(transcripts.read(path, strict=True))


def test_a_message_that_cannot_be_taken_is_refused_by_a_strict_reading(tmp_path: Path) -> None:
    path = put_lines(tmp_path, [SESSION[1], DAMAGED[5]])

    with pytest.raises(BadMessage, match="line 2"):
        list(only(path, strict=True).entries())


def test_plain_and_compressed_give_the_same(tmp_path: Path) -> None:
    path = put_lines(tmp_path, [*SESSION, *DAMAGED[1:5]])

    assert only(path).whole() == only(packed(path)).whole()


def test_a_file_of_nothing_but_notes_is_a_recording_of_nothing(tmp_path: Path) -> None:
    rows = [{"type": "summary", "summary": "old", "leafUuid": "x"}] * 3

    read = whole(put_lines(tmp_path, rows))

    assert not read.turns
    assert read.account.skipped == {"summary": 3}


def test_a_lone_surrogate_does_not_stop_the_reading(tmp_path: Path) -> None:
    row = (
        b'{"type":"assistant","uuid":"a","parentUuid":null,"sessionId":"s",'
        b'"message":{"role":"assistant","id":"m","content":[{"type":"text","text":"half \\ud83d"}]}}'
    )

    (turn,) = whole(put_lines(tmp_path, [row])).turns

    assert turn.message["content"][0]["text"] == "half \ud83d"


@pytest.mark.finding("Q8")
def test_words_typed_while_the_agent_works_are_the_users(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {}}
    back = {"type": "tool_result", "tool_use_id": "c", "content": "ok"}
    time = "2026-02-12T15:31:18.865Z"

    def row(type_: str, uuid: str, parent: str | None, content: object) -> dict[str, object]:
        message = {"role": type_, "id": uuid, "content": content}
        return {"type": type_, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message}

    def queued(operation: str, words: str | None) -> dict[str, object]:
        return {
            "type": "queue-operation",
            "operation": operation,
            "timestamp": time,
            "content": words,
            "sessionId": "s",
        }

    rows = [
        row("user", "a", None, "go"),
        row("assistant", "b", "a", [call]),
        queued("enqueue", "wait, discuss first"),
        queued("enqueue", "said again below"),
        queued("popAll", "wait, discuss first"),
        row("user", "d", "b", [back]),
        row("assistant", "e", "d", [{"type": "text", "text": "done"}]),
        row("user", "f", "e", "said again below"),
        queued("enqueue", "one more thing"),
    ]
    read = whole(put_lines(tmp_path, rows))
    texts = [turn.message["content"] for turn in read.turns]
    assert [text if isinstance(text, str) else text[0].get("text", text[0]["type"]) for text in texts] == [
        *("go", "tool_use", "tool_result", "wait, discuss first", "done", "said again below", "one more thing"),
    ]
    assert [turn.human for turn in read.turns if turn.at] == [True, True]
    assert not read.defects
