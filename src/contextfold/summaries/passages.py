"""The history as passages and lines: who said it, about which file or command, and whether it went wrong.

A passage is one block, or one side of one change; a line is the piece of it that a digest is made of, verbatim and
short enough to be weighed by itself. Reasoning is no passage: it was never said. What agents put on the user's side by
themselves (reminders, environment notes) is no person's; what a person said inside a tool's result is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

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
    as_told,
    plan_in,
    said_in_result,
    touches_of,
    users_side,
)

from .earlier import DigestEntry, entries
from .request import SourceMessage
from .terms import Term, terms_in

# -- the plan ---------------------------------------------------------------------------------------------------------

_STEP_KEYS = ("content", "step", "subject", "title", "task", "text", "description", "name")
_STATUS_KEYS = ("status", "state")
_ID_KEYS = ("taskId", "task_id", "id")
_TOLD = re.compile(r"\A\[([^\]]*+)\] (.*)")
_DONE = frozenset({"completed", "done", "deleted", "cancelled", "canceled", "finished"})


@dataclass(slots=True)
class TaskPlan:
    """Steps with their status, by number."""

    seq: int = 0
    steps: dict[str, tuple[str, str]] = field(default_factory=dict)  # number: (status, words)

    def replace(self, seq: int, items: Iterable[Any]) -> bool:
        """A whole list: it is the plan from now on."""
        steps = {str(n): step for n, item in enumerate(items, 1) if (step := _step(item)) is not None}
        if steps:
            self.seq, self.steps = seq, steps
        return bool(steps)

    def touch(self, seq: int, arguments: Mapping[str, Any]) -> bool:
        """One task: created if it has words and no number yet, ticked off if it has both number and status."""
        number = next((str(arguments[key]) for key in _ID_KEYS if key in arguments), "")
        status = next((str(arguments[key]) for key in _STATUS_KEYS if key in arguments), "")
        if number in self.steps and status:
            self.seq, self.steps[number] = seq, (status, self.steps[number][1])
            return True
        if "subject" in arguments and not number:
            self.seq = seq
            self.steps[str(len(self.steps) + 1)] = (status or "pending", str(arguments["subject"]))
            return True
        return False

    def restore(self, line: str) -> None:
        """A step as an earlier digest told it."""
        found = _TOLD.fullmatch(line)
        if found:
            self.steps[str(len(self.steps) + 1)] = (found.group(1), found.group(2))

    def lines(self) -> list[tuple[bool, str]]:
        """Whether it is done, and one line, for each step in order."""
        return [
            (status.lower() in _DONE, f"[{status}] {' '.join(words.split())}") for status, words in self.steps.values()
        ]


def _step(item: Any) -> tuple[str, str] | None:
    if isinstance(item, str):
        return ("?", item)
    if not isinstance(item, Mapping):
        return None
    words = next((str(item[key]) for key in _STEP_KEYS if item.get(key)), "")
    status = next((str(item[key]) for key in _STATUS_KEYS if item.get(key)), "?")
    return (status, words) if words else None


# -- passages ---------------------------------------------------------------------------------------------------------

Speaker: TypeAlias = Literal["user", "assistant", "call", "result", "note", "previous"]

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
class HistoryPassage:
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

    passages: list[HistoryPassage] = field(default_factory=list)
    files: dict[str, Topic] = field(default_factory=dict)
    commands: list[Topic] = field(default_factory=list)
    plan: TaskPlan = field(default_factory=TaskPlan)
    folded: int = 0  # how many of the passages are to be folded; those after them stay in view


def history_of(sources: Iterable[SourceMessage], previous: str = "", kept: Iterable[SourceMessage] = ()) -> History:
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
    tools: dict[str, str] = field(default_factory=dict)  # names by the ids of calls

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

    def _reopened(self, entry: DigestEntry) -> Topic:
        order = len(self.history.passages)
        topic = Topic(entry.opens, entry.section == "files", order, dict(entry.actions), entry.seq, entry.failed)
        if topic.is_file:
            return self.history.files.setdefault(entry.opens, topic)
        self.history.commands.append(topic)
        return topic

    def read(self, source: SourceMessage) -> None:
        for block in as_told(source.message):
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
            self.history.passages.append(HistoryPassage(order, seq, speaker, text, topic, **marks))

    def _said(self, seq: int, by_assistant: bool, text: str) -> None:
        if by_assistant:
            self.add(seq, "assistant", text)
            return
        side = users_side(text)
        for added in side.added:
            self.add(seq, "note", added)
        for typed in side.typed:
            self.add(seq, "user", typed)

    def _called(self, seq: int, call: ToolCall) -> None:
        self.tools[call.id] = call.name
        arguments, plan = arguments_of(call), self.history.plan
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
        said = said_in_result(result, self.tools.get(result.call, ""))
        for words in said:
            self.add(seq, "user", words)
        if not said:  # around a person's words stand only the client's
            self.add(seq, "result", text, topics[0] if topics else None, is_error=failed)


def _texts(result: ToolResult) -> Iterator[str]:
    for block in result.blocks:
        if isinstance(block, Text):
            yield block.text
        elif isinstance(block, Document):
            yield f"{block.title}\n{block.text}".strip()


# -- lines ------------------------------------------------------------------------------------------------------------

LONGEST = 220  # characters; longer lines are taken by the sentence, then by the clause

_GUTTER = re.compile(r"\A\s*+\d++(?:→|\t|:(?=\s)|[-:](?=\t)| \|(?=\s|\Z))")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？])")
_CLAUSE = re.compile(r".{1,220}(?:[\s,;、，|]|\Z)|.{1,220}", re.DOTALL)
_BLANK = re.compile(r"\A[\W_]*+\Z")
_RUN = re.compile(r"(\S)\1{15,}")


@dataclass(slots=True, eq=False)
class DigestLine:
    """One candidate. `place` orders all lines of a history."""

    place: int
    text: str
    passage: HistoryPassage
    terms: tuple[Term, ...]
    is_newest: bool = True  # of all lines that say the same
    is_replaced: bool = False  # a later edit took it out of its file


def lines_of(passages: Sequence[HistoryPassage], look: Callable[[], None] = lambda: None) -> list[DigestLine]:
    """Every line, oldest first; `look` is called before each, and may raise."""
    lines: list[DigestLine] = []
    newest: dict[str, DigestLine] = {}
    for passage in passages:
        for text in split(passage.text):
            look()
            older = newest.get(text)
            terms = older.terms if older else tuple(sorted(terms_in(text)))
            line = DigestLine(len(lines), text, passage, terms, is_replaced=passage.is_replaced)
            if older:
                older.is_newest = False
            lines.append(line)
            newest[text] = line
    return lines


def split(text: str) -> Iterator[str]:
    """The lines of a text that say anything."""
    for raw in text.splitlines():
        line = _GUTTER.sub("", raw).strip()
        if len(line) <= LONGEST:
            if not _BLANK.match(line):
                yield line
            continue
        for piece in _pieces(_RUN.sub(r"\1\1\1…", line)):
            if not _BLANK.match(piece):
                yield piece


def _pieces(line: str) -> Iterator[str]:
    """Sentences, joined while they stay short, cut at clauses when one alone is too long."""
    held = ""
    for sentence in _SENTENCE.split(line):
        if len(held) + len(sentence) < LONGEST:
            held = f"{held} {sentence}".strip()
            continue
        if held:
            yield held
        held = ""
        if len(sentence) <= LONGEST:
            held = sentence
        else:
            yield from (piece.strip() for piece in _CLAUSE.findall(sentence))
    if held:
        yield held
