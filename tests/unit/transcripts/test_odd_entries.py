"""Entries that are rare, empty or wrong, format by format: what becomes of each is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextfold import transcripts
from contextfold.transcripts import Whole
from tests.unit.transcripts.every import COPILOT, GEMINI_CHAT, LONGMEMEVAL, PI, ROO_API, ROO_UI, SWE_AGENT, TAU2
from tests.unit.transcripts.samples import Json, filed, jsonl, kinds, messages, put, spelled, words
from tests.unit.transcripts.test_codex import ROLLOUT, item


def entry(**message: object) -> Json:
    return {"type": "message", "message": message}


def pi(*rows: Json) -> bytes:
    return jsonl([PI[0], *rows])


def contents(*parts: object) -> bytes:
    return spelled({"history": [{"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": list(parts)}]})


def chat(**message: object) -> bytes:
    return spelled(GEMINI_CHAT | {"messages": [*GEMINI_CHAT["messages"], message]})


def event(type_: str, **data: object) -> bytes:
    return jsonl([*COPILOT[:3], {"type": type_, "data": data}])


def tau2(**message: object) -> bytes:
    return spelled(TAU2 | {"simulations": [TAU2["simulations"][0] | {"messages": [message]}]})


def swe(**message: object) -> bytes:
    return spelled(SWE_AGENT | {"history": [message]})


def memory(turn: object) -> bytes:
    return spelled([LONGMEMEVAL[0] | {"haystack_sessions": [[turn]], "haystack_dates": None}])


SKIPPED = {
    "pi: nothing said": (pi(entry(role="user", content=" ")), "empty"),
    "pi: an answer that was cut off": (pi(entry(role="assistant", content=[])), "assistant:empty"),
    "pi: a command kept out": (
        pi(entry(role="bashExecution", command="ls", excludeFromContext=True)),
        "bashExecution:excluded",
    ),
    "pi: an empty note": (pi({"type": "custom_message", "content": ""}), "empty"),
    "pi: nobody's message": (pi(entry(role="wizard", content="x")), "damaged"),
    "pi: an id again": (pi(*[{"type": "label", "id": "l"}] * 2), "repeated"),
    "codex: nothing said": (jsonl([*ROLLOUT, item(type="message", role="user", content=[])]), "empty"),
    "codex: an unknown item": (jsonl([*ROLLOUT, item(type="ghost_snapshot")]), "item:ghost_snapshot"),
    "copilot: nothing said": (event("user.message", content=""), "empty"),
    "copilot: an empty answer": (event("assistant.message", content="", toolRequests=7), "assistant.message:empty"),
    "copilot: a compaction that failed": (
        event("session.compaction_complete", success=False),
        "session.compaction_complete",
    ),
    "roo: an empty message": (spelled([ROO_API[0], {"role": "assistant", "content": []}]), "empty"),
    "roo: no role": (spelled([ROO_API[0], {"content": "x"}]), "damaged"),
    "roo: an empty panel entry": (
        spelled([ROO_UI[0], {"type": "ask", "ask": "completion_result", "ts": 1}]),
        "ask:completion_result",
    ),
    "roo: an unknown panel entry": (spelled([ROO_UI[0], {"type": "say", "say": "spin", "text": "x"}]), "say:spin"),
    "roo: no panel entry": (spelled([ROO_UI[0], {"type": "shout"}]), "damaged"),
    "gemini: only thought": (contents({"thought": True, "text": "hm"}), "empty"),
    "gemini: no parts": (
        spelled({"history": [{"role": "user", "parts": [{"text": "x"}]}, {"role": "model"}]}),
        "damaged",
    ),
    "gemini chat: nothing said": (chat(type="user", content=""), "empty"),
    "gemini chat: an empty answer": (chat(type="gemini", content=""), "gemini:empty"),
    "gemini chat: no type": (chat(content="x"), "damaged"),
    "tau2: nothing said": (tau2(role="user", content=None), "empty"),
    "tau2: a call without an id": (tau2(role="assistant", tool_calls=[{"name": "x"}]), "damaged"),
    "swe-agent: nothing said": (swe(role="assistant", content=""), "empty"),
    "swe-agent: no role": (swe(content="x"), "damaged"),
    "longmemeval: nothing said": (memory({"role": "user", "content": ""}), "empty"),
    "longmemeval: no role": (memory({"content": "x"}), "damaged"),
    "longmemeval: no turn": (memory(7), "damaged"),
    "asdc: nobody spoke": (spelled({"meta": 7, "utterances": [{"text": "x"}]}), "damaged"),
    "asdc: nothing said": (spelled({"meta": {}, "utterances": [{"name": "customer_1", "text": " "}]}), "empty"),
}


def read(folder: Path, content: bytes) -> Whole:
    (recording,) = transcripts.read(put(folder, content))
    return recording.whole()


@pytest.mark.parametrize("case", SKIPPED)
def test_what_is_no_turn_is_skipped_by_its_kind(tmp_path: Path, case: str) -> None:
    content, kind = SKIPPED[case]

    found = read(tmp_path, content)

    assert found.skipped[-1].kind == kind
    assert ("damaged" in kinds(found)) == (kind == "damaged")


SAID = {
    "pi: a note of an extension": (pi({"type": "custom_message", "content": "note"}), words("note")),
    "pi: a branch that was left": (pi({"type": "branch_summary", "summary": "left"}), words("left")),
    "pi: an older note": (pi(entry(role="hookMessage", content="hook")), words("hook")),
    "pi: a picture": (
        pi(entry(role="user", content=[{"type": "image", "data": "aGk=", "mimeType": "image/png"}])),
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}],
    ),
    "gemini: a picture": (
        contents({"inlineData": {"mimeType": "image/bmp", "data": "aGk="}}),
        words("[picture: data:image/bmp;base64]"),
    ),
    "gemini: another part": (contents({"executableCode": {"code": "1"}}), words('{"executableCode":{"code":"1"}}')),
    "gemini: a call with an id": (
        contents({"functionCall": {"id": "c1", "name": "w"}}),
        [{"type": "tool_use", "id": "c1", "name": "w", "input": {}}],
    ),
    "gemini: an answer with an id": (
        contents(
            {"functionCall": {"id": "c1", "name": "w"}},
            {"functionResponse": {"id": "c1", "name": "w", "response": "r"}},
        ),
        [
            {"type": "tool_use", "id": "c1", "name": "w", "input": {}},
            {"type": "tool_result", "tool_use_id": "c1", "content": "r"},
        ],
    ),
    "codex: a picture elsewhere": (
        jsonl(
            [
                *ROLLOUT,
                item(type="message", role="user", content=[{"type": "input_image", "image_url": "https://x/y.png"}]),
            ]
        ),
        [{"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}],
    ),
    "codex: a refusal": (
        jsonl([*ROLLOUT, item(type="message", role="assistant", content=[{"type": "refusal", "refusal": "no"}])]),
        words("no"),
    ),
    "codex: an unknown part": (
        jsonl([*ROLLOUT, item(type="message", role="user", content=[{"type": "input_sound", "sound": 1}])]),
        [filed('{"type":"input_sound","sound":1}')],
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_what_is_rare_is_still_said(tmp_path: Path, case: str) -> None:
    content, blocks = SAID[case]

    assert messages(read(tmp_path, content))[-1]["content"] == blocks


def test_usage_that_copilot_logs_apart_belongs_to_the_answer_before(tmp_path: Path) -> None:
    rows = [
        *COPILOT[:3],
        {"type": "session.model_change", "data": {"newModel": "gpt-y"}},
        {"type": "assistant.message", "data": {"messageId": "m", "content": "hi"}},
        {"type": "assistant.usage", "data": {"inputTokens": 5, "outputTokens": 2, "cacheReadTokens": 3}},
    ]

    last = read(tmp_path, jsonl(rows)).turns[-1]

    assert last.model == "gpt-y"
    assert last.usage is not None
    assert (last.usage["input_tokens"], last.usage["cache_read_input_tokens"]) == (5, 3)


def test_results_of_a_gemini_chat_are_read_in_every_shape(tmp_path: Path) -> None:
    shapes = ["text", {"text": "part"}, {"functionResponse": {"response": {"n": 1}}}, 7]
    calls = [{"name": "w", "result": shapes, "status": "error"}, {"name": "w", "result": "bare"}]

    found = read(tmp_path, chat(type="gemini", content="", toolCalls=calls))

    first, second = found.turns[-1].message["content"]
    assert first["content"] == 'text\npart\n{"n":1}\n7'
    assert first["is_error"] is True
    assert second["content"] == "bare"
