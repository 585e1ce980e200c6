"""Sessions of the pi coding agent: entries a line, a tree by `parentId` since version 2, linear before.

Blocks are pi's own (`text`, `thinking`, `toolCall`) and are written as Anthropic blocks; thinking only where it
carries Anthropic's signature. A compaction names the first entry it kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from contextfold.domain import decode, encode, is_typed
from contextfold.transcripts.pairs import settled
from contextfold.transcripts.sample import Sample
from contextfold.transcripts.session import Defect, Recorded, Recording, Skipped
from contextfold.transcripts.source import JsonRow, Source, fields, lines
from contextfold.transcripts.speech import (
    Boundary,
    Heard,
    SpokenTurn,
    billed,
    call,
    call_id,
    flat,
    input_object,
    kind,
    message,
    number,
    picture,
    result,
    text,
    when,
    word,
)
from contextfold.transcripts.tree import Branches, Growing, Node

NAME = "pi"
_ROLES = (
    "user",
    "assistant",
    "toolResult",
    "bashExecution",
    "custom",
    "hookMessage",
    "branchSummary",
    "compactionSummary",
)
_SAID = ("message", "compaction", "branch_summary", "custom_message")


class Pi:
    """The reader of `~/.pi/agent/sessions/**/*.jsonl`."""

    __slots__ = ()
    name = NAME

    def claims(self, sample: Sample) -> bool:
        for row in sample.rows:
            type_, inside = row.get("type"), row.get("message")
            is_header = type_ == "session" and "id" in row and bool({"cwd", "version", "modelId"} & row.keys())
            if is_header or (type_ == "message" and isinstance(inside, dict) and inside.get("role") == "toolResult"):
                return True
        return False

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        del sample
        index = _indexed(source)
        for number_, root in enumerate(index.branches.conversations or (0,)):
            name = source.name if not number_ else f"{source.name}#{root}"
            yield Recording(name, NAME, index.id, "", _PiLines(source, index, root).follow)


class _Index(Struct, frozen=True):
    """What the first pass found: the session's id, its tree, and the lines of entries that compactions kept from."""

    id: str
    branches: Branches
    kept: dict[str, int]


def _indexed(source: Source) -> _Index:
    growing, id = Growing(), ""
    wanted: set[str] = set()
    for read in lines(source):
        if isinstance(read, Defect):
            continue
        if not isinstance(read, JsonRow):
            growing.add(None)
            continue
        type_ = read.word("type")
        is_header = type_ == "session"
        growing.add(None if is_header else Node(read.word("id"), read.word("parentId"), said=type_ in _SAID))
        id = id or (read.word("id") if is_header else "")
        wanted.add(read.word("firstKeptEntryId"))
    wanted.discard("")
    rows = (read for read in lines(source) if isinstance(read, JsonRow)) if wanted else ()
    kept = {row.word("id"): row.line for row in rows if row.word("id") in wanted}
    return _Index(id, growing.settle(), kept)


