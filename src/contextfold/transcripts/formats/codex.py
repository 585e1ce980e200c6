"""Rollouts of the Codex CLI: `{timestamp, type, payload}` a line, where `response_item` is what the model saw.

The other lines tell the same story for the screen, or who was billed; they are accounted for and passed over. What the
model saw are items of the Responses API by OpenAI, told here as messages in the form of Anthropic; the items themselves
are kept beside them. Reasoning is bound to the provider that wrote it, so it stays in the original and is no part of
the message. Searches that ran at the provider have no result in any log; that is told, not made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from contextfold.domain import decode, is_typed
from contextfold.transcripts.pairs import AnswerPart, Joining, settled
from contextfold.transcripts.sample import Sample
from contextfold.transcripts.session import Defect, Entry, Recorded, Recording, Skipped
from contextfold.transcripts.source import JsonRow, Read, Source, fields, lines
from contextfold.transcripts.speech import (
    Boundary,
    Heard,
    SpokenTurn,
    billed_with_cache_inside,
    call,
    call_id,
    document,
    flat,
    input_object,
    kind,
    message,
    number,
    picture,
    result,
    spelled,
    text,
    when,
    word,
)

_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "mcp_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output")
_SILENT = ("reasoning", "web_search_call", "file_search_call", "image_generation_call", "code_interpreter_call")
_NATIVE_SPACE = "functions"  # the namespace of the client's own tools
_AT_PROVIDER = ("web_search_call", "file_search_call", "image_generation_call")


def is_item(value: object) -> bool:
    """Whether a value is an item of the Responses API and not a message of another one."""
    if not isinstance(value, dict):
        return False
    what = value.get("type")
    if what == "message":
        content = value.get("content")
        return isinstance(content, list) and any(
            isinstance(part, dict) and part.get("type") in ("input_text", "output_text") for part in content
        )
    return what in (*_CALLS, *_OUTPUTS, *_SILENT)


class Items:
    """Items coming in one by one; an answer of the model is the run of its items."""

    def __init__(self) -> None:
        self._joining = Joining()
        self._run = 0
        self.model = ""

    def answer_as(self, model: str) -> None:
        """Whatever the model says from here on, this one says; an empty name changes nothing."""
        self.model = model or self.model

    def take(self, line: int, item: dict[str, Any], raw: bytes, at: float | None) -> Iterator[Heard]:
        what, role, content = item.get("type"), item.get("role"), item.get("content")
        if what == "message" and role != "assistant":
            blocks = content_blocks(content, unread=document)
            if not blocks:
                yield Skipped(line, "empty")
                return
            parts = content if isinstance(content, list) else [content]
            human = role == "user" and any(is_typed(flat(part)) for part in parts)
            turn = Recorded(message("user", blocks), (line,), at, is_meta=not human, human=human, original=raw)
            yield from self._joining.hear(SpokenTurn(turn))
        elif what in _OUTPUTS:
            id = call_id(item.get("call_id") or item.get("id"))
            found = item.get("output") if "output" in item else item.get("tools")
            said = (
                found if isinstance(found, str) else [decode(block) for block in content_blocks(found)] or flat(found)
            )
            turn = Recorded(message("user", [result(id, said)]), (line,), at, original=raw)
            yield from self._joining.hear(SpokenTurn(turn, (), ((id, line),)))
        elif what == "message" or what in _CALLS or what in _SILENT:
            yield from self._answer(line, item, raw, at)
        else:
            yield Skipped(line, kind("item", what))

    def bill(self, usage: dict[str, int] | None) -> None:
        self._joining.bill(usage)

    def flush(self) -> Iterator[Heard]:
        return self._joining.flush()

    def _answer(self, line: int, item: dict[str, Any], raw: bytes, at: float | None) -> Iterator[Heard]:
        if self._joining.has_answers or self._joining.is_billed:
            yield from self._joining.flush()
        if not self._joining.is_open:
            self._run += 1
        what = word(item.get("type"))
        blocks: tuple[bytes, ...] = ()
        calls: tuple[str, ...] = ()
        if what == "message":
            blocks = tuple(content_blocks(item.get("content")))
        elif what in _CALLS:
            id = call_id(item.get("call_id") or item.get("id") or f"line_{line}")
            given = next((item[name] for name in ("arguments", "input", "action") if item.get(name) is not None), None)
            blocks, calls = (call(id, _full_name(item) or what, input_object(given)),), (id,)
        part = AnswerPart(line, str(self._run), blocks, what, at, None, self.model, raw, calls)
        yield from self._joining.add(part)
        if what in _AT_PROVIDER:
            yield Defect(line, "call-without-result", f"the log does not hold what the {what} found")


def _full_name(item: dict[str, Any]) -> str:
    """The name of a tool with its server, as other clients write it: a server's tool may be called like a client's."""
    name = word(item.get("name"))
    server = (word(item.get("namespace")) or word(item.get("server_label"))).rstrip("_")
    return name if server in ("", _NATIVE_SPACE) or name.startswith(f"{server}__") else f"{server}__{name}"


def content_blocks(content: object, unread: Callable[[str], bytes] = text) -> list[bytes]:
    """Parts of a content as Anthropic blocks; parts that say nothing are left out.

    `unread` makes a block of a part that is neither words nor a picture, spelled out: nobody typed that.
    """
    if not isinstance(content, str | list):
        return []
    blocks: list[bytes] = []
    for part in [content] if isinstance(content, str) else content:
        match part:
            case {"type": "input_text" | "output_text" | "text" | "summary_text", "text": str(words)}:
                pass
            case {"type": "refusal", "refusal": str(words)} | str(words):
                pass
            case {"type": "input_image" | "image_url", "image_url": str(url) | {"url": str(url)}}:
                blocks.append(picture(url))
                continue
            case _:
                if words := spelled(part):
                    blocks.append(unread(words))
                continue
        if words.strip():
            blocks.append(text(words))
    return blocks


NAME = "codex"
_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_HEAD = 20  # lines within which the session says what it is


class Codex:
    """The reader of `~/.codex/sessions/**/rollout-*.jsonl`."""

    __slots__ = ()
    name = NAME

    def claims(self, sample: Sample) -> bool:
        return any(row.get("type") in _TYPES and isinstance(row.get("payload"), dict) for row in sample.rows)

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        del sample
        head = islice((read for read in lines(source) if isinstance(read, JsonRow)), _HEAD)
        meta = next((row.part("payload") for row in head if row.word("type") == "session_meta"), {})

        def follow() -> Iterator[Entry]:
            return settled(_Rollout(source).heard(lines(source)))

        id = word(meta.get("id")) or word(meta.get("session_id"))
        instructions = meta.get("base_instructions") or meta.get("instructions")
        details: dict[str, object] = {
            name: meta[name] for name in ("forked_from_id", "parent_thread_id") if name in meta
        }
        yield Recording(source.name, NAME, id, flat(instructions), follow, details)


class _Rollout:
    """The lines of one rollout as they come."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._items = Items()
        self._input = 0

    def heard(self, reads: Iterator[Read]) -> Iterator[Heard]:
        for read in reads:
            if isinstance(read, JsonRow):
                yield from self._row(read)
            else:
                yield read
        yield from self._items.flush()

    def _row(self, row: JsonRow) -> Iterator[Heard]:
        payload = row.part("payload")
        match row.word("type"):
            case "response_item" if payload:
                raw = bytes(fields(row.raw)["payload"])
                yield from self._items.take(row.line, payload, raw, when(row.value.get("timestamp")))
            case "compacted":
                yield from self._items.flush()
                history = payload.get("replacement_history")
                items = [item for item in history if isinstance(item, dict)] if isinstance(history, list) else []
                shown = [
                    message("assistant" if item.get("role") == "assistant" else "user", blocks)
                    for item in items
                    if item.get("type") == "message" and (blocks := content_blocks(item.get("content")))
                ]
                words = word(payload.get("message"))
                yield Boundary((row.line,), words, before_tokens=self._input, shown=tuple(shown))
            case type_:
                if type_ == "turn_context":
                    self._items.answer_as(word(payload.get("model")))
                elif payload.get("type") == "token_count":
                    info = payload.get("info")
                    usage = info.get("last_token_usage") if isinstance(info, dict) else None
                    if isinstance(usage, dict):
                        self._input = number(usage.get("input_tokens"))
                        cached, output = usage.get("cached_input_tokens"), usage.get("output_tokens")
                        self._items.bill(billed_with_cache_inside(self._input, cached, output))
                yield Skipped(row.line, kind(type_, payload.get("type")))
