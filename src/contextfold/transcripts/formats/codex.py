"""Rollouts of the Codex CLI: `{timestamp, type, payload}` a line, where `response_item` is what the model saw.

The other lines tell the same story for the screen, or who was billed; they are accounted for and passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from contextfold.transcripts.facts import billed_with_cache_inside, flat, kind, number, when, word
from contextfold.transcripts.pairs import settled
from contextfold.transcripts.sample import Sample
from contextfold.transcripts.session import Entry, Recording, Skipped
from contextfold.transcripts.source import JsonRow, Read, Source, fields, lines
from contextfold.transcripts.speech import Boundary, Heard, message

from .responses import Items, content_blocks

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
        meta = next((row.part("payload") for row in _metas(source)), {})

        def follow() -> Iterator[Entry]:
            return settled(_Rollout(source).heard(lines(source)))

        id = word(meta.get("id")) or word(meta.get("session_id"))
        instructions = meta.get("base_instructions") or meta.get("instructions")
        details: dict[str, object] = {
            name: meta[name] for name in ("forked_from_id", "parent_thread_id") if name in meta
        }
        yield Recording(source.name, NAME, id, flat(instructions), follow, details)


def _metas(source: Source) -> Iterator[JsonRow]:
    first = islice((read for read in lines(source) if isinstance(read, JsonRow)), _HEAD)
    return (row for row in first if row.word("type") == "session_meta")


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
                yield self._compacted(row)
            case type_:
                if type_ == "turn_context":
                    self._items.answer_as(word(payload.get("model")))
                elif payload.get("type") == "token_count":
                    self._bill(payload.get("info"))
                yield Skipped(row.line, kind(type_, payload.get("type")))

    def _bill(self, info: object) -> None:
        usage = info.get("last_token_usage") if isinstance(info, dict) else None
        if isinstance(usage, dict):
            self._input = number(usage.get("input_tokens"))
            cached, output = usage.get("cached_input_tokens"), usage.get("output_tokens")
            self._items.bill(billed_with_cache_inside(self._input, cached, output))

    def _compacted(self, row: JsonRow) -> Boundary:
        payload = row.part("payload")
        history = payload.get("replacement_history")
        items = [item for item in history if isinstance(item, dict)] if isinstance(history, list) else []
        shown = [
            message("assistant" if item.get("role") == "assistant" else "user", blocks)
            for item in items
            if item.get("type") == "message" and (blocks := content_blocks(item.get("content")))
        ]
        return Boundary((row.line,), word(payload.get("message")), before_tokens=self._input, shown=tuple(shown))
