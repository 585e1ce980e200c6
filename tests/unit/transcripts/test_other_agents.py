"""pi, Copilot, Roo Code and Gemini: each its own way of logging the same thing."""

from __future__ import annotations

from pathlib import Path

from tests.unit.transcripts.every import COPILOT, GEMINI, GEMINI_CHAT, PI, ROO_API, ROO_UI
from tests.unit.transcripts.samples import Json, filed, kinds, messages, only, places, put_json, put_lines, whole, words


def test_pi_follows_the_live_branch_and_writes_blocks_as_anthropic_does(tmp_path: Path) -> None:
    recording = only(put_lines(tmp_path, PI))
    read = recording.whole()

    assert (recording.format, recording.id) == ("pi", "p1")
    assert [turn.lines for turn in read.turns] == [(2,), (3,), (4,), (6,), (9,)]
    assert [(each.line, each.kind) for each in read.skipped] == [(1, "session"), (5, "abandoned"), (7, "model_change")]
    _, answer, result, shell, _ = messages(read)
    id = answer["content"][2]["id"]
    assert "|" not in id
    assert answer["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        *words("ok"),
        {"type": "tool_use", "id": id, "name": "read", "input": {"path": "a"}},
    ]
    assert result["content"] == [{"type": "tool_result", "tool_use_id": id, "content": words("aaa"), "is_error": True}]
    assert shell["content"] == words("$ ls\na b")
    assert read.turns[1].usage == {
        "input_tokens": 3,
        "cache_read_input_tokens": 7,
        "cache_creation_input_tokens": 9,
        "output_tokens": 5,
    }


def test_a_compaction_of_pi_says_which_turn_it_kept_from(tmp_path: Path) -> None:
    (compaction,) = whole(put_lines(tmp_path, PI)).compactions

    assert (compaction.after_index, compaction.kept_from) == (4, 2)
    assert (compaction.summary, compaction.before_tokens) == ("we looked", 500)


def test_thinking_without_anthropics_signature_stays_in_the_original(tmp_path: Path) -> None:
    block: Json = {"type": "thinking", "thinking": "secret", "thinkingSignature": "x"}
    said = {"role": "assistant", "api": "openai-responses", "content": [block, *words("ok")]}
    rows = [PI[0], {"type": "message", "id": "e1", "parentId": None, "message": said}]

    (turn,) = whole(put_lines(tmp_path, rows)).turns

    assert turn.message["content"] == words("ok")
    assert b"secret" in turn.original


def test_pi_before_version_2_is_linear_and_counts_entries(tmp_path: Path) -> None:
    rows: list[Json] = [
        {"type": "session", "id": "p0", "cwd": "/w"},
        {"type": "message", "message": {"role": "user", "content": "one"}},
        {"type": "message", "message": {"role": "user", "content": "two"}},
        {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 2, "tokensBefore": 9},
    ]

    read = whole(put_lines(tmp_path, rows))

    assert [turn.lines for turn in read.turns] == [(2,), (3,)]
    assert read.compactions[0].kept_from == 1


def test_copilot_pairs_requests_with_what_the_tools_answered(tmp_path: Path) -> None:
    recording = only(put_lines(tmp_path, COPILOT))
    read = recording.whole()

    assert (recording.id, recording.system) == ("k1", "You are a pilot.")
    assert messages(read) == [
        {"role": "user", "content": [*words("fly"), filed("<now>1</now>")]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "view", "input": {"path": "a"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "aaa"}]},
        {"role": "assistant", "content": words("Done.")},
        {"role": "user", "content": words("land")},
    ]
    assert [(each.kind, each.after_index) for each in read.compactions] == [("summary", 4), ("window", 4)]
    assert "subagent:assistant.message" in read.account.skipped
    assert places(read) == list(range(1, len(COPILOT) + 1))
    assert not read.defects


