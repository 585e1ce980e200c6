"""The history as passages: who said it, about which file or command, and whether it went wrong.

A passage is one block, or one side of one change; its lines are the pieces that a digest is made of, verbatim and short
enough to be weighed by themselves. Reasoning is no passage: it was never said. What agents put on the user's side by
themselves (reminders, environment notes) is no person's; what a person said inside a tool's result is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from contextfold.deferred import expression
from contextfold.domain import (
    Document,
    Image,
    Message,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    arguments_of,
    as_told,
    plan_in,
    said_in_result,
    touches_of,
    users_side,
)

from .earlier import entries
from .lines import Term, outcome_in, terms_in

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


# -- what can be taken back -------------------------------------------------------------------------------------------

K = TypeVar("K")
V = TypeVar("V")


class Reversible(Protocol):
    """Something that changes, and can be put back to what it was."""

    def state(self) -> tuple[Any, ...]: ...

    def restore(self, state: tuple[Any, ...]) -> None: ...


class Journal:
    """What things held at some moment, as far as they changed since."""

    def __init__(self) -> None:
        self._states: dict[int, tuple[Reversible, tuple[Any, ...]]] = {}
        self._entries: dict[int, tuple[dict[Any, Any], dict[Any, Any]]] = {}

    def changes(self, one: Reversible) -> None:
        """Say so before something changes; only the first time matters."""
        if id(one) not in self._states:
            self._states[id(one)] = one, one.state()

    def put(self, entries: dict[K, V], key: K, value: V) -> None:
        """Set an entry of a dictionary."""
        before = self.before(entries)
        if key not in before:
            before[key] = entries.get(key)
        entries[key] = value

    def before(self, entries: dict[K, V]) -> dict[K, V | None]:
        """What a dictionary held, for whoever sets many entries: each has to be written here first, once."""
        known = self._entries.get(id(entries))
        if known is None:
            known = self._entries[id(entries)] = entries, {}
        return known[1]

    def changed(self, entries: dict[K, V]) -> Iterable[K]:
        """The keys of a dictionary that were set."""
        return self._entries[id(entries)][1] if id(entries) in self._entries else ()

    def undo(self) -> None:
        """Put everything back."""
        for one, state in self._states.values():
            one.restore(state)
        for changed, before in self._entries.values():
            for key, value in before.items():
                if value is None:
                    del changed[key]
                else:
                    changed[key] = value
        self._states.clear()
        self._entries.clear()


def put(journal: Journal | None, entries: dict[K, V], key: K, value: V) -> None:
    """Set an entry of a dictionary, in a way that can be taken back where there is a journal."""
    if journal is None:
        entries[key] = value
    else:
        journal.put(entries, key, value)


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


class SourceMessage:
    """A message that is about to be folded away, and the place it can be recalled from.

    It may be given unread, as what reads it: then that is done by whoever needs its words first, where that is.
    """

    __slots__ = ("_given", "seq")

    def __init__(self, seq: int, message: Message | Callable[[], Message]) -> None:
        self.seq, self._given = seq, message

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
                is_file, actions = entry.section == "files", dict(entry.actions)
                topic = self._known(Topic(entry.opens, is_file, self.passages, actions, entry.seq, entry.failed))
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
                case Text() if source.message.role == "assistant":
                    self._add(source.seq, "assistant", block.text)
                case Text():
                    side = users_side(block.text)
                    for added in side.added:
                        self._add(source.seq, "note", added)
                    for typed in side.typed:
                        self._add(source.seq, "user", typed)
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

    def _add(self, seq: int, speaker: Speaker, text: str, topic: Topic | None = None, **marks: bool) -> None:
        if text.strip():
            self._found.append(HistoryPassage(self.passages, seq, speaker, text, topic, **marks))
            self.passages += 1

    def _called(self, seq: int, call: ToolCall) -> None:
        arguments, plan = arguments_of(call), self.plan
        self._changes(plan)
        if plan.replace(seq, plan_in(arguments)) or (isinstance(arguments, dict) and plan.touch(seq, arguments)):
            put(self._journal, self._calls, call.id, (call.name, ()))
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
            self._add(seq, "call", use.old, topic, is_replaced=True)
            self._add(seq, "call", use.new, topic)
            topics.append(topic)
        for topic in topics:
            topic.answered = False
        put(self._journal, self._calls, call.id, (call.name, tuple(topics)))

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
        tool, topics = self._calls.get(result.call, ("", ()))
        blocks = (block for block in result.blocks if isinstance(block, Text | Document))
        text = "\n".join(
            block.text if isinstance(block, Text) else f"{block.title}\n{block.text}".strip() for block in blocks
        )
        low = text[:600].lower()  # most outputs do not even have the words
        may_tell = "exit" in low or "returncode" in low or low.startswith("error")
        failed = result.is_error or (may_tell and _FAILED.search(text[:600]) is not None)
        for topic in topics:
            self._changes(topic)
            topic.answered, topic.failed = True, failed
            topic.outcome = "" if topic.is_file else outcome_in(text, failed=failed)
        said = said_in_result(result, tool)
        for words in said:
            self._add(seq, "user", words)
        if not said:  # around a person's words stand only the client's
            self._add(seq, "result", text, topics[0] if topics else None, is_error=failed)
