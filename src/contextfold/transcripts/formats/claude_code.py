"""Sessions of Claude Code: one JSON object a line, a tree by `parentUuid`, one API message over several lines.

Two passes: the first finds the live branch, the second reads it. Side conversations of subagents are recordings of
their own. The system prompt and the tools are not in the log, so they are not here either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from contextfold.transcripts.pairs import AnswerPart, Joining, settled
from contextfold.transcripts.sample import Sample
from contextfold.transcripts.session import Defect, Entry, Recorded, Recording, Skipped
from contextfold.transcripts.source import JsonRow, Read, Source, elements, fields, lines
from contextfold.transcripts.speech import (
    Boundary,
    Heard,
    SpokenTurn,
    answers_in,
    calls_in,
    flat,
    has_typed,
    kind,
    message,
    number,
    portable,
    spoken,
    text,
    unsound,
    when,
    word,
)
from contextfold.transcripts.tree import Branches, Growing, Node

NAME = "claude-code"
_SIDES = ("user", "assistant")
_PATIENCE = 1_000  # lines that a line is held for a parent that comes later


class ClaudeCode:
    """The reader of `~/.claude/projects/*/*.jsonl`."""

    __slots__ = ()
    name = NAME

    def claims(self, sample: Sample) -> bool:
        for row in sample.rows:
            match row:
                case {"type": "summary"}:
                    is_ours = "leafUuid" in row
                case {"type": "user" | "assistant"}:
                    is_ours = isinstance(row.get("message"), dict) and ("parentUuid" in row or "sessionId" in row)
                case {"type": "file-history-snapshot"}:
                    is_ours = True
                case _:
                    is_ours = "parentUuid" in row and "sessionId" in row
            if is_ours:
                return True
        return False

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        del sample  # what it saw is read again with the rest
        ids, branches, delivered = _indexed(source)
        for number_, root in enumerate(branches.conversations or (0,)):
            session, agent = ids.get(root, ("", ""))
            apart = branches.is_apart(root)
            yield Recording(
                source.name if not number_ else f"{source.name}#{root}",
                NAME,
                f"{session}/{agent or root}" if apart else session,
                "",
                _following(source, branches, root, delivered),
                {"is_sidechain": True, "agent": agent} if apart else {},
            )


def _indexed(source: Source) -> tuple[dict[int, tuple[str, str]], Branches, frozenset[str]]:
    """The tree of the file, for each line that starts one the session and the agent it names, and what users said."""
    growing, ids, line = Growing(), {0: ("", "")}, 0
    delivered: set[str] = set()
    for read in lines(source):
        if isinstance(read, Defect):
            continue
        line = read.line
        growing.add(_node(read) if isinstance(read, JsonRow) else None)
        if isinstance(read, JsonRow) and read.word("type") == "user":
            content = read.part("message").get("content")
            blocks = content if isinstance(content, list) else [content]
            texts = (flat(block.get("text") if isinstance(block, dict) else block).strip() for block in blocks)
            delivered.update(filter(None, texts))
        if isinstance(read, JsonRow) and (not read.word("parentUuid") or line < _PATIENCE):
            ids[line] = (read.word("sessionId"), read.word("agentId"))
    branches = growing.settle()
    return {root: ids.get(root, ("", "")) for root in (0, *branches.conversations)}, branches, frozenset(delivered)


def _node(row: JsonRow) -> Node | None:
    """A line's place in the tree; None for lines that have none."""
    said = row.word("type") in _SIDES and bool(row.part("message"))
    if not said and not row.word("uuid"):
        return None
    boundary = row.word("subtype") == "compact_boundary"
    message = row.part("message")
    return Node(
        row.word("uuid"),
        row.word("parentUuid") or (row.word("logicalParentUuid") if boundary else ""),
        key=word(message.get("id")) if row.word("type") == "assistant" else "",
        said=said or boundary,
        answers=said and _has_results(message.get("content")),
        apart=row.value.get("isSidechain") is True,
        continues=boundary,
    )


def _has_results(content: object) -> bool:
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )


def _following(source: Source, branches: Branches, root: int, delivered: frozenset[str]) -> Any:
    def follow() -> Iterator[Entry]:
        own = (read for read in _bounded(source, branches) if branches.owner(read.line) == root)
        return settled(_ClaudeLines(source, branches, delivered).heard(_causal(own, branches)))

    return follow


def _bounded(source: Source, branches: Branches) -> Iterator[Read]:
    """The lines the first pass saw; a session that is still being written may have more by now."""
    for read in lines(source):
        if read.line > branches.lines:
            return
        yield read


def _causal(reads: Iterator[Read], branches: Branches) -> Iterator[Read]:
    """Lines in file order, except that none comes before a parent that is near."""
    held: dict[int, list[Read]] = {}
    for read in reads:
        parent = branches.parent(read.line)
        if isinstance(read, JsonRow) and read.line < parent <= read.line + _PATIENCE:
            held.setdefault(parent, []).append(read)
            continue
        due = [read]
        while due:
            yield (now := due.pop(0))
            if isinstance(now, JsonRow):
                due.extend(held.pop(now.line, ()))
    for left in held.values():
        yield from left


