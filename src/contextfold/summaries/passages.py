"""The history as passages: who said it, about which file or command, and whether it went wrong.

A passage is one block, or one side of one change; its lines are the pieces that a digest is made of, verbatim and short
enough to be weighed by themselves. Reasoning is no passage: it was never said. What agents put on the user's side by
themselves (reminders, environment notes) is no person's; what a person said inside a tool's result is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from contextfold.deferred import expression
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

from .cuts import Count
from .earlier import DigestEntry, entries
from .journal import Journal, Reversible, put
from .request import SourceMessage
from .terms import Term, outcome_in, terms_in

# -- the plan ---------------------------------------------------------------------------------------------------------

_STEP_KEYS = ("content", "step", "subject", "title", "task", "text", "description", "name")
_STATUS_KEYS = ("status", "state")
_ID_KEYS = ("taskId", "task_id", "id")
_TOLD = expression(r"\A\[([^\]]*+)\] (.*)")
_DONE = frozenset({"completed", "done", "deleted", "cancelled", "canceled", "finished"})


class TaskPlan(Struct):
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

    def tell_again(self, line: str) -> None:
        """A step as an earlier digest told it."""
        found = _TOLD.fullmatch(line)
        if found:
            self.steps[str(len(self.steps) + 1)] = (found.group(1), found.group(2))

    def state(self) -> tuple[Any, ...]:
        return self.seq, dict(self.steps)

    def restore(self, state: tuple[Any, ...]) -> None:
        self.seq, self.steps = state

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

_FAILED = expression(
    r"\b(?:exited with code|exit code|exit status|returncode)[:= ]+(?!0\b)-?\d+|^(?:Error|Exit code [1-9])\b",
    re.IGNORECASE,
)


_SPEAKERS: dict[str, Speaker] = {"requests": "user", "decisions": "assistant", "work": "assistant"}


class Topic(Struct, eq=False, gc=False):
    """What passages are about: a file, or one command. Collects what was done."""

    name: str
    is_file: bool
    order: int
    actions: dict[str, int] = {}
    seq: int = 0
    failed: bool = False
    answered: bool = True
    outcome: str = ""  # the line of its output that says how it ended
    terms: tuple[Term, ...] = ()  # in its name

    def __post_init__(self) -> None:
        self.terms = tuple(sorted(terms_in(self.name)))

    def state(self) -> tuple[Any, ...]:
        return self.order, dict(self.actions), self.seq, self.failed, self.answered, self.outcome

    def restore(self, state: tuple[Any, ...]) -> None:
        self.order, self.actions, self.seq, self.failed, self.answered, self.outcome = state

    def take_actions(self) -> dict[str, int]:
        """What was done, which from now on is counted anew."""
        actions, self.actions = self.actions, {}
        return actions

    def done_at_least(self, actions: Mapping[str, int]) -> None:
        """Each of these was done that often, or oftener where more was counted since."""
        self.actions |= {name: max(many, self.actions.get(name, 0)) for name, many in actions.items()}


class HistoryPassage(Struct, frozen=True, eq=False, gc=False):
    """A piece of text with its place. `text` is let go of where its lines are all that is needed of it."""

    order: int
    seq: int
    speaker: Speaker
    text: str
    topic: Topic | None = None
    is_error: bool = False
    is_replaced: bool = False

    @property
    def without_text(self) -> HistoryPassage:
        return replace(self, text="")


class PassageReader:
    """Reads messages into passages, in order, and remembers the files and commands, the plan, and open calls.

    Whatever it changes it tells the journal first, where there is one.
    """

    def __init__(self) -> None:
        self.files: dict[str, Topic] = {}
        self.commands: dict[int, Topic] = {}  # by their number
        self.plan = TaskPlan()
        self.passages = 0  # read so far
        self._journal: Journal | None = None
        self._numbered = 0
        self._calls: dict[str, tuple[str, tuple[Topic, ...]]] = {}  # the tool, and what it was used on
        self._found: list[HistoryPassage] = []

    def write_to(self, journal: Journal | None) -> None:
        """Tell this journal from now on what changes."""
        self._journal = journal

    def state(self) -> tuple[Any, ...]:
        return self.passages, self._numbered

    def restore(self, state: tuple[Any, ...]) -> None:
        self.passages, self._numbered = state

    def read_earlier(self, previous: str) -> list[HistoryPassage]:
        """A digest of ours is read back into what it was made of; any other text is lines."""
        topic: Topic | None = None
        self._changes(self, self.plan)
        for entry in entries(previous):
            if entry.opens:
                topic = self._reopened(entry)
            elif entry.section in ("files", "commands"):
                self._add(entry.seq, "previous", entry.text, topic)
            elif entry.section == "plan":
                self.plan.tell_again(entry.text)
            else:
                self._add(entry.seq, _SPEAKERS.get(entry.section, "previous"), entry.text)
        return self._handed_out()

    def read(self, source: SourceMessage) -> list[HistoryPassage]:
        """The passages of one message."""
        self._changes(self)
        for block in as_told(source.message):
            match block:
                case Text():
                    self._said(source.seq, source.message.role == "assistant", block.text)
                case ToolCall():
                    self._called(source.seq, block)
                case ToolResult():
                    self._answered(source.seq, block)
                case Document():
                    self._add(source.seq, "note", f"{block.title}\n{block.text}")
                case Image() | Opaque() | Reasoning():
                    pass
        return self._handed_out()

    def forget_calls(self, most: int) -> None:
        """Keep the newest calls: results come soon, or never."""
        for call in list(self._calls)[:-most]:
            del self._calls[call]

    def _handed_out(self) -> list[HistoryPassage]:
        found, self._found = self._found, []
        return found

    def _changes(self, *ones: Reversible) -> None:
        if self._journal is not None:
            for one in ones:
                self._journal.changes(one)

    def _reopened(self, entry: DigestEntry) -> Topic:
        topic = Topic(
            entry.opens, entry.section == "files", self.passages, dict(entry.actions), entry.seq, entry.failed
        )
        if not topic.is_file:
            return self._numbered_command(topic)
        if entry.opens not in self.files:
            put(self._journal, self.files, entry.opens, topic)
        return self.files[entry.opens]

    def _add(self, seq: int, speaker: Speaker, text: str, topic: Topic | None = None, **marks: bool) -> None:
        if text.strip():
            self._found.append(HistoryPassage(self.passages, seq, speaker, text, topic, **marks))
            self.passages += 1

    def _said(self, seq: int, by_assistant: bool, text: str) -> None:
        if by_assistant:
            self._add(seq, "assistant", text)
            return
        side = users_side(text)
        for added in side.added:
            self._add(seq, "note", added)
        for typed in side.typed:
            self._add(seq, "user", typed)

    def _called(self, seq: int, call: ToolCall) -> None:
        arguments, plan = arguments_of(call), self.plan
        self._changes(plan)
        if plan.replace(seq, plan_in(arguments)) or (isinstance(arguments, dict) and plan.touch(seq, arguments)):
            put(self._journal, self._calls, call.id, (call.name, ()))
            return
        topics = tuple(self._used(seq, use) for use in touches_of(call))
        for topic in topics:
            topic.answered = False
        put(self._journal, self._calls, call.id, (call.name, topics))

    def _used(self, seq: int, use: Touch) -> Topic:
        topic = self._file(seq, use) if use.path else self._command(seq, use)
        self._add(seq, "call", use.old, topic, is_replaced=True)
        self._add(seq, "call", use.new, topic)
        return topic

    def _file(self, seq: int, use: Touch) -> Topic:
        if use.path not in self.files:
            put(self._journal, self.files, use.path, Topic(use.path, True, self.passages))
        topic = self.files[use.path]
        self._changes(topic)
        topic.actions[use.action] = topic.actions.get(use.action, 0) + 1
        topic.order, topic.seq = self.passages, seq
        return topic

    def _command(self, seq: int, use: Touch) -> Topic:
        return self._numbered_command(Topic(use.label, False, self.passages, seq=seq))

    def _numbered_command(self, topic: Topic) -> Topic:
        self._numbered += 1
        put(self._journal, self.commands, self._numbered, topic)
        return topic

    def _answered(self, seq: int, result: ToolResult) -> None:
        tool, topics = self._calls.get(result.call, ("", ()))
        text = "\n".join(_texts(result))
        failed = result.is_error or _has_failed(text[:600])
        for topic in topics:
            self._changes(topic)
            topic.answered, topic.failed = True, failed
            topic.outcome = "" if topic.is_file else outcome_in(text, failed=failed)
        said = said_in_result(result, tool)
        for words in said:
            self._add(seq, "user", words)
        if not said:  # around a person's words stand only the client's
            self._add(seq, "result", text, topics[0] if topics else None, is_error=failed)


def _has_failed(text: str) -> bool:
    """Whether an output says so of itself; most do not even have the words."""
    low = text.lower()
    return ("exit" in low or "returncode" in low or low.startswith("error")) and _FAILED.search(text) is not None


def _texts(result: ToolResult) -> Iterator[str]:
    for block in result.blocks:
        if isinstance(block, Text):
            yield block.text
        elif isinstance(block, Document):
            yield f"{block.title}\n{block.text}".strip()


# -- lines ------------------------------------------------------------------------------------------------------------

DEFINES = expression(
    r"^\s*(?:export\s+|pub(?:lic)?\s+|private\s+|static\s+|async\s+|default\s+)*"
    r"(?:def|class|func|fn|type|interface|struct|enum|const|let|var|function|trait|impl|module)\b|^\s*[\w.]+\s*:?=\s"
)
_FAILS = expression(
    r"\b(?:error|exception|failed|failure|fatal|panic|traceback|undefined|denied|FAIL)\b|エラー|失敗|例外",
    re.IGNORECASE,
)


_NUMBER = expression(r"\d+")


class DigestLine(Struct, eq=False, gc=False):
    """One candidate. `place` orders all lines of a history."""

    place: int
    text: str
    passage: HistoryPassage
    terms: tuple[Term, ...]
    words: tuple[str, ...]
    manner: float  # what its gain is multiplied by, for how it is worded
    price: int = 0  # tokens, once they were counted
    factor: float = 0.0  # what its gain is multiplied by, for what it is rather than for what it names
    talk: tuple[str, ...] = ()  # plain words of what was said; code and output are weighed by names alone
    numbered: str | None = None  # its words with every number the same, empty without one; None until somebody asks

    def __post_init__(self) -> None:
        passage = self.passage
        self.talk = self.words if passage.speaker in ("assistant", "previous") else ()
        self.factor = self.manner * (1.2 if passage.speaker in ("assistant", "call") else 1.0)
        if passage.is_error and not _tells_of_failure(self.text):
            self.factor *= 1.15
        if passage.is_replaced:
            self.factor *= 0.3

    @property
    def outline(self) -> str:
        """Its words with every number the same; empty if it has none."""
        if self.numbered is None:
            outline, many = _NUMBER.subn("0", self.text)
            self.numbered = outline if many else ""
        return self.numbered

    def weigh(self, count: Count | None) -> None:
        """Count its tokens, with those of its mark and its end; without a counter, forget them."""
        self.price = 0 if count is None else count(self.text) + 2


def manner_of(text: str) -> float:
    """What the gain of these words is multiplied by, whoever said them."""
    factor = 1.15 if _tells_of_failure(text) else 1.0
    if DEFINES.match(text):
        factor *= 1.1
    if text.count(" ") < 3 and text.isascii():
        factor *= 0.6
    return factor


def _tells_of_failure(text: str) -> bool:
    """Looked for in every line: a pattern with many beginnings takes ten times as long as these words."""
    low = text.lower()
    may_tell = (
        "error" in low
        or "fail" in low
        or "exception" in low
        or "fatal" in low
        or "panic" in low
        or "traceback" in low
        or "undefined" in low
        or "denied" in low
        or not low.isascii()
    )
    return may_tell and _FAILS.search(text) is not None
