"""The history as passages: who said it, about which file or command, and whether it went wrong.

A passage is one block, or one side of one change. Reasoning is no passage: it was never said. What agents put on the
user's side by themselves (reminders, environment notes) is told apart from what a person typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from contextfold.domain import (
    Document,
    Image,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Touch,
    arguments_of,
    plan_in,
    touches_of,
)

from .earlier import Entry, entries
from .plans import Plan
from .request import Source

Speaker: TypeAlias = Literal["user", "assistant", "call", "result", "note", "previous"]

_MACHINE = re.compile(
    r"\A\s*+(?:<(?!(?:task|feedback|user_message|user_query|answer|question|request|instructions?|p|b|i|div|html)\b)"
    r"[a-z][\w-]*+(?:[\s>]|:)|\[(?:Request interrupted|[\w-]++ for '|\w++\] Result:)|Caveat:|# AGENTS\.md|"
    r"This session is being continued|Base directory for this skill|Stop hook feedback)",
    re.IGNORECASE,
)
_REMINDER = re.compile(r"<(system-reminder|environment_details|environment_context)>.*?(?:</\1>|\Z)", re.DOTALL)
_WRAPPED = re.compile(r"</?(?:task|feedback|user_message|user_query|answer)>")
_FAILED = re.compile(
    r"\b(?:exited with code|exit code|exit status|returncode)[:= ]+(?!0\b)-?\d+|^(?:Error|Exit code [1-9])\b",
    re.IGNORECASE,
)


_SPEAKERS: dict[str, Speaker] = {"requests": "user", "decisions": "assistant", "work": "assistant"}


@dataclass(slots=True, eq=False)
class Topic:
    """What passages are about: a file, or one command. Collects what was done."""

    name: str
    is_file: bool
    order: int
    actions: dict[str, int] = field(default_factory=dict)
    seq: int = 0
    failed: bool = False
    answered: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A piece of text with its place."""

    order: int
    seq: int
    speaker: Speaker
    text: str
    topic: Topic | None = None
    is_error: bool = False
    is_replaced: bool = False


@dataclass(slots=True)
class History:
    """Everything said, in order, and the files and commands it was about."""

    passages: list[Passage] = field(default_factory=list)
    files: dict[str, Topic] = field(default_factory=dict)
    commands: list[Topic] = field(default_factory=list)
    plan: Plan = field(default_factory=Plan)
    folded: int = 0  # how many of the passages are to be folded; those after them stay in view


def history_of(sources: Iterable[Source], previous: str = "", kept: Iterable[Source] = ()) -> History:
    """The passages of the previous summary, of the sources, and of what stays in view after them."""
    reader = _Reader(History())
    reader.read_earlier(previous)
    for source in sources:
        reader.read(source)
    reader.history.folded = len(reader.history.passages)
    for source in kept:
        reader.read(source)
    return reader.history


@dataclass(slots=True)
class _Reader:
    history: History
    calls: dict[str, tuple[Topic, ...]] = field(default_factory=dict)

    def read_earlier(self, previous: str) -> None:
        """A digest of ours is read back into what it was made of; any other text is lines."""
        topic: Topic | None = None
        for entry in entries(previous):
            if entry.opens:
                topic = self._reopened(entry)
            elif entry.section in ("files", "commands"):
                self.add(entry.seq, "previous", entry.text, topic)
            elif entry.section == "plan":
                self.history.plan.restore(entry.text)
            else:
                self.add(entry.seq, _SPEAKERS.get(entry.section, "previous"), entry.text)

    def _reopened(self, entry: Entry) -> Topic:
        order = len(self.history.passages)
        topic = Topic(entry.opens, entry.section == "files", order, dict(entry.actions), entry.seq, entry.failed)
        if topic.is_file:
            return self.history.files.setdefault(entry.opens, topic)
        self.history.commands.append(topic)
        return topic

    def read(self, source: Source) -> None:
        for block in source.message.blocks:
            match block:
                case Text():
                    self._said(source.seq, source.message.role == "assistant", block.text)
                case ToolCall():
                    self._called(source.seq, block)
                case ToolResult():
                    self._answered(source.seq, block)
                case Document():
                    self.add(source.seq, "note", f"{block.title}\n{block.text}")
                case Image() | Opaque() | Reasoning():
                    pass

    def add(self, seq: int, speaker: Speaker, text: str, topic: Topic | None = None, **marks: bool) -> None:
        if text.strip():
            order = len(self.history.passages)
            self.history.passages.append(Passage(order, seq, speaker, text, topic, **marks))

    def _said(self, seq: int, by_assistant: bool, text: str) -> None:
        if by_assistant:
            self.add(seq, "assistant", text)
            return
        for reminder in _REMINDER.finditer(text):
            self.add(seq, "note", reminder.group())
        typed = _WRAPPED.sub("", _REMINDER.sub("", text))
        self.add(seq, "note" if _MACHINE.match(typed) else "user", typed)

    def _called(self, seq: int, call: ToolCall) -> None:
        arguments = arguments_of(call)
        plan = self.history.plan
        if plan.replace(seq, plan_in(arguments)) or (isinstance(arguments, dict) and plan.touch(seq, arguments)):
            return
        topics = tuple(self._used(seq, use) for use in touches_of(call))
        for topic in topics:
            topic.answered = False
        self.calls[call.id] = topics

    def _used(self, seq: int, use: Touch) -> Topic:
        topic = self._file(seq, use) if use.path else self._command(seq, use)
        self.add(seq, "call", use.old, topic, is_replaced=True)
        self.add(seq, "call", use.new, topic)
        return topic

    def _file(self, seq: int, use: Touch) -> Topic:
        topic = self.history.files.setdefault(use.path, Topic(use.path, True, len(self.history.passages)))
        topic.actions[use.action] = topic.actions.get(use.action, 0) + 1
        topic.order, topic.seq = len(self.history.passages), seq
        return topic

    def _command(self, seq: int, use: Touch) -> Topic:
        topic = Topic(use.label, False, len(self.history.passages), seq=seq)
        self.history.commands.append(topic)
        return topic

    def _answered(self, seq: int, result: ToolResult) -> None:
        topics = self.calls.get(result.call, ())
        text = "\n".join(_texts(result))
        failed = result.is_error or bool(_FAILED.search(text[:600]))
        for topic in topics:
            topic.answered, topic.failed = True, failed
        self.add(seq, "result", text, topics[0] if topics else None, is_error=failed)


def _texts(result: ToolResult) -> Iterator[str]:
    for block in result.blocks:
        if isinstance(block, Text):
            yield block.text
        elif isinstance(block, Document):
            yield f"{block.title}\n{block.text}".strip()