class _ClaudeLines:
    """The second pass: what each line of one conversation says."""

    def __init__(self, source: Source, branches: Branches, delivered: frozenset[str]) -> None:
        self._source, self._branches = source, branches
        self._heard = set(delivered)  # what users said in lines of their own, and what was taken from the queue
        self._queued: list[JsonRow] = []  # typed while the agent worked, until no call waits for its result
        self._open: set[str] = set()
        self._joining = Joining()
        self._boundary: JsonRow | None = None

    def heard(self, reads: Iterator[Read]) -> Iterator[Heard]:
        for read in reads:
            if isinstance(read, JsonRow):
                if self._branches.is_orphan(read.line):
                    yield Defect(read.line, "missing-parent", "the line it follows is not in this file")
                yield from self._row(read)
            else:
                yield read
        yield from self._joining.flush()
        yield from self._bounded()
        yield from self._from_queue()

    def _row(self, row: JsonRow) -> Iterator[Heard]:
        type_ = row.word("type")
        # What a person typed while the agent worked.
        is_queued = type_ == "queue-operation" and row.word("operation") == "enqueue"
        typed = row.word("content").strip() if is_queued else ""
        if self._branches.is_repeated(row.line):
            yield Skipped(row.line, "repeated")
        elif row.word("subtype") == "compact_boundary":
            yield from self._joining.flush()
            yield from self._bounded()
            self._boundary = row
        elif row.word("subtype") == "microcompact_boundary":
            yield from self._joining.flush()
            meta = row.part("microcompactMetadata")
            ids = meta.get("compactedToolIds")
            yield Boundary(
                (row.line,),
                trigger=word(meta.get("trigger")),
                before_tokens=number(meta.get("preTokens")),
                kind="clear",
                cleared=tuple(map(word, ids)) if isinstance(ids, list) else (),
            )
        elif typed and typed not in self._heard:  # it stands nowhere else
            self._heard.add(typed)
            self._queued.append(row)
        elif type_ not in _SIDES or not row.part("message"):
            yield Skipped(row.line, kind(type_, row.value.get("subtype"), row.part("data").get("type")))
        elif not self._branches.is_live(row.line):
            yield Skipped(row.line, "abandoned")
        elif reason := unsound(row.part("message")):
            yield from self._source.damage(row.line, reason)
        else:
            yield from self._message(row, type_)

    def _message(self, row: JsonRow, type_: str) -> Iterator[Heard]:
        if row.value.get("isCompactSummary") is True:
            yield from self._joining.flush()
            yield from self._bounded(row)
            return
        yield from self._bounded()
        if not self._open and self._queued:
            yield from self._joining.flush()
            yield from self._from_queue()
        value, meta = row.part("message"), row.value.get("isMeta") is True
        self._open |= set(calls_in(value))
        self._open -= set(answers_in(value))
        if type_ == "user":
            raw, original = portable(fields(row.raw)["message"])
            content = value.get("content")
            human = not meta and not _has_results(content) and has_typed(content)
            at = when(row.value.get("timestamp"))
            turn = Recorded(raw, (row.line,), at, is_meta=meta, human=human, original=original)
            yield from self._joining.hear(spoken(turn, value))
        elif value.get("model") == "<synthetic>":
            yield Skipped(row.line, "assistant:synthetic")
        else:
            yield from self._joining.add(_part(row))

    def _from_queue(self) -> Iterator[Heard]:
        for row in self._queued:
            turn = Recorded(
                message("user", [text(row.word("content"))]),
                (row.line,),
                when(row.value.get("timestamp")),
                human=has_typed(row.word("content")),
                original=row.raw,
            )
            yield from self._joining.hear(SpokenTurn(turn))
        self._queued = []

    def _bounded(self, summary: JsonRow | None = None) -> Iterator[Heard]:
        """The compaction that was announced, with its summary when that is the next thing said."""
        boundary, self._boundary = self._boundary, None
        if boundary is None and summary is None:
            return
        meta = boundary.part("compactMetadata") if boundary is not None else {}
        yield Boundary(
            tuple(row.line for row in (boundary, summary) if row is not None),
            flat(summary.part("message").get("content")) if summary is not None else "",
            trigger=word(meta.get("trigger")),
            before_tokens=number(meta.get("preTokens")),
            shown=(portable(fields(summary.raw)["message"])[0],) if summary is not None else (),
        )


def _part(row: JsonRow) -> AnswerPart:
    value = row.part("message")
    inside = fields(fields(row.raw)["message"])
    content, usage = value.get("content"), value.get("usage")
    blocks = tuple(map(bytes, elements(inside["content"]))) if isinstance(content, list) else (text(flat(content)),)
    return AnswerPart(
        row.line,
        word(value.get("id")) or f"line {row.line}",
        blocks if content else (),
        "assistant:empty",
        when(row.value.get("timestamp")),
        usage if isinstance(usage, dict) else None,
        word(value.get("model")),
        bytes(fields(row.raw)["message"]),
        tuple(calls_in(value)),
    )