class _PiLines:
    """The second pass over one conversation."""

    def __init__(self, source: Source, index: _Index, root: int) -> None:
        self._source, self._index, self._root = source, index, root

    def follow(self) -> Iterator[Any]:
        return settled(self._heard())

    def _heard(self) -> Iterator[Heard]:
        branches = self._index.branches
        for read in lines(self._source):
            if read.line > branches.lines:
                return
            if branches.owner(read.line) == self._root:
                yield from self._read(read) if isinstance(read, JsonRow) else (read,)

    def _read(self, row: JsonRow) -> Iterator[Heard]:
        branches = self._index.branches
        if branches.is_orphan(row.line):
            yield Defect(row.line, "missing-parent", "the entry it follows is not in this file")
        if branches.is_repeated(row.line):
            yield Skipped(row.line, "repeated")
        elif row.word("type") not in _SAID:
            yield Skipped(row.line, kind(row.word("type")))
        elif not branches.is_live(row.line):
            yield Skipped(row.line, "abandoned")
        elif row.word("type") == "compaction":
            index, first = row.value.get("firstKeptEntryIndex"), row.word("firstKeptEntryId")
            place = number(index) + 1 if isinstance(index, int) else 0
            kept = self._index.kept.get(first, 0) if first else place
            before = number(row.value.get("tokensBefore"))
            yield Boundary((row.line,), row.word("summary"), kept, before_tokens=before)
        elif row.word("type") == "message":
            yield from self._message(row)
        else:
            yield from _noted(row, row.value, flat(row.value.get("summary") or row.value.get("content")))

    def _message(self, row: JsonRow) -> Iterator[Heard]:
        value, at = row.part("message"), when(row.value.get("timestamp"))
        match value.get("role"):
            case "user" if blocks := _blocks(value.get("content")):
                human = is_typed(flat(value.get("content")))
                turn = Recorded(message("user", blocks), (row.line,), at, human=human, original=_original(row))
                yield SpokenTurn(turn)
            case "user":
                yield Skipped(row.line, "empty")
            case "assistant":
                yield from _answered(row, value)
            case "toolResult":
                id = call_id(value.get("toolCallId"))
                content = [decode(block) for block in _blocks(value.get("content"))]
                raw = message("user", [result(id, content, value.get("isError") is True)])
                yield SpokenTurn(Recorded(raw, (row.line,), at, original=_original(row)), (), ((id, row.line),))
            case "bashExecution" if value.get("excludeFromContext") is True:
                yield Skipped(row.line, "bashExecution:excluded")
            case "bashExecution":
                yield from _noted(row, value, f"$ {flat(value.get('command'))}\n{flat(value.get('output'))}")
            case role if role in _ROLES:
                yield from _noted(row, value, flat(value.get("content") or value.get("summary")))
            case _:
                yield from self._source.damage(row.line, "a message without a known role")


def _original(row: JsonRow) -> bytes:
    found = fields(row.raw).get("message")
    return bytes(found) if found is not None else row.raw


def _noted(row: JsonRow, value: dict[str, Any], words: str) -> Iterator[Heard]:
    """Something the product shows the model in the user's name."""
    if not words.strip():
        yield Skipped(row.line, "empty")
        return
    at = when(row.value.get("timestamp"))
    ran = value.get("role") == "bashExecution"  # a command that the user ran, with what it printed
    raw = message("user", [text(words)])
    yield SpokenTurn(Recorded(raw, (row.line,), at, is_meta=not ran, is_output=ran, original=_original(row)))


def _answered(row: JsonRow, value: dict[str, Any]) -> Iterator[Heard]:
    signed = word(value.get("api")).startswith("anthropic")
    content = value.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": flat(content)}]
    blocks = [block for part in parts if (block := _block(part, signed)) is not None]
    if not blocks:
        yield Skipped(row.line, kind("assistant", "empty"))
        return
    usage: Any = value.get("usage")
    used = usage if isinstance(usage, dict) else {}
    turn = Recorded(
        message("assistant", blocks),
        (row.line,),
        when(row.value.get("timestamp")),
        billed(used.get("input"), used.get("cacheRead"), used.get("cacheWrite"), used.get("output")),
        word(value.get("model")),
        original=_original(row),
    )
    calls = [call_id(part.get("id")) for part in parts if isinstance(part, dict) and part.get("type") == "toolCall"]
    yield SpokenTurn(turn, tuple((id, row.line) for id in calls))


def _blocks(content: object) -> list[bytes]:
    if isinstance(content, str):
        return [text(content)] if content.strip() else []
    parts = content if isinstance(content, list) else []
    return [block for part in parts if (block := _block(part, signed=False)) is not None]


def _block(part: object, signed: bool) -> bytes | None:
    match part:
        case {"type": "text", "text": str(words)}:
            return text(words) if words.strip() else None
        case {"type": "image", "data": str(data), "mimeType": str(media_type)}:
            return picture(f"data:{media_type};base64,{data}")
        case {"type": "toolCall", **given}:
            return call(call_id(given.get("id")), word(given.get("name")), input_object(given.get("arguments")))
        case {"type": "thinking", "thinking": str(words), "thinkingSignature": str(proof)} if signed and proof:
            return encode({"type": "thinking", "thinking": words, "signature": proof})
        case _:
            return None
