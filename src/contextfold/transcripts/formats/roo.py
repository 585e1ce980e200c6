"""Roo Code's `api_conversation_history.json`: Anthropic messages with tags for what was condensed or hidden.

Calls are often XML inside the text, with no ids: they stay as they are. A summary is a compaction and no turn;
messages it hid are turns like any other, since they were said.

Roo Code's `ui_messages.json`: what its panel showed, which is less than what the model saw.

Useful where the other file is lost, and for what was billed. Calls and their results are text here; nothing is
paired.
"""

from __future__ import annotations

from collections.abc import Iterator

from contextfold.transcripts.pairs import AnswerPart, Joining, settled
from contextfold.transcripts.sample import Sample
from contextfold.transcripts.session import Recorded, Recording, Skipped
from contextfold.transcripts.source import JsonRow, Read, Source, assembled, elements, fields, json_array, listed
from contextfold.transcripts.speech import (
    Boundary,
    Heard,
    SpokenTurn,
    billed,
    flat,
    kind,
    message,
    number,
    parsed,
    portable,
    spoken,
    text,
    unsound,
    when,
)

from .records import is_silent

API_NAME = "roo-api"
_TYPED = ("<task>", "<feedback>", "<user_message>", "<answer>")
# What Anthropic's API takes; Roo also keeps reasoning of other providers as blocks.
_BLOCKS = ("text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking")


class RooApi:
    """The reader of `tasks/*/api_conversation_history.json`."""

    __slots__ = ()
    name = API_NAME

    def claims(self, sample: Sample) -> bool:
        first = sample.first_item()
        return first.get("role") in ("user", "assistant") and isinstance(first.get("ts"), int) and "content" in first

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        items = sample.items
        yield Recording(source.name, API_NAME, "", "", lambda: settled(_heard(source, listed(source, items))))


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
            raw, original = _portable(read)
            content = read.value.get("content")
            texts = [content] if isinstance(content, str) else [flat(block) for block in content or ()]
            # Roo wraps what a person typed into tags of its own.
            human = read.value.get("role") == "user" and any(each.lstrip().startswith(_TYPED) for each in texts)
            turn = Recorded(raw, (read.line,), when(read.value.get("ts")), human=human, original=original)
            yield spoken(turn, read.value)


def _portable(row: JsonRow) -> tuple[bytes, bytes]:
    """The message as the API takes it: without tags, and without blocks that only Roo knows."""
    content = row.value.get("content")
    if not isinstance(content, list) or all(block.get("type") in _BLOCKS for block in content):
        return portable(row.raw)
    parts = fields(row.raw)
    kept = [raw for raw, block in zip(elements(parts["content"]), content, strict=True) if block.get("type") in _BLOCKS]
    return assembled({"role": parts["role"], "content": json_array(kept)}), row.raw


UI_NAME = "roo-ui"
_ASSISTANT = ("text", "completion_result", "tool", "command", "followup", "use_mcp_server", "browser_action_launch")
_UI_TYPED = ("user_feedback", "user_feedback_diff")
_TOOLS = (
    "command_output",
    "mcp_server_response",
    "browser_action_result",
    "error",
    "diff_error",
    "shell_integration_warning",
)


class RooUi:
    """The reader of `tasks/*/ui_messages.json`."""

    __slots__ = ()
    name = UI_NAME

    def claims(self, sample: Sample) -> bool:
        first = sample.first_item()
        return first.get("type") in ("say", "ask") and "ts" in first and first["type"] in first

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        items = sample.items
        yield Recording(source.name, UI_NAME, "", "", lambda: settled(_Panel(source).heard(listed(source, items))))


class _Panel:
    """The entries of the panel as they come; an answer is what stands between two requests."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._joining = Joining()
        self._requests = 0
        self._usage: dict[str, int] | None = None
        self._begun = False

    def heard(self, reads: Iterator[Read]) -> Iterator[Heard]:
        for read in reads:
            if isinstance(read, JsonRow):
                yield from self._row(read)
            else:
                yield read
        yield from self._joining.flush()

    def _row(self, row: JsonRow) -> Iterator[Heard]:
        type_ = row.word("type")
        what, words = row.word(type_), row.word("text")
        if type_ not in ("say", "ask"):
            yield from self._source.damage(row.line, "an entry that neither says nor asks")
        elif what == "api_req_started":
            self._requests += 1
            self._usage = _usage(words)
            yield Skipped(row.line, kind(type_, what))
        elif what in ("condense_context", "sliding_window_truncation"):
            yield from self._joining.flush()
            meta = row.part("contextCondense") or row.part("contextTruncation")
            yield Boundary(
                (row.line,),
                flat(meta.get("summary")),
                before_tokens=number(meta.get("prevContextTokens")),
                kind="summary" if what == "condense_context" else "window",
            )
        elif not words.strip():
            yield Skipped(row.line, kind(type_, what))
        else:
            yield from self._spoken(row, kind(type_, what), what, words)

    def _spoken(self, row: JsonRow, kind_: str, what: str, words: str) -> Iterator[Heard]:
        at = when(row.value.get("ts"))
        task = what == "text" and not self._begun
        if task or what in _UI_TYPED or what in _TOOLS:
            self._begun = True
            typed = task or what in _UI_TYPED
            raw = message("user", [text(words)])
            turn = Recorded(raw, (row.line,), at, human=typed, is_output=not typed, original=row.raw)
            yield from self._joining.hear(SpokenTurn(turn))
        elif what in _ASSISTANT:
            part = AnswerPart(row.line, str(self._requests), (text(words),), kind_, at, self._usage, "", row.raw)
            yield from self._joining.add(part)
        else:
            yield Skipped(row.line, kind_)


def _usage(words: str) -> dict[str, int] | None:
    """What a request cost, as its entry says in JSON of its own."""
    said = parsed(words)
    if not isinstance(said, dict):
        return None
    return billed(said.get("tokensIn"), said.get("cacheReads"), said.get("cacheWrites"), said.get("tokensOut"))
