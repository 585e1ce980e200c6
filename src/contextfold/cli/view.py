"""A view as a person reads it: who spoke, what was called and answered, what is folded, and how large each is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

import contextfold as cf
from contextfold.domain import (
    Appended,
    Block,
    Cover,
    Document,
    Folded,
    Image,
    Logged,
    Message,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ViewItem,
    ViewMessage,
    decode,
)
from contextfold.errors import BadMessage
from contextfold.thread import FoldInfo

from .paper import Ink, Paper, clipped, columns

GUTTER = 8
_SHORT = 6  # lines of a text
_SHORTER = 3  # lines of what a tool answered


class ViewReader(Struct, frozen=True):
    """How much of each message to show, and what is known about its surroundings."""

    paper: Paper
    folds: Mapping[int, FoldInfo]
    events: Sequence[Logged]
    pinned: frozenset[int]
    on_path: frozenset[int]
    is_full: bool = False

    @property
    def _lines(self) -> int | None:
        return None if self.is_full else _SHORT

    def message(self, shown: ViewMessage) -> None:
        """One message of a view."""
        if shown.kind == "stand_in":
            fold = self.folds.get(shown.seq)
            self._headline(f"▸ {shown.seq}", f"fold · {fold.kind if fold else 'fold'}", "fold", f"{shown.tokens:,}")
            if fold is not None:
                hidden = hidden_messages(fold.cover, self.events, self.on_path)
                label, trigger = self.paper.label, fold.details.get("trigger")
                told = label(f"hides {len(hidden)} messages ({spans(hidden)})")
                told += label(f", {fold.before - fold.after:,} tokens less") if fold.before > fold.after else ""
                told += f" · {label(str(trigger))}" if trigger else ""
                self.paper.text(told, indent=GUTTER, style="fold")
            self.paper.text(shown.text, indent=GUTTER, style="dim", most=self._lines)
            return
        tools = tool_names(self.events, shown.item)
        self._headline(str(shown.seq), *_speaker(shown, shown.seq in self.pinned), f"{shown.tokens:,}")
        folded = {part.block: part for part in shown.item.folded}
        for at, block in enumerate(shown.blocks):
            if at in folded:
                self._folded_block(folded[at].fold, folded[at].text, block, tools)
            else:
                self.block(block, tools)

    def _headline(self, number: str, who: str, style: str, tokens: str) -> None:
        said = " · ".join(map(self.paper.label, who.split(" · ")))
        space = " " * max(1, 46 - GUTTER - columns(said) - len(tokens))
        self.paper.line(f"{number:>6}  ", Ink(said, style), space, Ink(self.paper.label(f"{tokens} tokens"), "dim"))

    def _folded_block(self, fold: int, text: int, block: Block, tools: Mapping[str, str]) -> None:
        info = self.folds.get(fold)
        words = info.stand_in.blocks[text] if info and text < len(info.stand_in.blocks) else ""
        label = self.paper.label
        tool = tools.get(block.call) if isinstance(block, ToolResult) else None
        what = f"← {tool or label('result')}" if isinstance(block, ToolResult) else label(_kind(block))
        told = label(f"folded by {fold} ({info.kind if info else 'fold'})")
        self.paper.line(Ink(f"▸ {what} {told}", "fold"), indent=GUTTER)
        if words:
            self.paper.text(words, indent=GUTTER + 2, style="dim", most=None if self.is_full else 2)

    def block(self, block: Block, tools: Mapping[str, str]) -> None:
        """One piece of a message."""
        match block:
            case Text():
                self.paper.text(block.text, indent=GUTTER, most=self._lines)
            case ToolCall():
                name, given = f"→ {block.name}", call_arguments(block)
                room = self.paper.width - GUTTER - len(name)
                shown = given if self.is_full else clipped(given.replace("\n", "⏎"), room)
                is_below = "\n" in shown or len(shown) > room
                self.paper.line(Ink(name, "tool"), "" if is_below else shown, indent=GUTTER)
                if is_below:
                    self.paper.text(shown, indent=GUTTER + 2)
            case ToolResult():
                self._result(block, tools.get(block.call) or self.paper.label("result"))
            case Reasoning():
                size = len(block.text) or len(block.sealed) or len(block.signature)
                self.paper.line(Ink(self.paper.label(f"thinking · {size:,} characters"), "dim"), indent=GUTTER)
                if block.text:
                    self.paper.text(block.text, indent=GUTTER + 2, style="dim", most=None if self.is_full else 2)
            case _:
                about = self.paper.label(_kind(block))
                if isinstance(block, Image | Document):
                    where = block.url or f"{len(block.data) * 3 // 4:,} bytes"
                    about += f" {block.media_type} {where}"
                self.paper.line(Ink(f"[{about}]", "tool"), indent=GUTTER)

    def _result(self, block: ToolResult, tool: str) -> None:
        text = "\n".join(inner.text for inner in block.blocks if isinstance(inner, Text))
        error = Ink(f" {self.paper.label('error')}", "bad") if block.is_error else ""
        size = self.paper.label(f"{len(text):,} characters")
        self.paper.line(Ink(f"← {tool}", "tool"), error, Ink(f" · {size}", "dim"), indent=GUTTER)
        if text:
            self.paper.text(text, indent=GUTTER + 2, style="dim", most=None if self.is_full else _SHORTER)
        for inner in block.blocks:
            if not isinstance(inner, Text):
                self.block(inner, {})


def call_arguments(call: ToolCall) -> str:
    """A call's arguments as people write them."""
    try:
        given = decode(call.arguments or "{}")
    except BadMessage:
        return f"({call.arguments})"
    if not isinstance(given, dict):
        return f"({call.arguments})"
    written = {name: f'"{value}"' if isinstance(value, str) else repr(value) for name, value in given.items()}
    return "(" + ", ".join(f"{name}={value}" for name, value in written.items()) + ")"


