"""Roo Code's `ui_messages.json`: what its panel showed, which is less than what the model saw.

Useful where the other file is lost, and for what was billed. Calls and their results are text here; nothing is
paired.
"""

from __future__ import annotations

from collections.abc import Iterator

from contextfold.transcripts.answers import AnswerPart, Joining
from contextfold.transcripts.facts import billed, flat, kind, number, parsed, when
from contextfold.transcripts.pairs import settled
from contextfold.transcripts.rows import JsonRow, Read, listed
from contextfold.transcripts.sample import Sample
from contextfold.transcripts.session import Recorded, Recording, Skipped
from contextfold.transcripts.source import Source
from contextfold.transcripts.speech import Boundary, Heard, SpokenTurn, message, text

NAME = "roo-ui"
_ASSISTANT = ("text", "completion_result", "tool", "command", "followup", "use_mcp_server", "browser_action_launch")
_TYPED = ("user_feedback", "user_feedback_diff")
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
    name = NAME

    def claims(self, sample: Sample) -> bool:
        first = sample.first_item()
        return first.get("type") in ("say", "ask") and "ts" in first and first["type"] in first

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        items = sample.items
        yield Recording(source.name, NAME, "", "", lambda: settled(_Panel(source).heard(listed(source, items))))


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
            yield _compacted(row, what)
        elif not words.strip():
            yield Skipped(row.line, kind(type_, what))
        else:
            yield from self._spoken(row, kind(type_, what), what, words)

    def _spoken(self, row: JsonRow, kind_: str, what: str, words: str) -> Iterator[Heard]:
        at = when(row.value.get("ts"))
        task = what == "text" and not self._begun
        if task or what in _TYPED or what in _TOOLS:
            self._begun = True
            turn = Recorded(
                message("user", [text(words)]), (row.line,), at, human=task or what in _TYPED, original=row.raw
            )
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


def _compacted(row: JsonRow, what: str) -> Boundary:
    meta = row.part("contextCondense") or row.part("contextTruncation")
    return Boundary(
        (row.line,),
        flat(meta.get("summary")),
        before_tokens=number(meta.get("prevContextTokens")),
        kind="summary" if what == "condense_context" else "window",
    )
