"""What changes in a session from turn to turn, in parts that each own their fields.

Nothing outside this module writes to them: whoever has something to tell a part calls one of its methods.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from contextfold.dialects import Dialect
from contextfold.domain import (
    NO_PREFIX,
    Appended,
    Attacher,
    AttachmentIndex,
    Message,
    Shown,
    ToolsProjected,
    View,
    check_view,
    decode,
    prefix_numbers,
)
from contextfold.errors import InvalidRequest
from contextfold.folding import (
    Ahead,
    Foldable,
    FoldDecision,
    Made,
    Signals,
    Steps,
    Strategy,
    WholeRequest,
    settle_ahead,
    start_ahead,
)
from contextfold.summaries import Language
from contextfold.thread import Thread
from contextfold.toolbox import ToolList
from contextfold.workspace import Files, ToDos

from .request import Request

T = TypeVar("T")

System = str | Sequence[Mapping[str, Any]] | None
Tools = Sequence[Mapping[str, Any]] | None


class Surroundings(Struct, frozen=True):
    """What surrounds the messages of a request, as the caller gives it. What is left out stays as it was."""

    system: System = None
    tools: Tools = None
    output: int | None = None


class RequestFrame(Struct, frozen=True):
    """The surroundings in force, weighed once for each content."""

    system: System = None
    tools: Tools = None
    output: int | None = None
    system_tokens: int = 0
    tool_tokens: int = 0
    request_tokens: int = 0  # what every request costs by itself
    system_json: bytes = b""
    tools_json: bytes = b""
    tokens: int = 0  # all that a request holds beside its messages
    is_weighed: bool = False

    def is_for(self, system: System, tools: Tools, output: int | None, system_json: bytes, tools_json: bytes) -> bool:
        """Whether it was weighed for these very surroundings, unchanged where they stand."""
        if not self.is_weighed or self.output != output or self.system is not system or self.tools is not tools:
            return False
        return self.system_json == system_json and self.tools_json == tools_json


class Memo(Generic[T]):
    """The newest answer to a question, given again while the question is the same."""

    def __init__(self) -> None:
        self._newest: tuple[object, T] | None = None

    @property
    def newest(self) -> T | None:
        return None if self._newest is None else self._newest[1]

    def of(self, question: object, answer: Callable[[], T]) -> T:
        if self._newest is None or self._newest[0] != question:
            self._newest = question, answer()
        return self._newest[1]


class CurrentTurn:
    """The turn being taken: what surrounds its messages, and why it may fold."""

    def __init__(self) -> None:
        self.system: System = None  # what the caller says beside L0 and L1
        self.frame = RequestFrame()
        self.dialect = ""  # of the newest request; empty before the first
        self.signals = Signals()
        self.instructions = ""  # the caller's own, for summaries of this turn
        self.was_warned = False  # that folding comes nearer
        self.conversation: WholeRequest | None = None  # the newest request, as it would be without folding
        self.language: Language | None = None  # of the thread's stand-ins, once it is chosen
        self.recalls_reasoning = True

    def surround(self, system: System, frame: RequestFrame) -> None:
        """Put what the caller says, and what follows from it, around the messages."""
        self.system, self.frame = system, frame

    def recall_without_reasoning(self) -> None:
        """Recall no reasoning from here on: whoever owns the history may have left it out of it."""
        self.recalls_reasoning = False

    def speak(self, dialect: str) -> None:
        """Write the next request in this dialect."""
        self.dialect = dialect

    def speak_of(self, language: Language) -> Language:
        """Write the stand-ins of this thread in one language from now on."""
        self.language = language
        return language

    def signal(self, signals: Signals, instructions: str = "") -> None:
        """Say what beside sizes speaks for folding, or against it."""
        self.signals, self.instructions = signals, instructions

    def warn(self) -> bool:
        """Whether it is the first warning since there was no need for one."""
        is_first, self.was_warned = not self.was_warned, True
        return is_first

    def calm(self) -> None:
        """There is no need for a warning any more."""
        self.was_warned = False

    def propose(self, conversation: WholeRequest) -> None:
        """The request as it would be without folding."""
        self.conversation = conversation

    def rest(self) -> None:
        """A request was answered, so one less need go without a fold."""
        if self.signals.rests:
            self.signals = replace(self.signals, rests=self.signals.rests - 1)

    def leave(self) -> None:
        """The head moved: what was noticed belongs to the place that was left."""
        self.was_warned, self.signals = False, Signals()


class OpenRequests:
    """The request that awaits its answer, and those that got none and are not written down yet."""

    def __init__(self) -> None:
        self.newest: Request | None = None
        self.unanswered: list[Request] = []

    def copy(self) -> OpenRequests:
        twin = OpenRequests()
        twin.newest, twin.unanswered = self.newest, self.unanswered[:]
        return twin

    def ask(self, request: Request) -> Request:
        """A request was made; its answer is awaited. One that it takes the place of got none, unless it is the same."""
        if self.newest is not None and self.newest.json != request.json:
            self.unanswered.append(self.newest)
        self.newest = request
        return request

    def resume(self, request: Request) -> None:
        """An earlier request is answered after all; the one that was made meanwhile waits for its own answer."""
        waiting = self.unanswered if self.newest is None else [*self.unanswered, self.newest]
        self.unanswered = [each for each in waiting if each is not request]
        self.newest = request

    def answer(self) -> None:
        """The request was answered."""
        self.newest = None

    def drop(self) -> None:
        """The request is no longer what would be sent, and nobody will answer it."""
        if self.newest is not None:
            self.unanswered.append(self.newest)
        self.newest = None

    def write_down(self) -> list[Request]:
        """The requests that got no answer, once."""
        waiting, self.unanswered = self.unanswered, []
        return waiting


class OwnedList:
    """A list of messages that somebody else owns, as it was followed last, with the numbers of its prefixes.

    A copy of the list is kept, not of the messages: one that was given is not to be changed where it stands.
    """

    def __init__(self) -> None:
        self.numbers: list[bytes] = []  # of each prefix
        self.end = 0  # the newest message of the thread when it was followed
        self.is_whole = False  # what is given now begins with all that was given then
        self._newest: tuple[int, int, Message] | None = None  # what was appended last, as it was read
        self._given: list[object] = []

    def same(self, given: list[object]) -> int:
        """How many messages at the front are those of the last time."""
        many = len(self._given)
        # Lists of one length compare without a look at what is the same object; a slice would touch all of them.
        self._given.extend(given[many:])
        try:
            self.is_whole = self._given == given
        finally:
            del self._given[many:]
        if self.is_whole:
            return many
        pairs = enumerate(zip(self._given, given, strict=False))
        return next((place for place, (old, new) in pairs if old is not new and old != new), min(many, len(given)))

    def go_on(self, length: int, forms: Iterable[bytes]) -> None:
        """Let go of what comes behind this place, and number what comes there now."""
        del self.numbers[length:], self._given[length:]
        self.numbers.extend(prefix_numbers(forms, self.numbers[-1] if self.numbers else NO_PREFIX))

    def keep(self, given: list[object], since: int, end: int) -> None:
        """The list was followed, up to this message of the thread; until then it counts as unknown."""
        self._given.extend(given[since:])
        self.end = end

    def hear(self, seq: int, times_forgotten: int, message: Message) -> None:
        """A message was appended ahead of the list; if it comes there next, it need not be read again."""
        self._newest = seq, times_forgotten, message

    def heard(self, seq: int, times_forgotten: int) -> Message | None:
        """The message of this seq, if it was the last to be appended, and nothing was forgotten since."""
        newest = self._newest
        return newest[2] if newest is not None and newest[:2] == (seq, times_forgotten) else None


UNLISTED = "unknown-role"  # the rule about roles that nobody listed: they go back as they came


class Guard:
    """Refuses requests that a provider would reject: all of it once for each array of a view, then what was added."""

    def __init__(self) -> None:
        self._array: Shown | None = None  # the array of a view that was checked as a whole
        self._dialect: Dialect | None = None  # in which it was
        self._length = 0  # of what was checked of it

    def check(self, dialect: Dialect, view: View, body: bytes) -> None:
        """Raise `InvalidRequest` with the first problems; flat per turn."""
        if self._array is not view.array or self._dialect is not dialect:
            found = dialect.check(decode(body))
            problems = [each for each in found if each.rule != UNLISTED]  # whether it is taken is the provider's to say
            self._array, self._dialect = view.array, dialect
        else:
            start = view.cut_at_or_before(max(0, self._length - 1))
            problems = check_view(view.array.items[start : view.length])
        self._length = view.length
        if problems:
            self._array = None
            listing = "; ".join(f"{problem.path}: {problem.rule}. {problem.advice}" for problem in problems[:3])
            raise InvalidRequest(f"The request would be rejected: {listing}")


class Background:
    """A summary written while the conversation goes on: wanted by `prepare`, begun by the next `append`.

    Choosing what to summarize takes a moment, and `prepare` has none to give: whoever appends is in less of a hurry.
    """

    def __init__(self) -> None:
        self.wanted: FoldDecision | None = None  # why a summary is to be begun
        self.ahead: Ahead | None = None  # what is being written

    def want(self, decision: FoldDecision) -> None:
        """Have a summary begun with the next message, unless one is being written."""
        if self.ahead is None:
            self.wanted = decision

    def begin(self, thread: Foldable, stages: Sequence[Strategy], head: int) -> Steps[FoldDecision | None]:
        """Begin what is wanted; the decision for which there is nothing to summarize yet."""
        decision, self.wanted = self.wanted, None
        if decision is None:
            return None
        self.ahead = yield from start_ahead(thread, decision, stages, head)
        return decision if self.ahead is None else None

    def settle(self, thread: Foldable, is_on_branch: Callable[[int], bool]) -> Steps[Made]:
        """What was written in the background becomes a fold, or an attempt that says why not."""
        ahead, self.ahead = self.ahead, None
        if ahead is None:
            return Made()
        return (yield from settle_ahead(thread, ahead, is_on_branch(ahead.head)))

    def close(self) -> None:
        """Nobody will ask for what is still being written."""
        if self.ahead is not None:
            self.ahead.cancel()
            self.ahead = None


class Attachers:
    """Who is asked once per turn what to add for the model, and when they were asked last."""

    def __init__(self) -> None:
        self.all: tuple[Attacher, ...] = ()
        self.given: tuple[Attacher, ...] = ()  # those that the caller gave
        self.workspace: Path | None = None  # the agent's directory, where it has one
        self.asked: tuple[int, tuple[int, ...]] | None = None  # the newest message and the folds at that moment
        self.index = AttachmentIndex()

    def plug(self, workspace: str | os.PathLike[str] | None, attachers: Iterable[Attacher]) -> None:
        """Ask these for attachments; the shipped ones follow one thread each."""
        self.given = tuple(attachers)
        own = tuple(each.beside() if isinstance(each, Files | ToDos) else each for each in self.given)
        if workspace is not None:
            self.workspace = Path(workspace)
            shipped = (Files(workspace), ToDos())
            own += tuple(each for each in shipped if not any(isinstance(other, type(each)) for other in own))
        self.all += own

    def put_first(self, attacher: Attacher) -> None:
        """Ask this one before the others, unless one of its kind is asked already."""
        if not any(isinstance(each, type(attacher)) for each in self.all):
            self.all = (attacher, *self.all)

    def were_asked(self, place: tuple[int, tuple[int, ...]]) -> None:
        self.asked = place

    def ask_again(self) -> None:
        """There may be something new to attach, though nothing was said."""
        self.asked = None


class ToolGate:
    """The tools in force, whether a changed list waits for a fold, and which calls were refused."""

    def __init__(self) -> None:
        self.tools: ToolList | None = None
        self.waits = False  # a changed list of tools is kept back until a fold
        self.is_changed = False  # the definitions of the last request differ from those before
        self.refusals = Refusals()

    def take(self, given: Tools, before: Tools) -> Tools:
        """The definitions for the next request; None where they stay as they were."""
        if given is None:
            self.is_changed = False
            return None
        if not isinstance(given, ToolList):
            self.tools, self.waits = None, False
            self.is_changed = before is not None and list(given) != list(before)
            return given
        self.tools = given
        differs = before is not None and list(given.definitions) != list(before)
        # Providers reject calls in the history when no tool at all is defined, so an empty list never replaces another.
        may_go = given.is_forced and bool(given.definitions)
        self.waits = differs and given.mode == "projected" and not may_go
        self.is_changed = differs and not self.waits
        return None if self.waits else list(given.definitions)

    @property
    def told(self) -> tuple[str, ...] | None:
        """What the model may call, where the definitions it sees do not say it."""
        if self.tools is None or (self.tools.mode == "projected" and not self.waits):
            return None
        return self.tools.visible if self.tools.hidden else None


class Refusals:
    """The calls that were refused and whose result may not be appended, with the words that may; follows the events."""

    def __init__(self) -> None:
        self._read = 0
        self._texts: dict[str, str] = {}

    def of(self, thread: Thread) -> Mapping[str, str]:
        """By the id of the call, what its result has to say."""
        events = thread.branch.events
        if self._read > len(events):
            self._read, self._texts = 0, {}
        for entry in events[self._read :]:
            if isinstance(entry.event, Appended):
                for call in entry.event.shape.calls:
                    self._texts.pop(call, None)
            elif isinstance(entry.event, ToolsProjected) and "refused" in entry.event.details:
                body = thread.lens.words(entry.seq)
                text = "" if body is None else str(decode(body).get("text", ""))
                self._texts[str(entry.event.details["refused"])] = text
        self._read = len(events)
        return self._texts