def _speaker(shown: ViewMessage, is_pinned: bool) -> tuple[str, str]:
    if shown.kind == "attachment":
        return "added for the model", "system"
    if shown.kind == "completion":
        return "no result came", "warn"
    results = shown.item.shape.results
    who = "tool results" if results and len(results) == len(shown.item.shape.blocks) else shown.role
    return f"{who} · pinned" if is_pinned else who, shown.role


def _kind(block: Block) -> str:
    return {Image: "image", Document: "document", Reasoning: "thinking", Text: "text"}.get(
        type(block), block.kind if isinstance(block, Opaque) else "call"
    )


def tool_names(events: Sequence[Logged], item: ViewItem) -> dict[str, str]:
    """The tool behind each result of a message, from the calls in the events just before it."""
    wanted = set(item.shape.results)
    names: dict[str, str] = {}
    for logged in reversed(events[: item.seq]):
        if not wanted:
            break
        if isinstance(logged.event, Appended):
            for block in logged.event.shape.blocks:
                if block.kind == "call" and block.call in wanted:
                    names[block.call] = block.name
                    wanted.discard(block.call)
    return names


def messages_on_path(thread: cf.Thread) -> frozenset[int]:
    """Seqs of the messages from the first to the head; what was left behind by a rewind is not among them."""
    events, seq, found = thread.events, thread.view.head, []
    while seq:
        if isinstance(events[seq - 1].event, Appended):
            found.append(seq)
        seq = events[seq - 1].parent
    return frozenset(found)


def hidden_messages(cover: Cover, events: Sequence[Logged], on_path: frozenset[int]) -> list[int]:
    """Seqs of the messages that a fold hides, those of folds inside it included, or that hold its folded parts."""
    seqs = {seq for seq, _ in cover.blocks}
    for first, last in cover.ranges:
        seqs.update(seq for seq in range(first, last + 1) if seq in on_path)
    for inner in cover.folds:
        event = events[inner - 1].event
        if isinstance(event, Folded):
            seqs.update(hidden_messages(event.cover, events, on_path))
    return sorted(seqs)


def spans(seqs: Iterable[int], most: int = 6) -> str:
    """Numbers as ranges: 3–38, 41."""
    ranges: list[list[int]] = []
    for seq in seqs:
        if ranges and seq == ranges[-1][1] + 1:
            ranges[-1][1] = seq
        else:
            ranges.append([seq, seq])
    shown = [str(first) if first == last else f"{first}–{last}" for first, last in ranges[:most]]
    return ", ".join(shown) + (", …" if len(ranges) > most else "")


def as_plain(shown: ViewMessage, pinned: frozenset[int]) -> dict[str, object]:
    """A message of a view for a program."""
    return {
        "seq": shown.seq,
        "kind": shown.kind,
        "role": shown.role,
        "tokens": shown.tokens,
        "pinned": shown.seq in pinned,
        "folded": [{"block": part.block, "fold": part.fold} for part in shown.item.folded],
        "blocks": shown.blocks,
    }


def message_as_plain(seq: int, message: Message) -> dict[str, object]:
    """A message of the log for a program, with its original JSON."""
    return {"seq": seq, "role": message.role, "message": decode(message.raw) if message.raw else None}


def reader_of(paper: Paper, thread: cf.Thread, *, is_full: bool) -> ViewReader:
    """A reader for one thread as it is now."""
    folds = {fold.id: fold for fold in thread.folds}
    return ViewReader(paper, folds, thread.events, thread.view.pinned, messages_on_path(thread), is_full)
