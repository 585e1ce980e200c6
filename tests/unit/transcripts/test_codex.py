"""Codex rollouts: items of the Responses API among events for the screen."""

from __future__ import annotations

from pathlib import Path

from tests.unit.transcripts.samples import Json, kinds, messages, only, packed, places, put_lines, whole, words


def item(**payload: object) -> Json:
    return {"timestamp": "2026-01-02T03:04:05.000Z", "type": "response_item", "payload": payload}


def event(type_: str, **payload: object) -> Json:
    return {"timestamp": "2026-01-02T03:04:06.000Z", "type": type_, "payload": payload}


def said(role: str, words: str) -> Json:
    part = "output_text" if role == "assistant" else "input_text"
    return item(type="message", role=role, content=[{"type": part, "text": words}])


def tokens(whole: int, cached: int, output: int) -> Json:
    usage = {"input_tokens": whole, "cached_input_tokens": cached, "output_tokens": output}
    return event("event_msg", type="token_count", info={"last_token_usage": usage})


ROLLOUT = [
    event("session_meta", id="r1", base_instructions={"text": "You are a tool."}),
    said("developer", "<permissions> all </permissions>"),
    said("user", "<environment_context>here</environment_context>"),
    event("turn_context", model="gpt-x"),
    said("user", "please look"),
    event("event_msg", type="user_message", message="please look"),
    item(type="reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="…"),
    said("assistant", "Looking."),
    item(type="function_call", name="exec", arguments='{"cmd":"ls"}', call_id="c1"),
    item(type="custom_tool_call", name="apply_patch", input="*** Begin", call_id="c2"),
    tokens(100, 60, 5),
    item(type="function_call_output", call_id="c1", output="a.txt"),
    item(type="custom_tool_call_output", call_id="c2", output="ok"),
    said("assistant", "There is a.txt."),
    tokens(120, 100, 6),
]


def test_items_become_messages_with_calls_and_results(tmp_path: Path) -> None:
    recording = only(put_lines(tmp_path, ROLLOUT))
    read = recording.whole()

    assert (recording.format, recording.id, recording.system) == ("codex", "r1", "You are a tool.")
    assert messages(read)[2:] == [
        {"role": "user", "content": words("please look")},
        {
            "role": "assistant",
            "content": [
                *words("Looking."),
                {"type": "tool_use", "id": "c1", "name": "exec", "input": {"cmd": "ls"}},
                {"type": "tool_use", "id": "c2", "name": "apply_patch", "input": {"input": "*** Begin"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a.txt"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2", "content": "ok"}]},
        {"role": "assistant", "content": words("There is a.txt.")},
    ]
    assert places(read) == list(range(1, len(ROLLOUT) + 1))


def test_the_original_items_stay_beside_the_message_reasoning_included(tmp_path: Path) -> None:
    answer = whole(put_lines(tmp_path, ROLLOUT)).turns[3]

    assert answer.lines == (7, 8, 9, 10)
    assert answer.original.startswith(b'[{"type": "reasoning"')
    assert b'"call_id": "c2"' in answer.original


def test_usage_counts_cached_input_once(tmp_path: Path) -> None:
    turns = whole(put_lines(tmp_path, ROLLOUT)).turns

    assert [turn.usage["input_tokens"] for turn in turns if turn.usage] == [40, 20]
    assert [turn.usage["cache_read_input_tokens"] for turn in turns if turn.usage] == [60, 100]
    assert {turn.model for turn in turns if turn.usage} == {"gpt-x"}


def test_only_what_the_user_typed_is_human(tmp_path: Path) -> None:
    turns = whole(put_lines(tmp_path, ROLLOUT)).turns

    assert [turn.human for turn in turns] == [False, False, True, False, False, False, False]
    assert [turn.is_meta for turn in turns][:3] == [True, True, False]


def test_a_compaction_tells_what_was_put_in_place(tmp_path: Path) -> None:
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "please look"}]}]
    rows = [*ROLLOUT, event("compacted", message="so far so good", replacement_history=history), said("user", "on")]

    read = whole(put_lines(tmp_path, rows))

    (compaction,) = read.compactions
    assert compaction.after_index == 7
    assert compaction.before_tokens == 120
    assert compaction.summary == "so far so good"
    assert compaction.shown == (b'{"role":"user","content":[{"type":"text","text":"please look"}]}',)


def test_a_search_at_the_provider_has_no_result_and_that_is_told(tmp_path: Path) -> None:
    rows = [
        ROLLOUT[0],
        said("user", "search"),
        item(type="web_search_call", status="completed"),
        said("assistant", "ok"),
    ]

    assert kinds(whole(put_lines(tmp_path, rows))) == ["call-without-result"]


def test_a_message_of_the_developer_between_call_and_result_comes_after_the_result(tmp_path: Path) -> None:
    rows = [
        ROLLOUT[0],
        said("user", "go"),
        item(type="function_call", name="exec", arguments="{}", call_id="c1"),
        said("developer", "note"),
        item(type="function_call_output", call_id="c1", output="out"),
    ]

    assert [turn.lines for turn in whole(put_lines(tmp_path, rows)).turns] == [(2,), (3,), (5,), (4,)]


def test_an_answer_of_reasoning_alone_says_nothing(tmp_path: Path) -> None:
    rows = [ROLLOUT[0], said("user", "go"), item(type="reasoning", summary=[])]

    read = whole(put_lines(tmp_path, rows))

    assert [each.kind for each in read.skipped] == ["session_meta", "reasoning"]
    assert len(read.turns) == 1


def test_plain_and_compressed_give_the_same(tmp_path: Path) -> None:
    path = put_lines(tmp_path, ROLLOUT)

    assert only(path).whole() == only(packed(path)).whole()