def test_a_call_that_copilot_tells_only_when_it_starts_is_a_call(tmp_path: Path) -> None:
    rows: list[Json] = [
        {"type": "user.message", "data": {"content": "go"}},
        {"type": "tool.execution_start", "data": {"toolCallId": "t1", "toolName": "view", "arguments": {"path": "a"}}},
        {
            "type": "tool.execution_complete",
            "data": {"toolCallId": "t1", "success": False, "error": {"message": "denied"}},
        },
    ]

    read = whole(put_lines(tmp_path, rows))

    assert messages(read)[1]["content"][0]["name"] == "view"
    assert messages(read)[2]["content"][0] == {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": "denied",
        "is_error": True,
    }
    assert not kinds(read)


def test_roo_keeps_tags_and_foreign_reasoning_out_of_messages(tmp_path: Path) -> None:
    path = put_json(tmp_path, ROO_API)
    read = whole(path)

    assert only(path).format == "roo-api"
    assert [turn.human for turn in read.turns] == [True, False, False, False]
    assert read.turns[3].message == {"role": "assistant", "content": words("ok")}
    assert b"hm" in read.turns[3].original
    assert read.turns[0].at == 1_700_000_000.0
    assert [(each.kind, each.summary) for each in read.compactions] == [("summary", "so far"), ("window", "")]
    assert [(each.line, each.kind) for each in read.skipped] == [(7, "reasoning")]


def test_what_roos_panel_showed_is_joined_by_request(tmp_path: Path) -> None:
    read = whole(put_json(tmp_path, ROO_UI))

    assert messages(read) == [
        {"role": "user", "content": words("mend it")},
        {"role": "assistant", "content": words("I will look.", '{"tool":"readFile","path":"a"}')},
        {"role": "user", "content": words("aaa")},
        {"role": "user", "content": words("good")},
    ]
    assert [turn.human for turn in read.turns] == [True, False, False, True]
    assert read.turns[1].usage is not None
    assert read.turns[1].usage["input_tokens"] == 5
    assert read.compactions[0].before_tokens == 70
    assert places(read) == list(range(1, len(ROO_UI) + 1))


def test_gemini_pairs_results_by_name_where_there_are_no_ids(tmp_path: Path) -> None:
    recording = only(put_json(tmp_path, GEMINI))
    read = recording.whole()

    assert (recording.format, recording.id) == ("gemini", "g1")
    assert recording.details["questions"] == [{"id": "q", "prompt": "?"}]
    called, answered = messages(read)[1:3]
    assert called["content"][0]["id"] == answered["content"][0]["tool_use_id"]
    assert answered["content"][0]["content"] == "rain"
    assert messages(read)[3] == {"role": "assistant", "content": words("Rain.")}
    assert not read.defects


def test_two_open_calls_of_one_name_are_answered_in_order(tmp_path: Path) -> None:
    call: Json = {"functionCall": {"name": "w", "args": {}}}
    answers = [{"functionResponse": {"name": "w", "response": {"n": n}}} for n in (1, 2, 3)]
    history = [{"role": "model", "parts": [call, call]}, {"role": "user", "parts": answers}]

    read = whole(put_json(tmp_path, {"history": history}))

    called, answered = messages(read)
    ids = [block["id"] for block in called["content"]]
    assert [block["tool_use_id"] for block in answered["content"]][:2] == ids
    assert kinds(read) == ["result-without-call"]


def test_a_chat_of_the_gemini_cli_gives_calls_their_results(tmp_path: Path) -> None:
    recording = only(put_json(tmp_path, GEMINI_CHAT))
    read = recording.whole()

    assert (recording.format, recording.id) == ("gemini", "g2")
    assert [turn.message["role"] for turn in read.turns] == ["user", "assistant", "user", "assistant"]
    assert read.turns[2].message["content"][0]["content"] == "rain"
    assert read.turns[1].usage is not None
    assert read.turns[1].usage["input_tokens"] == 6
    assert places(read) == [1, 2, 3, 4]
    assert not read.defects
