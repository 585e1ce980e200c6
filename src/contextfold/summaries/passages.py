"""The history as passages: who said it, about which file or command, and whether it went wrong.

A passage is one block, or one side of one change; its lines are the pieces that a digest is made of, verbatim and short
enough to be weighed by themselves. Reasoning is no passage: it was never said. Each knows who could have produced it:
what agents put on the user's side by themselves (reminders, environment notes) is the client's, what a tool returned is
that tool's, and only what a person typed, or said where her client lets her speak in a result, is a person's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from contextfold.deferred import expression
from contextfold.domain import (
    CLIENT,
    MODEL,
    PERSON,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Provenance,
    Reasoning,
    ResultWords,
    Role,
    SpokenBy,
    Text,
    ToolCall,
    ToolResult,
    arguments_of,
    claims_a_person,
    plan_in,
    read_as,
    result_text,
    result_words,
    touches_of,
    users_side,
)

from .earlier import entries
from .journal import Journal, Reversible, put
from .lines import Term, outcome_in, terms_in
from .open_calls import OpenCalls

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
            (status.lower() in _DONE, f"[{' '.join(status.split())}] {' '.join(words.split())}")
            for status, words in self.steps.values()
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


# What a passage is: words, what a call was given, what it returned, a client's note, or a line of an earlier summary.
PassageKind: TypeAlias = Literal["speech", "call", "result", "note", "previous"]

_FAILED = expression(
    r"\b(?:exited with code|exit code|exit status|returncode)[:= ]+(?!0\b)-?\d+|^(?:Error|Exit code [1-9])\b",
    re.IGNORECASE,
)


_SPEAKERS: dict[str, Provenance] = {"requests": PERSON, "decisions": MODEL, "work": MODEL}


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
    """A piece of text with its place and who could have produced it.

    `text` is let go of where its lines are all that is needed of it.
    """

    order: int
    seq: int
    speaker: Provenance
    text: str
    topic: Topic | None = None
    kind: PassageKind = "speech"
    is_error: bool = False
    is_replaced: bool = False
    claims: bool = False  # it begins like words of the user's that a client wrote down, in a tool's result
    is_doubtful: bool = False  # it may be such words; nobody can tell

    @property
    def is_models_speech(self) -> bool:
        return self.kind == "speech" and self.speaker.is_model

    @property
    def is_reported(self) -> bool:
        """Whether its lines are shown with the name of the tool that returned them."""
        return self.speaker.kind == "tool" and (self.topic is None or self.claims or self.is_doubtful)

    @property
    def without_text(self) -> HistoryPassage:
        return replace(self, text="")


class SourceMessage:
    """A message that is about to be folded away, and the place it can be recalled from.

    It may be given unread, as what reads it: then that is done by whoever needs its words first, where that is.
    """

    __slots__ = ("_given", "seq", "spoken_by")

    def __init__(self, seq: int, message: Message | Callable[[], Message], *, spoken_by: SpokenBy = "") -> None:
        self.seq, self._given = seq, message
        self.spoken_by = spoken_by  # as its outline says

    @property
    def message(self) -> Message:
        """The message, read once."""
        if not isinstance(self._given, Message):
            self._given = self._given()
        return self._given


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
        self._has_begun = False  # the model has spoken, or an earlier summary tells of it
        self._calls = OpenCalls[Topic]()
        self._found: list[HistoryPassage] = []

    def write_to(self, journal: Journal | None) -> None:
        """Tell this journal from now on what changes."""
        self._journal = journal

    def state(self) -> tuple[Any, ...]:
        return self.passages, self._numbered, self._has_begun

    def restore(self, state: tuple[Any, ...]) -> None:
        self.passages, self._numbered, self._has_begun = state

    def read_earlier(self, previous: str) -> list[HistoryPassage]:
        """A digest of ours is read back into what it was made of; any other text is lines."""
        topic: Topic | None = None
        self._changes(self, self.plan)
        for entry in entries(previous):
            self._has_begun = True
            if entry.opens:
                is_file, actions = entry.section == "files", dict(entry.actions)
                topic = self._known(Topic(entry.opens, is_file, self.passages, actions, entry.seq, entry.failed))
            elif entry.section in ("files", "commands"):
                self._add(
                    entry.seq,
                    Provenance("tool", entry.tool),
                    entry.text,
                    topic,
                    "previous",
                    is_doubtful=bool(entry.tool),
                )
            elif entry.section == "plan":
                self.plan.tell_again(entry.text)
            elif entry.tool:
                self._add(entry.seq, Provenance("tool", entry.tool), entry.text, kind="result")
            elif entry.section in _SPEAKERS:
                self._add(entry.seq, _SPEAKERS[entry.section], entry.text)
            else:
                self._add(entry.seq, MODEL, entry.text, kind="previous")
        return self._handed_out()

    def read(self, source: SourceMessage) -> list[HistoryPassage]:
        """The passages of one message."""
        self._changes(self)
        message = source.message
        tools, is_first = self._calls.tools(message.results), not self._has_begun
        blocks = [block for _, block in read_as(message, source.spoken_by, tools, is_first=is_first)]
        for block in blocks:
            self._read_block(source.seq, message.role, block)
        if message.role == "user":  # calls in its texts have names of their own place, which the next one uses again
            for block in blocks:
                if isinstance(block, ToolCall):
                    self._calls.close(self._journal, block.id)
        self._has_begun = self._has_begun or message.role == "assistant"
        return self._handed_out()

    def _read_block(self, seq: int, role: Role, block: Block) -> None:
        match block:
            case Text() if role == "assistant":
                self._add(seq, MODEL, block.text)
            case Text() if role == "system":
                self._add(seq, CLIENT, block.text, kind="note")
            case Text():
                side = users_side(block.text)
                for added in side.added:
                    self._add(seq, CLIENT, added, kind="note")
                for typed in side.typed:
                    self._add(seq, PERSON, typed)
            case ToolCall():
                self._called(seq, block)
            case ToolResult():
                self._answered(seq, block)
            case Document():
                self._add(seq, CLIENT, f"{block.title}\n{block.text}".strip("\n"), kind="note")
            case Image() | Opaque() | Reasoning():
                pass

    def forget_calls(self, most: int) -> None:
        """Keep the newest calls: results come soon, or never."""
        self._calls.forget(most)

    def _handed_out(self) -> list[HistoryPassage]:
        found, self._found = self._found, []
        return found

    def _changes(self, *ones: Reversible) -> None:
        if self._journal is not None:
            for one in ones:
                self._journal.changes(one)

    def _add(
        self,
        seq: int,
        speaker: Provenance,
        text: str,
        topic: Topic | None = None,
        kind: PassageKind = "speech",
        **marks: bool,
    ) -> None:
        if text.strip():
            self._found.append(HistoryPassage(self.passages, seq, speaker, text, topic, kind, **marks))
            self.passages += 1

    def _called(self, seq: int, call: ToolCall) -> None:
        arguments, plan = arguments_of(call), self.plan
        self._changes(plan)
        if plan.replace(seq, plan_in(arguments)) or (isinstance(arguments, dict) and plan.touch(seq, arguments)):
            self._calls.add(self._journal, call, ())
            return
        topics: list[Topic] = []
        for use in touches_of(call):
            if use.path:
                topic = self.files.get(use.path) or self._known(Topic(use.path, True, self.passages))
                self._changes(topic)
                topic.actions[use.action] = topic.actions.get(use.action, 0) + 1
                topic.order, topic.seq = self.passages, seq
            else:
                topic = self._known(Topic(use.label, False, self.passages, seq=seq))
            self._add(seq, MODEL, use.old, topic, "call", is_replaced=True)
            self._add(seq, MODEL, use.new, topic, "call")
            topics.append(topic)
        for topic in topics:
            topic.answered = False
        self._calls.add(self._journal, call, topics)

    def _known(self, topic: Topic) -> Topic:
        """The file that is remembered by this name, or this one from now on; each command is one of its own."""
        if topic.is_file and topic.name in self.files:
            return self.files[topic.name]
        if topic.is_file:
            put(self._journal, self.files, topic.name, topic)
        else:
            self._numbered += 1
            put(self._journal, self.commands, self._numbered, topic)
        return topic

    def _answered(self, seq: int, result: ToolResult) -> None:
        called, topics = self._calls.answered(self._journal, result)
        tool, text = called or result.name, result_text(result)
        low = text[:600].lower()  # most outputs do not even have the words
        may_tell = "exit" in low or "returncode" in low or low.startswith("error")
        failed = result.is_error or (may_tell and _FAILED.search(text[:600]) is not None)
        for topic in topics:
            self._changes(topic)
            topic.answered, topic.failed = True, failed
            topic.outcome = "" if topic.is_file else outcome_in(text, failed=failed)
        words, about, speaker = result_words(result, tool), topics[0] if topics else None, Provenance("tool", tool)
        if words.persons and not called:  # of a call that nobody made, or of one of several
            words = ResultWords(rest=text)
        for persons in words.persons:
            self._add(seq, PERSON, persons)
        claims = not words.doubtful and claims_a_person(words.rest)
        self._add(seq, speaker, words.rest, about, "result", is_error=failed, claims=claims)
        for doubtful in words.doubtful:
            self._add(seq, speaker, doubtful, about, "result", is_error=failed, is_doubtful=True)
