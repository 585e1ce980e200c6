"""The providers' own ways of shortening a conversation, with their rules: signed, declared, bound to their model."""

from typing import Any

import pytest

from contextfold.testing.server import Call, Say, StrictServer

from .conftest import Post

DEMAND, THRESHOLD, EDITING = "compact-2026-09-04", "compact-2026-01-12", "context-management-2025-06-27"
TOOLS = [{"name": "read", "input_schema": {"type": "object"}}]
BODY: dict[str, Any] = {"model": "claude-sonnet-5-5", "max_tokens": 500, "tools": TOOLS}


def said(*pairs: int, words: int = 10) -> list[dict[str, Any]]:
    """A user's question, then a call and its result for each number."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read them."}]
    for number in pairs:
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": f"{number}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"{number} " * words}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return messages


def compact(post: Post, messages: list[dict[str, Any]], **more: Any) -> Any:
    body = {**BODY, "messages": messages, "compaction": {"type": "summarize"}, **more}
    return post("anthropic", body, anthropic_beta=DEMAND).json()


def error(answer: Any) -> str:
    return str(answer["error"]["message"])


def test_on_demand_the_answer_is_a_signed_block_alone(post: Post, server: StrictServer) -> None:
    server.answer("They were read.")
    answer = compact(post, said(1, 2))
    assert answer["stop_reason"] == "compaction"
    assert [block["type"] for block in answer["content"]] == ["compaction"]
    assert answer["content"][0]["content"] == "They were read."
    assert answer["usage"]["iterations"][0]["type"] == "compaction"


def test_the_block_takes_the_place_of_what_it_summarizes(post: Post) -> None:
    block = compact(post, said(1, 2, 3, words=500))["content"]
    tail = [{"role": "assistant", "content": block}, {"role": "user", "content": "Go on."}]
    body = {**BODY, "messages": tail}
    answer = post("anthropic", body, anthropic_beta=DEMAND)
    assert answer.status_code == 200, answer.text
    assert answer.json()["usage"]["input_tokens"] < 100
    assert "declared again" in error(post("anthropic", body).json())
    other = {**body, "model": "claude-opus-5"}
    assert "another model" in error(post("anthropic", other, anthropic_beta=DEMAND).json())
    block[0]["content"] += " And deleted."
    assert "Invalid `signature` in `compaction`" in error(post("anthropic", body, anthropic_beta=DEMAND).json())


def test_a_result_whose_call_was_compacted_away_is_an_orphan(post: Post) -> None:
    block = compact(post, said(1))["content"]
    body = {**BODY, "messages": [{"role": "assistant", "content": block}, said(1)[2]]}
    assert "unexpected `tool_use_id`" in error(post("anthropic", body, anthropic_beta=DEMAND).json())


def test_open_calls_cannot_be_compacted(post: Post) -> None:
    assert "open tool calls" in error(compact(post, said(1, 2)[:-1]))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"compaction": {"type": "shrink"}}, "'summarize'"),
        ({"model": "claude-sonnet-4-5"}, "not supported by this model"),
    ],
)
def test_compaction_on_demand_has_rules(post: Post, more: dict[str, Any], words: str) -> None:
    assert words in error(compact(post, said(1), **more))


def test_the_two_forms_do_not_go_together(post: Post) -> None:
    body = {**BODY, "messages": said(1), "compaction": {"type": "summarize"}}
    body["context_management"] = {"edits": [{"type": "compact_20260112"}]}
    answer = post("anthropic", body, anthropic_beta=f"{DEMAND},{THRESHOLD}").json()
    assert "cannot be combined" in error(answer)


def edited(*edits: dict[str, Any]) -> dict[str, Any]:
    return {"context_management": {"edits": list(edits)}}


def test_at_a_threshold_the_block_comes_first_and_is_billed_beside(post: Post, server: StrictServer) -> None:
    edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}
    body = {**BODY, "messages": said(1, words=90_000), **edited(edit)}
    server.answer("Going on.", "Going on.")
    answer = post("anthropic", body, anthropic_beta=THRESHOLD).json()
    assert [block["type"] for block in answer["content"]] == ["compaction", "text"]
    first, second = answer["usage"]["iterations"]
    assert (first["type"], second["type"]) == ("compaction", "message")
    assert answer["usage"]["input_tokens"] == second["input_tokens"] < 100 < first["input_tokens"]
    assert server.last.usage.input == first["input_tokens"] + second["input_tokens"]
    body["messages"] += [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": "Go on."}]
    assert post("anthropic", body, anthropic_beta=THRESHOLD).json()["usage"]["input_tokens"] < 200


def test_a_pause_after_compaction_gives_the_block_alone(post: Post) -> None:
    edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}
    body = {**BODY, "messages": said(1, words=90_000), **edited({**edit, "pause_after_compaction": True})}
    answer = post("anthropic", body, anthropic_beta=THRESHOLD).json()
    assert ([block["type"] for block in answer["content"]], answer["stop_reason"]) == (["compaction"], "compaction")
    body = {**BODY, "messages": said(1), **edited({**edit, "trigger": {"type": "input_tokens", "value": 10}})}
    assert "at least 50000" in error(post("anthropic", body, anthropic_beta=THRESHOLD).json())


def test_old_results_are_cleared_and_reported(post: Post) -> None:
    edit = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "tool_uses", "value": 4},
        "keep": {"type": "tool_uses", "value": 2},
        "clear_tool_inputs": True,
    }
    body = {**BODY, "messages": said(1, 2, 3, 4, 5, words=200), **edited(edit)}
    whole = post("anthropic", {**BODY, "messages": body["messages"]}).json()["usage"]["input_tokens"]
    answer = post("anthropic", body, anthropic_beta=EDITING).json()
    applied = answer["context_management"]["applied_edits"]
    assert [(each["type"], each["cleared_tool_uses"]) for each in applied] == [("clear_tool_uses_20250919", 3)]
    assert answer["usage"]["input_tokens"] == whole - applied[0]["cleared_input_tokens"]
    counted = post("count", {n: v for n, v in body.items() if n != "max_tokens"}, anthropic_beta=EDITING).json()
    assert counted["context_management"]["original_input_tokens"] == whole


@pytest.mark.parametrize(
    "change",
    [
        {"trigger": {"type": "tool_uses", "value": 9}},
        {"exclude_tools": ["read"]},
        {"clear_at_least": {"type": "input_tokens", "value": 90_000}},
    ],
)
def test_results_stay_when_the_edit_says_so(post: Post, change: dict[str, Any]) -> None:
    edit = {"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 1}, **change}
    body = {**BODY, "messages": said(1, 2, 3, 4, 5, words=200), **edited(edit)}
    assert post("anthropic", body, anthropic_beta=EDITING).json()["context_management"] == {"applied_edits": []}


def test_thinking_of_older_turns_can_be_cleared(post: Post, server: StrictServer) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read them."}]
    for _ in range(3):
        server.answer(Say("", (Call("read"),), thinking="Let me think about it. " * 20))
        turn = post("anthropic", {**BODY, "messages": messages}).json()["content"]
        result = {"type": "tool_result", "tool_use_id": turn[-1]["id"], "content": "x"}
        messages += [{"role": "assistant", "content": turn}, {"role": "user", "content": [result]}]
    for keep, cleared in (({"type": "thinking_turns", "value": 1}, 2), ("all", 0)):
        body = {**BODY, "messages": messages, **edited({"type": "clear_thinking_20251015", "keep": keep})}
        applied = post("anthropic", body, anthropic_beta=EDITING).json()["context_management"]["applied_edits"]
        assert sum(each["cleared_thinking_turns"] for each in applied) == cleared


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([{"type": "clear_tool_uses_20250919"}, {"type": "clear_thinking_20251015"}], "must be the first"),
        ([{"type": "shrink"}], "is not known"),
        ([{"type": "clear_tool_uses_20250919"}] * 2, "used once"),
        ([{"type": "compact_20260112"}], "requires the beta header"),
    ],
)
def test_edits_have_rules(post: Post, edits: list[dict[str, Any]], words: str) -> None:
    answer = post("anthropic", {**BODY, "messages": said(1), **edited(*edits)}, anthropic_beta=EDITING)
    assert words in error(answer.json())


# -- OpenAI ---------------------------------------------------------------------------------------------------------


def openai_items(count: int) -> list[dict[str, Any]]:
    roles = [("user", "input_text"), ("assistant", "output_text")] * count
    texts = [f"{number} " * 400 for number in range(len(roles))]
    return [
        {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        for (role, kind), text in zip(roles, texts, strict=True)
    ]


def test_inline_compaction_gives_an_item_that_hides_what_came_before(post: Post) -> None:
    edits = [{"type": "compaction", "compact_threshold": 2_000}]
    body = {"model": "gpt-6-sol", "input": openai_items(5), "context_management": edits, "store": False}
    answer = post("responses", body).json()
    assert [item["type"] for item in answer["output"]] == ["compaction", "message"]
    grown = [*body["input"], *answer["output"], {"role": "user", "content": "Go on."}]  # type: ignore[misc]
    then = post("responses", {**body, "input": grown}).json()
    assert then["usage"]["input_tokens"] < 200 < answer["usage"]["input_tokens"]
    other = post("responses", {**body, "model": "gpt-6-luna", "input": grown}).json()["error"]
    assert other["code"] == "invalid_encrypted_content"
    small = post("responses", {**body, "context_management": [{"type": "compaction", "compact_threshold": 1}]})
    assert "below minimum" in small.json()["error"]["message"]


def test_the_endpoint_gives_a_window_to_be_used_whole(post: Post) -> None:
    window = post("compact", {"model": "gpt-6-sol", "input": openai_items(5)}).json()
    assert window["object"] == "response.compaction"
    assert [item["type"] for item in window["output"]] == ["message"] * 5 + ["compaction"]
    body = {"model": "gpt-6-sol", "input": [*window["output"], {"role": "user", "content": "Go on."}]}
    assert post("responses", body).json()["usage"]["input_tokens"] > 1_000
    call = {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"}
    assert "No tool output" in post("compact", {"model": "gpt-6-sol", "input": [call]}).json()["error"]["message"]
    assert "does not support" in post("compact", {"model": "gpt-4o", "input": "Hi"}).json()["error"]["message"]
