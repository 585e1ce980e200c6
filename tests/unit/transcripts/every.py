"""One small file of every format, invented."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping

from tests.unit.transcripts import test_claude_code, test_codex, test_plain
from tests.unit.transcripts.samples import Json, jsonl, spelled, words

PI: list[Json] = [
    {"type": "session", "version": 3, "id": "p1", "timestamp": "2026-01-02T03:04:05Z", "cwd": "/w"},
    {"type": "message", "id": "e1", "parentId": None, "message": {"role": "user", "content": "look"}},
    {
        "type": "message",
        "id": "e2",
        "parentId": "e1",
        "timestamp": "2026-01-02T03:04:06Z",
        "message": {
            "role": "assistant",
            "api": "anthropic-messages",
            "model": "claude-x",
            "usage": {"input": 3, "output": 5, "cacheRead": 7, "cacheWrite": 9},
            "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
                {"type": "text", "text": "ok"},
                {"type": "toolCall", "id": "t|1", "name": "read", "arguments": {"path": "a"}},
            ],
        },
    },
    {
        "type": "message",
        "id": "e3",
        "parentId": "e2",
        "message": {
            "role": "toolResult",
            "toolCallId": "t|1",
            "content": [{"type": "text", "text": "aaa"}],
            "isError": True,
        },
    },
    {"type": "message", "id": "e4", "parentId": "e3", "message": {"role": "user", "content": words("wrong turn")}},
    {
        "type": "message",
        "id": "e5",
        "parentId": "e3",
        "message": {"role": "bashExecution", "command": "ls", "output": "a b"},
    },
    {"type": "model_change", "id": "e6", "parentId": "e5", "modelId": "claude-y"},
    {
        "type": "compaction",
        "id": "e7",
        "parentId": "e6",
        "summary": "we looked",
        "firstKeptEntryId": "e3",
        "tokensBefore": 500,
    },
    {"type": "message", "id": "e8", "parentId": "e7", "message": {"role": "user", "content": "go on"}},
]

COPILOT: list[Json] = [
    {
        "type": "session.start",
        "data": {"sessionId": "k1", "selectedModel": "gpt-x"},
        "timestamp": "2026-01-02T03:04:05Z",
    },
    {"type": "system.message", "data": {"role": "system", "content": "You are a pilot."}},
    {"type": "user.message", "data": {"content": "fly", "transformedContent": "<now>1</now> fly"}},
    {
        "type": "assistant.message",
        "data": {
            "messageId": "m1",
            "content": "",
            "toolRequests": [{"toolCallId": "t1", "name": "view", "arguments": '{"path":"a"}'}],
        },
    },
    {"type": "tool.execution_start", "data": {"toolCallId": "t1", "toolName": "view"}},
    {"type": "tool.execution_complete", "data": {"toolCallId": "t1", "success": True, "result": {"content": "aaa"}}},
    {"type": "assistant.message", "data": {"messageId": "m2", "content": "Done.", "outputTokens": 4}},
    {"type": "assistant.message", "data": {"messageId": "m9", "content": "inner", "parentToolCallId": "t1"}},
    {
        "type": "session.compaction_complete",
        "data": {"success": True, "summaryContent": "we flew", "preCompactionTokens": 900},
    },
    {"type": "session.truncation", "data": {"preTruncationTokensInMessages": 80}},
    {"type": "user.message", "data": {"content": "land"}},
]

ROO_API: list[Json] = [
    {"role": "user", "content": words("<task>\nmend it\n</task>", "<environment_details>…"), "ts": 1_700_000_000_000},
    {"role": "assistant", "content": words("<read_file><path>a</path></read_file>"), "ts": 1_700_000_001_000},
    {"role": "user", "content": words("[read_file for 'a'] Result:", "aaa"), "ts": 1_700_000_002_000},
    {"role": "assistant", "content": [{"type": "reasoning", "text": "hm"}, *words("ok")], "ts": 1_700_000_003_000},
    {"role": "user", "content": words("so far"), "ts": 1_700_000_004_000, "isSummary": True, "condenseId": "c1"},
    {"role": "user", "content": words("hidden"), "ts": 1_700_000_005_000, "isTruncationMarker": True},
    {"type": "reasoning", "role": "assistant", "encrypted_content": "…", "ts": 1_700_000_006_000},
]

ROO_UI: list[Json] = [
    {"ts": 1_700_000_000_000, "type": "say", "say": "text", "text": "mend it"},
    {
        "ts": 1_700_000_001_000,
        "type": "say",
        "say": "api_req_started",
        "text": '{"request":"…","tokensIn":5,"tokensOut":2}',
    },
    {"ts": 1_700_000_002_000, "type": "say", "say": "reasoning", "text": "hm"},
    {"ts": 1_700_000_003_000, "type": "say", "say": "text", "text": "I will look.", "partial": False},
    {"ts": 1_700_000_004_000, "type": "ask", "ask": "tool", "text": '{"tool":"readFile","path":"a"}'},
    {"ts": 1_700_000_005_000, "type": "say", "say": "command_output", "text": "aaa"},
    {"ts": 1_700_000_006_000, "type": "say", "say": "user_feedback", "text": "good"},
    {
        "ts": 1_700_000_007_000,
        "type": "say",
        "say": "condense_context",
        "contextCondense": {"summary": "so far", "prevContextTokens": 70},
    },
]

GEMINI: Json = {"scenarioId": "g1", "history": test_plain.CONTENTS, "questions": [{"id": "q", "prompt": "?"}]}

GEMINI_CHAT: Json = {
    "sessionId": "g2",
    "projectHash": "x",
    "messages": [
        {"id": "1", "type": "user", "content": "weather?", "timestamp": "2026-01-02T03:04:05Z"},
        {
            "id": "2",
            "type": "gemini",
            "content": "Looking.",
            "model": "gemini-x",
            "tokens": {"input": 10, "cached": 4, "output": 2},
            "thoughts": [{"subject": "hm"}],
            "toolCalls": [
                {
                    "id": "w-1",
                    "name": "w",
                    "args": {"city": "Oslo"},
                    "result": [{"functionResponse": {"id": "w-1", "name": "w", "response": {"output": "rain"}}}],
                    "status": "success",
                }
            ],
        },
        {"id": "3", "type": "info", "content": "cancelled"},
        {"id": "4", "type": "gemini", "content": "Rain."},
    ],
}

SWE_AGENT: Json = {
    "environment": "swe_main",
    "trajectory": [{"action": "ls", "observation": "a"}],
    "history": [
        {"role": "system", "content": "Solve it.", "agent": "primary"},
        {"role": "user", "content": "A demonstration", "agent": "primary", "is_demo": True},
        {"role": "user", "content": "ISSUE: broken", "agent": "primary"},
        {"role": "assistant", "content": "ls\n```\nls\n```", "thought": "ls", "action": "ls", "agent": "primary"},
        {"role": "user", "content": "a.py", "agent": "primary"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}],
        },
        {"role": "tool", "content": words("done"), "tool_call_ids": ["t1"], "agent": "primary"},
    ],
    "info": {"exit_status": "submitted"},
}

TAU: list[Json] = [
    {"task_id": 3, "trial": 1, "reward": 1.0, "traj": test_plain.OPENAI},
    {"task_id": 4, "trial": 0, "reward": 0.0, "traj": test_plain.OPENAI[:2]},
]

TAU2: Json = {
    "info": {"environment_info": {"policy": "Be kind."}, "agent_info": {"llm": "gpt-x"}},
    "tasks": [],
    "simulations": [
        {
            "id": "sim1",
            "task_id": "7",
            "messages": [
                {"role": "assistant", "content": "Hi!", "usage": None},
                {"role": "user", "content": "no signal"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "t1", "name": "find", "arguments": {"n": 1}, "requestor": "assistant"}],
                    "usage": {"prompt_tokens": 50, "completion_tokens": 4},
                    "timestamp": "2026-01-02T03:04:05.1",
                },
                {"id": "t1", "role": "tool", "content": "found", "requestor": "assistant"},
                {"role": "user", "content": None, "tool_calls": [{"id": "u1", "name": "toggle", "arguments": {}}]},
                {"id": "u1", "role": "tool", "content": "toggled", "requestor": "user"},
            ],
        }
    ],
}

OPENHANDS: Json = {
    "messages": test_plain.OPENAI[:2],
    "kwargs": {},
    "context_window": 1000,
    "cost": 0.1,
    "timestamp": 1_700_000_000.5,
    "response": {
        "id": "chat1",
        "model": "gpt-x",
        "choices": [{"message": {"role": "assistant", "content": "Rain.", "function_call": None}}],
        "usage": {"prompt_tokens": 30, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 10}},
    },
}

LONGMEMEVAL: list[Json] = [
    {
        "question_id": "q1",
        "question": "Which dog?",
        "answer": "a terrier",
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "bad date"],
        "haystack_session_ids": ["s1", "s2"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "I got a terrier", "has_answer": True},
                {"role": "assistant", "content": "Nice!", "has_answer": False},
            ],
            [{"role": "user", "content": "Hello again"}],
        ],
    }
]

DIALOGUE: Json = {
    "meta": {"id": {"id": "asdc.1"}, "area": "島根県"},
    "utterances": [
        {"id": {"id": "asdc.1.0"}, "name": "operator_1", "text": "ご宿泊のご相談を承ります。", "time": 0.0},
        {"id": {"id": "asdc.1.1"}, "name": "customer_1", "text": "海の近くがいいです。", "time": 3.5},
    ],
}


def tar(members: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


FILES: Mapping[str, bytes] = {
    "claude-code": jsonl(test_claude_code.SESSION + test_claude_code.COMPACTED),
    "codex": jsonl(test_codex.ROLLOUT),
    "pi": jsonl(PI),
    "copilot": jsonl(COPILOT),
    "roo-api": spelled(ROO_API),
    "roo-ui": spelled(ROO_UI),
    "gemini": spelled(GEMINI),
    "gemini chat": spelled(GEMINI_CHAT),
    "swe-agent": spelled(SWE_AGENT),
    "tau-bench": spelled(TAU),
    "tau2-bench": spelled(TAU2),
    "openhands": spelled(OPENHANDS),
    "longmemeval": spelled(LONGMEMEVAL),
    "asdc": tar({"001.json": spelled(DIALOGUE), "002.json": spelled(DIALOGUE)}),
    "asdc alone": spelled(DIALOGUE),
    "plain anthropic": jsonl(test_plain.ANTHROPIC),
    "plain chat": spelled(test_plain.OPENAI),
    "plain items": jsonl(test_plain.ITEMS),
    "plain contents": spelled({"contents": test_plain.CONTENTS}),
}
