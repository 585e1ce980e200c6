"""Roo Code's `api_conversation_history.json`: Anthropic messages with tags for what was condensed or hidden.

Calls are often XML inside the text, with no ids: they stay as they are. A summary is a compaction and no turn;
messages it hid are turns like any other, since they were said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from contextfold.transcripts.facts import flat, when
from contextfold.transcripts.pairs import settled
from contextfold.transcripts.rows import JsonRow, Read, array, assembled, elements, fields, listed
from contextfold.transcripts.sample import Sample
from contextfold.transcripts.session import Recorded, Recording, Skipped
from contextfold.transcripts.source import Source
from contextfold.transcripts.speech import Boundary, Heard, portable, spoken, unsound

from .messages import is_silent

NAME = "roo-api"
_TYPED = ("<task>", "<feedback>", "<user_message>", "<answer>")
# What Anthropic's API takes; Roo also keeps reasoning of other providers as blocks.
_BLOCKS = ("text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking")


class RooApi:
    """The reader of `tasks/*/api_conversation_history.json`."""

    __slots__ = ()
    name = NAME

    def claims(self, sample: Sample) -> bool:
        first = sample.first_item()
        return first.get("role") in ("user", "assistant") and isinstance(first.get("ts"), int) and "content" in first

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        items = sample.items
        yield Recording(source.name, NAME, "", "", lambda: settled(_heard(source, listed(source, items))))


def _heard(source: Source, reads: Iterator[Read]) -> Iterator[Heard]:
    for read in reads:
        if not isinstance(read, JsonRow):
            yield read
        elif read.value.get("type") == "reasoning" and "content" not in read.value:
            yield Skipped(read.line, "reasoning")
        elif reason := unsound(read.value):
            yield from source.damage(read.line, reason)
        elif read.value.get("isSummary") is True:
            yield Boundary((read.line,), flat(read.value.get("content")), shown=(_portable(read)[0],))
        elif read.value.get("isTruncationMarker") is True:
            yield Boundary((read.line,), kind="window")
        elif is_silent(read.value):
            yield Skipped(read.line, "empty")
        else:
            yield _said(read)


def _said(row: JsonRow) -> Heard:
    raw, original = _portable(row)
    turn = Recorded(raw, (row.line,), when(row.value.get("ts")), human=_is_typed(row.value), original=original)
    return spoken(turn, row.value)


def _portable(row: JsonRow) -> tuple[bytes, bytes]:
    """The message as the API takes it: without tags, and without blocks that only Roo knows."""
    content = row.value.get("content")
    if not isinstance(content, list) or all(block.get("type") in _BLOCKS for block in content):
        return portable(row.raw)
    parts = fields(row.raw)
    kept = [raw for raw, block in zip(elements(parts["content"]), content, strict=True) if block.get("type") in _BLOCKS]
    return assembled({"role": parts["role"], "content": array(kept)}), row.raw


def _is_typed(value: dict[str, Any]) -> bool:
    """Roo wraps what a person typed into tags of its own."""
    content = value.get("content")
    texts = [content] if isinstance(content, str) else [flat(block) for block in content or ()]
    return value.get("role") == "user" and any(each.lstrip().startswith(_TYPED) for each in texts)
