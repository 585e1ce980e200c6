"""Requests as real agents send them: paths, headers, fields, odd ones included, with spaces as nobody expects."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

SESSION = "5f0c3b1e-1111-2222-3333-444455556666"
TOOL = {"name": "Bash", "description": "Runs a command", "input_schema": {"type": "object", "properties": {}}}


@dataclass(frozen=True)
class Shape:
    """One request of one client."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    stream: bool = True

    @property
    def raw(self) -> bytes:
        """With spaces and escapes that no encoder of ours would write."""
        return json.dumps(self.body, ensure_ascii=True, indent=1).replace("\n", " \n").encode()


SHAPES: dict[str, Shape] = {
    "Claude Code": Shape(
        "/v1/messages?beta=true",
        {
            "model": "claude-sonnet-5-5",
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "<system-reminder>\ncurrentDate: today\n</system-reminder>"},
                        {"type": "text", "text": "list the files here – だよ", "cache_control": {"type": "ephemeral"}},
                    ],
                },
                {"role": "system", "content": "Mid-conversation instructions."},
            ],
            "system": [{"type": "text", "text": "You are Claude Code.", "cache_control": {"type": "ephemeral"}}],
            "tools": [TOOL],
            "metadata": {"user_id": json.dumps({"device_id": "d", "session_id": SESSION})},
            "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
            "max_tokens": 32000,
            "stream": True,
        },
        {"x-claude-code-session-id": SESSION, "anthropic-beta": "a-1,b-2,c-3", "anthropic-version": "2023-06-01"},
    ),
    "Codex": Shape(
        "/v1/responses",
        {
            "model": "gpt-6-sol",
            "instructions": "You are Codex.",
            "input": [
                {
                    "type": "message",
                    "role": "developer",
                    "content": [{"type": "input_text", "text": "rules"}],
                    "id": "m1",
                },
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "list"}],
                    "internal_chat_message_metadata_passthrough": {"k": [1, 2]},
                },
            ],
            "tools": [{"type": "namespace", "name": "x", "tools": []}, {"type": "custom", "name": "apply_patch"}],
            "store": False,
            "stream": True,
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": SESSION,
            "client_metadata": {"z": 1, "a": 2},
        },
        {"session-id": SESSION, "thread-id": SESSION, "x-codex-window-id": f"{SESSION}:0", "originator": "codex_exec"},
    ),
    "Gemini CLI": Shape(
        "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
        {
            "contents": [
                {"role": "user", "parts": [{"text": "This is the Gemini CLI. Directory: /x"}]},
                {"role": "user", "parts": [{"text": "list the files here"}]},
            ],
            "systemInstruction": {"role": "user", "parts": [{"text": "You are an agent."}]},
            "tools": [{"functionDeclarations": [{"name": "ls", "parametersJsonSchema": {"type": "object"}}]}],
            "generationConfig": {"temperature": 1, "topP": 0.95, "thinkingConfig": {"includeThoughts": True}},
        },
        {"x-goog-api-client": "google-genai-sdk/1.2"},
    ),
    "opencode": Shape(
        "/v1/chat/completions",
        {
            "model": "gpt-6-sol",
            "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "list"}],
            "tools": [{"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}],
            "max_tokens": 32000,
            "stream": True,
            "stream_options": {"include_usage": True},
        },
        {"x-session-id": SESSION, "x-session-affinity": SESSION},
    ),
    "pi": Shape(
        "/v1/responses",
        {
            "model": "gpt-6-sol",
            "input": [
                {"role": "developer", "content": "rules"},
                {"role": "user", "content": [{"type": "input_text", "text": "x"}]},
            ],
            "stream": True,
            "prompt_cache_key": SESSION,
        },
        {"session_id": SESSION, "x-client-request-id": SESSION},
    ),
    "llm": Shape(
        "/v1/messages",
        {
            "model": "claude-sonnet-5-5",
            "max_tokens": 8192,
            "temperature": 1.0,
            "messages": [{"role": "user", "content": "list"}],
            "tools": [],
        },
        stream=False,
    ),
    "mini-swe-agent": Shape(
        "/v1/messages",
        {
            "model": "claude-sonnet-5-5",
            "max_tokens": 8192,
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "x"}]},
                {"role": "assistant", "content": [{"type": "text", "text": "y"}], "provider_specific_fields": None},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "z", "citations": None, "cache_control": {"type": "ephemeral"}}
                    ],
                },
            ],
        },
        stream=False,
    ),
    "openai-agents": Shape(
        "/v1/responses",
        {
            "model": "gpt-6-sol",
            "previous_response_id": "resp_unknown",
            "input": [
                {"type": "function_call_output", "call_id": "call_1", "output": [{"type": "input_text", "text": "o"}]}
            ],
        },
        stream=False,
    ),
    "langchain": Shape(
        "/v1beta/models/gemini-3-pro:generateContent",
        {
            "contents": [
                {"parts": [{"text": "x"}], "role": "user"},
                {"parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}], "role": "model"},
                {"parts": [{"functionResponse": {"name": "f", "response": {"r": 1}}}], "role": "user"},
            ]
        },
        stream=False,
    ),
}

ANSWERS: dict[str, bytes] = {
    "/v1/messages": (
        b'event: message_start\r\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":'
        b'"assistant","model":"claude-sonnet-5-5","content":[],"stop_reason":null,"usage":{"input_tokens":9,'
        b'"output_tokens":1}}}\r\n\r\n: a comment\r\n\r\n'
        b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":'
        b'{"type":"text","text":""}}\n\n'
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":'
        b'{"type":"text_delta","text":"\xe3\x81\xaf\xe3\x81\x84"}}\n\n'
        b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
        b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},'
        b'"usage":{"output_tokens":3}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'
    ),
    "/v1/chat/completions": (
        b'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant",'
        b'"content":"hi"}}]}\n\ndata: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},'
        b'"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    ),
    "/v1/responses": (
        b'event: response.created\ndata: {"type":"response.created","response":{"id":"r","object":"response",'
        b'"output":[]}}\n\nevent: response.completed\ndata: {"type":"response.completed","response":{"id":"r",'
        b'"object":"response","status":"completed","output":[{"type":"message","id":"m","role":"assistant",'
        b'"status":"completed","content":[{"type":"output_text","text":"hi","annotations":[]}]}]}}\n\n'
    ),
    "/v1beta": (
        b'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"he"}]}}]}\r\n\r\n'
        b'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"llo"}]},"finishReason":"STOP"}],'
        b'"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2}}\r\n\r\n'
    ),
}


def answer_for(path: str) -> bytes:
    """A stream that a provider might send, line ends and comments mixed."""
    return next(said for start, said in ANSWERS.items() if path.startswith(start))
