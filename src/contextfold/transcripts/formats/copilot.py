"""Event logs of the Copilot CLI: `{type, data, id, timestamp}` a line.

What the model saw are the messages and the results of tools; hooks, permissions and turns are events beside them.
What subagents did is told by events that name a parent call, and is passed over with its kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from contextfold.transcripts.pairs import AnswerPart, Joining, settled
from contextfold.transcripts.sample import Sample
from contextfold.transcripts.session import Entry, Recorded, Recording, Skipped
from contextfold.transcripts.source import JsonRow, Read, Source, lines
from contextfold.transcripts.speech import (
    Boundary,
    Heard,
    SpokenTurn,
    billed,
    call,
    call_id,
    document,
    flat,
    input_object,
    kind,
    message,
    number,
    result,
    spelled,
    text,
    when,
    word,
)

NAME = "copilot"
_HEAD = 100
_OURS = ("session.start", "user.message", "assistant.message", "assistant.turn_start", "tool.execution_start")


class Copilot:
    """The reader of `~/.copilot/session-state/*/events.jsonl`."""

    __slots__ = ()
    name = NAME

    def claims(self, sample: Sample) -> bool:
        return any(row.get("type") in _OURS and isinstance(row.get("data"), dict) for row in sample.rows)

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        del sample
        head = list(islice((read for read in lines(source) if isinstance(read, JsonRow)), _HEAD))
        start = next((row.part("data") for row in head if row.word("type") == "session.start"), {})
        systems = [flat(row.part("data").get("content")) for row in head if row.word("type") == "system.message"]

        def follow() -> Iterator[Entry]:
            return settled(_Events(source, word(start.get("selectedModel"))).heard(lines(source)))

        yield Recording(source.name, NAME, word(start.get("sessionId")), "\n\n".join(systems), follow)


class _Events:
    """The events of one session as they come."""

    def __init__(self, source: Source, model: str) -> None:
        self._source, self._model = source, model
        self._joining = Joining()
        self._key, self._asked = "", frozenset[str]()

    def heard(self, reads: Iterator[Read]) -> Iterator[Heard]:
        for read in reads:
            if isinstance(read, JsonRow):
                yield from self._row(read, read.part("data"))
            else:
                yield read
        yield from self._joining.flush()

    def _row(self, row: JsonRow, data: dict[str, Any]) -> Iterator[Heard]:
        type_ = row.word("type")
        if data.get("parentToolCallId"):
            yield Skipped(row.line, kind("subagent", type_))
            return
        match type_:
            case "user.message":
                yield from self._said(row, data)
            case "assistant.message":
                yield from self._answered(row, data)
            case "tool.execution_start" if data.get("toolCallId") and call_id(data["toolCallId"]) not in self._asked:
                # A call that older logs tell only when it starts.
                id, at = call_id(data["toolCallId"]), when(row.value.get("timestamp"))
                block = call(id, word(data.get("toolName")), input_object(data.get("arguments")))
                key = self._key if self._joining.is_open else f"line {row.line}"
                yield from self._joining.add(
                    AnswerPart(row.line, key, (block,), type_, at, None, self._model, row.raw, (id,))
                )
            case "tool.execution_complete" if data.get("toolCallId"):
                yield from self._joining.hear(_result(row, data))
            case "session.compaction_complete" if data.get("success") is not False:
                yield from self._joining.flush()
                yield Boundary(
                    (row.line,),
                    flat(data.get("summaryContent")),
                    trigger=word(data.get("trigger")),
                    before_tokens=number(data.get("preCompactionTokens")),
                )
            case "session.truncation":
                yield from self._joining.flush()
                before = number(data.get("preTruncationTokensInMessages"))
                yield Boundary((row.line,), kind="window", before_tokens=before)
            case _:
                if type_ == "session.model_change":
                    self._model = word(data.get("newModel")) or self._model
                elif type_ == "assistant.usage":
                    counts = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
                    self._joining.bill(billed(*map(data.get, counts)))
                yield Skipped(row.line, kind(type_))

    def _said(self, row: JsonRow, data: dict[str, Any]) -> Iterator[Heard]:
        words, shown = flat(data.get("content")), flat(data.get("transformedContent"))
        words, shown = (words, shown) if words.strip() else (shown, "")
        if not words.strip():
            yield Skipped(row.line, "empty")
            return
        # What the model saw beside the words that were typed: files, the time, what the editor shows.
        added = "".join(shown.split(words, maxsplit=1)).strip()
        blocks = [text(words), document(added)] if added else [text(words)]
        at = when(row.value.get("timestamp"))
        turn = Recorded(message("user", blocks), (row.line,), at, human=True, original=row.raw)
        yield from self._joining.hear(SpokenTurn(turn))

    def _answered(self, row: JsonRow, data: dict[str, Any]) -> Iterator[Heard]:
        self._key = word(data.get("messageId")) or f"line {row.line}"
        requests = data.get("toolRequests")
        asked = [each for each in requests if isinstance(each, dict)] if isinstance(requests, list) else []
        ids = tuple(call_id(each.get("toolCallId")) for each in asked)
        self._asked = frozenset(ids)
        words = flat(data.get("content"))
        blocks = [text(words)] if words.strip() else []
        blocks += [
            call(id, word(each.get("name")), input_object(each.get("arguments")))
            for id, each in zip(ids, asked, strict=True)
        ]
        at, model = when(row.value.get("timestamp")), word(data.get("model")) or self._model
        usage = billed(0, output=data.get("outputTokens"))
        yield from self._joining.add(
            AnswerPart(row.line, self._key, tuple(blocks), "assistant.message:empty", at, usage, model, row.raw, ids)
        )


def _result(row: JsonRow, data: dict[str, Any]) -> SpokenTurn:
    id = call_id(data["toolCallId"])
    failed = data.get("success") is False
    found = data.get("error") if failed and data.get("error") else data.get("result")
    words = flat(found.get("message") or found.get("content")) if isinstance(found, dict) else flat(found)
    raw = message("user", [result(id, words or (spelled(found) if found else ""), failed)])
    at = when(row.value.get("timestamp"))
    return SpokenTurn(Recorded(raw, (row.line,), at, original=row.raw), (), ((id, row.line),))
