"""Conversations in which one field is very long, for each field of each dialect, and every verb done to them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

import contextfold as cf
from contextfold.dialects import find
from contextfold.gateway import GatewaySettings, spaces_in
from contextfold.gateway.door import Visit
from contextfold.gateway.families import Asking
from contextfold.gateway.ledger import Ledger
from tests.unit.inspector.visitor import inspector_of

MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "openai-chat": "gpt-4o",
    "openai-responses": "gpt-5.2",
    "gemini": "gemini-3-pro",
}
SHAPES = {
    "one word": "a",
    "slashes": "a/",
    "absolute path": "/a",
    "lines": "\n",
    "short lines": "ok 1\n",
    "opening tags": "<a>",
    "reminders": "<system-reminder>",
    "brackets": "[",
    "braces": '{"a":',
    "quotes": '"',
    "backslashes": "\\",
    "blanks": " ",
    "digits": "7",
    "base64": "QUJD",
    "ideographs": "日本。",
    "emoji": "👩‍👩‍👧",
    "combining marks": "e\u0301\u0301",
    "dashes": "- ",
    "fences": "```\n",
    "dots": "a.b ",
    "numbered blocks": "<t#>x</t#>\n",
    "numbered closings": "</t#>\n",
    "numbered paths": "/a#/b.py ",
    "numbered sentences": "Never touch a#. ",
}
ENDINGS = {"numbered blocks": "<user_query>x</user_query>"}
Body = dict[str, Any]  # a request: messages, and perhaps tools and a system prompt
Field = Callable[[str], Body]


def _anthropic() -> Iterator[tuple[str, Field]]:
    def said(*content: Any, role: str = "user") -> Body:
        return {"messages": [{"role": role, "content": list(content)}]}

    def called(call: Mapping[str, Any], result: Mapping[str, Any] | None = None) -> Body:
        use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}, **call}
        back = {"type": "tool_result", "tool_use_id": use["id"], "content": "done", **(result or {})}
        return {
            "messages": [
                {"role": "user", "content": "Look at it."},
                {"role": "assistant", "content": [{"type": "text", "text": "I look."}, use]},
                {"role": "user", "content": [back]},
            ]
        }

    def picture(**source: str) -> dict[str, Any]:
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K", **source}}

    yield "role", lambda text: {"messages": [{"role": text, "content": "hi"}]}
    yield "words", lambda text: {"messages": [{"role": "user", "content": text}]}
    yield "text", lambda text: said({"type": "text", "text": text})
    yield "answer", lambda text: said({"type": "text", "text": text}, role="assistant")
    yield "kind", lambda text: said({"type": text})
    yield "unknown field", lambda text: said({"type": "text", "text": "hi", "further": text})
    yield "unknown block", lambda text: said({"type": "odd", "further": {"a": [text]}})
    yield "cache mark", lambda text: said({"type": "text", "text": "hi", "cache_control": {"type": text}})
    yield "citation", lambda text: said({"type": "text", "text": "hi", "citations": [{"cited_text": text}]})
    yield "call id", lambda text: called({"id": text})
    yield "tool name", lambda text: called({"name": text})
    yield "file path", lambda text: called({"input": {"file_path": text}})
    yield "two file paths", lambda text: called({"input": {"file_path": f"/{text}", "path": f"/{text}b"}})
    yield "command", lambda text: called({"name": "Bash", "input": {"command": text}})
    yield "url", lambda text: called({"name": "WebFetch", "input": {"url": f"https://{text}"}})
    yield "argument's name", lambda text: called({"input": {text: 1}})
    yield "result", lambda text: called({}, {"content": text})
    yield "failed result", lambda text: called({}, {"content": [{"type": "text", "text": text}], "is_error": True})
    yield "media type", lambda text: said(picture(media_type=text))
    yield "data", lambda text: said(picture(data=text))
    yield "picture's url", lambda text: said({"type": "image", "source": {"type": "url", "url": text}})
    yield "document", lambda text: said({"type": "document", "title": text, "source": {"type": "text", "data": text}})
    yield "thought", lambda text: said({"type": "thinking", "thinking": text, "signature": "s"}, role="assistant")
    yield "signature", lambda text: said({"type": "thinking", "thinking": "t", "signature": text}, role="assistant")
    yield "sealed thought", lambda text: said({"type": "redacted_thinking", "data": text}, role="assistant")
    yield "system", lambda text: {**said({"type": "text", "text": "hi"}), "system": text}
    schema = {"type": "object", "properties": {}}
    yield (
        "tool's description",
        lambda text: {
            **said({"type": "text", "text": "hi"}),
            "tools": [{"name": "f", "description": text, "input_schema": schema}],
        },
    )
    yield (
        "tool's schema",
        lambda text: {
            **said({"type": "text", "text": "hi"}),
            "tools": [{"name": "f", "input_schema": {"type": "object", "properties": {text: {"pattern": text}}}}],
        },
    )


def _chat() -> Iterator[tuple[str, Field]]:
    def called(result: str = "done", **call: str) -> Body:
        function = {"name": call.get("name", "run"), "arguments": call.get("arguments", "{}")}
        made = {"id": call.get("id", "t1"), "type": "function", "function": function}
        return {
            "messages": [
                {"role": "user", "content": "Look."},
                {"role": "assistant", "content": None, "tool_calls": [made]},
                {"role": "tool", "tool_call_id": made["id"], "content": result},
            ]
        }

    def said(**fields: Any) -> Body:
        return {"messages": [{"role": "user", "content": "hi", **fields}]}

    yield "words", lambda text: said(content=text)
    yield "role", lambda text: said(role=text)
    yield "name", lambda text: said(name=text)
    yield "unknown field", lambda text: said(further=text)
    yield "arguments", lambda text: called(arguments=text)
    yield "argument", lambda text: called(arguments=msgspec.json.encode({"path": text, "command": text}).decode())
    yield "call id", lambda text: called(id=text)
    yield "tool name", lambda text: called(name=text)
    yield "result", lambda text: called(text)
    yield "picture's url", lambda text: said(content=[{"type": "image_url", "image_url": {"url": text}}])
    yield (
        "picture's data",
        lambda text: said(content=[{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{text}"}}]),
    )
    yield "thought", lambda text: said(role="assistant", reasoning_content=text)
    yield "refusal", lambda text: said(role="assistant", refusal=text)
    yield "system", lambda text: {"messages": [{"role": "system", "content": text}, {"role": "user", "content": "hi"}]}


def _responses() -> Iterator[tuple[str, Field]]:
    ask = {"type": "message", "role": "user", "content": "Look."}

    def called(output: str = "done", **call: str) -> Body:
        made = {"type": "function_call", "call_id": "t1", "name": "run", "arguments": "{}", **call}
        return {"input": [ask, made, {"type": "function_call_output", "call_id": made["call_id"], "output": output}]}

    yield "words", lambda text: {"input": [{**ask, "content": text}]}
    yield "input", lambda text: {"input": [{**ask, "content": [{"type": "input_text", "text": text}]}]}
    yield "picture", lambda text: {"input": [{**ask, "content": [{"type": "input_image", "image_url": text}]}]}
    yield "item's kind", lambda text: {"input": [ask, {"type": text}]}
    yield "arguments", lambda text: called(arguments=text)
    yield "command", lambda text: called(arguments=msgspec.json.encode({"command": ["bash", "-lc", text]}).decode())
    yield "call id", lambda text: called(call_id=text)
    yield "tool name", lambda text: called(name=text)
    yield "result", called
    summary = [{"type": "summary_text", "text": "t"}]
    yield "thought", lambda text: {"input": [ask, {"type": "reasoning", "summary": [{**summary[0], "text": text}]}]}
    yield "sealed", lambda text: {"input": [ask, {"type": "reasoning", "summary": summary, "encrypted_content": text}]}
    yield "system", lambda text: {"input": [ask], "instructions": text}


def _gemini() -> Iterator[tuple[str, Field]]:
    def said(part: Mapping[str, Any], role: str = "user") -> Body:
        return {"contents": [{"role": role, "parts": [part]}]}

    def called(args: Mapping[str, Any], response: Mapping[str, Any], **call: str) -> Body:
        made = {"functionCall": {"name": call.get("name", "run"), "args": args}}
        back = {"functionResponse": {"name": call.get("name", "run"), "response": response}}
        turns = [("user", {"text": "Look."}), ("model", made), ("user", back)]
        return {"contents": [{"role": role, "parts": [part]} for role, part in turns]}

    yield "text", lambda text: said({"text": text})
    yield "thought", lambda text: said({"text": text, "thought": True}, "model")
    yield "signature", lambda text: said({"text": "hi", "thoughtSignature": text}, "model")
    yield "data", lambda text: said({"inlineData": {"mimeType": "image/png", "data": text}})
    yield "media type", lambda text: said({"inlineData": {"mimeType": text, "data": "iVBORw0K"}})
    yield "file", lambda text: said({"fileData": {"mimeType": "text/plain", "fileUri": text}})
    yield "unknown part", lambda text: said({"odd": text})
    yield "code", lambda text: said({"executableCode": {"language": "PYTHON", "code": text}}, "model")
    yield "argument", lambda text: called({"absolute_path": text}, {"output": "done"})
    yield "tool name", lambda text: called({}, {"output": "done"}, name=text)
    yield "result", lambda text: called({}, {"output": text})
    system = {"parts": [{"text": ""}]}
    yield "system", lambda text: {**said({"text": "hi"}), "systemInstruction": {**system, "parts": [{"text": text}]}}


FIELDS: dict[str, dict[str, Field]] = {
    "anthropic": dict(_anthropic()),
    "openai-chat": dict(_chat()),
    "openai-responses": dict(_responses()),
    "gemini": dict(_gemini()),
}
LISTS = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input", "gemini": "contents"}
PATHS = {
    "anthropic": b"/v1/messages",
    "openai-chat": b"/v1/chat/completions",
    "openai-responses": b"/v1/responses",
    "gemini": b"/v1beta/models/gemini-3-pro:generateContent",
}
CASES = [(dialect, field, shape) for dialect, fields in FIELDS.items() for field in fields for shape in SHAPES]


def text_of(shape: str, size: int) -> str:
    """A text of about this size: its shape again and again, each time with a number of its own where it has a place."""
    piece, end = SHAPES[shape], ENDINGS.get(shape, "")
    if "#" not in piece:
        return piece * (size // len(piece.encode()) + 1)
    count = size // (len(piece) + 5 * piece.count("#"))
    return "".join(piece.replace("#", f"{at:06}") for at in range(count)) + end


def pass_through(dialect: str, body: Body, place: Path, run: Callable[[str, Callable[[], object]], object]) -> None:
    """Have every verb done to a conversation, each by `run`; what is refused is refused."""

    def verb(name: str, work: Callable[[], object]) -> None:
        def attempt() -> None:
            with contextlib.suppress(cf.ContextFoldError):
                work()

        run(name, attempt)

    said, model = body[LISTS[dialect]], MODELS[dialect]
    system = body.get("system") or body.get("instructions")
    with cf.open(place / "store.db") as store:
        session = cf.Session.on(store, "t", model=model, window=20_000)
        verb("append", lambda: [session.append(each, dialect=dialect) for each in said])
        for number in range(3):
            session.append({"role": "user", "content": f"Go on with step {number}."})
            session.append({"role": "assistant", "content": f"Step {number} is done."})
        session.append({"role": "user", "content": "And now?"})
        verb("prepare", lambda: session.prepare(system=system, tools=body.get("tools"), max_tokens=500))
        verb("fold", lambda: session.fold(to=400))
        verb("recall", lambda: store.recall("step done"))
        verb("export", lambda: session.export(place / "t.jsonl"))
        session.close()
        verb("inspect", lambda: asyncio.run(_inspected(place / "store.db")))
    verb("count", lambda: cf.count(said, model=model, system=system, tools=body.get("tools")))
    whole = {"model": model, "max_tokens": 100, **body}
    verb("validate", lambda: cf.validate(whole, dialect=dialect))
    verb("repair", lambda: cf.repair(whole, dialect=dialect))
    (place / "log.json").write_bytes(msgspec.json.encode(said))
    with cf.open(":memory:") as store:
        verb("import", lambda: store.import_(place / "log.json"))
    verb("gateway", lambda: _through_the_gateway(dialect, whole, place))


async def _inspected(path: Path) -> None:
    visitor = await inspector_of(path).come_in()
    try:
        for page in ("/threads", "/threads/t/newest", "/threads/t/rows", "/threads/t/gauge", "/threads/t/messages/1"):
            await visitor.get(page)
    finally:
        await visitor.inspector.close()


def _through_the_gateway(dialect: str, body: Body, place: Path) -> None:
    spoken = find(dialect)
    assert spoken.endpoint is not None
    settings = GatewaySettings(window=20_000)
    open_space = spaces_in(place / "gateway.db", settings)
    ledger = Ledger(lambda: open_space("default"), settings)
    try:
        asked = spoken.endpoint.asks("POST", PATHS[dialect])
        assert asked is not None
        envelope = spoken.endpoint.open(msgspec.json.encode(body), asked)
        ledger.take(Asking(Visit("POST", PATHS[dialect], b"", ()), spoken, spoken.endpoint, envelope))
    finally:
        ledger.close()
