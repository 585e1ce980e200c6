"""A session's layers and tools as they are now: what follows from the thread's notes, kept from turn to turn.

Nothing here is the truth: all of it can be made again from the events. It writes nothing and asks nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from contextfold.domain import Appended, Counter, Message, Noted, Text, ToolsProjected, View, decode
from contextfold.errors import CannotFit
from contextfold.layers import Layout, Projected, Renditions, Section, Shower, Showing, State, first_nonce
from contextfold.thread import Thread
from contextfold.toolbox import ToolList

System: TypeAlias = str | Sequence[Mapping[str, Any]] | None

KIND = "layer"  # of the attachments that show layers


class Layering:
    """The running projection of one session's notes, how they are shown, and the tools in force."""

    def __init__(self) -> None:
        self.layout = Layout()
        self.system: System = None  # what the caller says beside L0 and L1
        self.tools: ToolList | None = None
        self.waits = False  # a changed list of tools is kept back until a fold
        self.is_changed = False  # the definitions of the last request differ from those before
        self.showing = Showing()
        self.total = 0  # what layers may use together
        self.limit: int | None = None  # what there was room for when it was short; holds until something is folded
        self.refusals = Refusals()
        self._projected = Projected(self.layout)
        self._shower: Shower | None = None
        self._counter: Counter | None = None
        self._forgotten = 0  # how often the thread was made to forget
        self._loaded = 0  # notes whose bodies were asked for in one go
        self._known: tuple[object, ...] = ()
        self._state = State()

    def lay_out(self, layout: Layout) -> None:
        """Show layers differently from here on; nothing that was read before is kept."""
        self.layout, self._projected, self._shower = layout, Projected(layout), None
        self._loaded, self.limit = 0, None

    def state(self, thread: Thread, view: View) -> State:
        """What the layers hold at the head of the thread."""
        lens, notes = thread.lens, thread.branch.notes
        if self._forgotten != lens.times_forgotten:
            self._forgotten = lens.times_forgotten
            self.lay_out(self.layout)
        if len(notes) != self._loaded:
            lens.load(notes[self._loaded if self._loaded < len(notes) else 0 :])
            self._loaded = len(notes)
        noted = self._projected.follow(notes, lens.words, lambda seq: _nonce(thread, seq))
        tools = self._told_tools()
        known = noted, view.open_calls, tools
        if self._known != known:
            nonce = noted.nonce or first_nonce(thread.name, b"")
            self._state = replace(noted, nonce=nonce, open_tools=_open_tools(view), tools=tools)
            self._known = known
        return self._state

    @property
    def known(self) -> State:
        """The state as it was asked for last."""
        return self._state

    def _told_tools(self) -> tuple[str, ...] | None:
        """What the model may call, where the definitions it sees do not say it."""
        if self.tools is None or (self.tools.mode == "projected" and not self.waits):
            return None
        return self.tools.visible if self.tools.hidden else None

    def shower(self, state: State, counter: Counter) -> Shower:
        """Whoever shows this state; what it keeps is good for one nonce and one way of counting."""
        if self._shower is None or self._shower.renditions.nonce != state.nonce or self._counter is not counter:
            around = counter.tokens(counter.shape(Message("user", (Text("."),)))) - counted(counter, ".")
            renditions = Renditions(lambda text: counted(counter, text), state.nonce)
            self._shower, self._counter = Shower(self.layout, renditions, around), counter
        return self._shower

    def framed(self, state: State, counter: Counter, total: int) -> tuple[Section, ...]:
        """L0 and L1, which are shown whole or not at all."""
        sections = self.shower(state, counter).framed(state)
        if sum(section.tokens for section in sections) > total:
            raise CannotFit({f"layer {each.layer.name}": each.tokens for each in sections}, total)
        return sections

    def surrounded(self, sections: Sequence[Section]) -> System:
        """The system part: what the caller says, then L0 and L1, which change more often."""
        texts = [section.text for section in sections]
        if not texts:
            return self.system
        if self.system is None or isinstance(self.system, str):
            return "\n\n".join([*filter(None, [self.system]), *texts])
        return [*self.system, *({"type": "text", "text": text} for text in texts)]


class Refusals:
    """The calls that were refused and whose result may not be appended, with the words that may; follows the events."""

    def __init__(self) -> None:
        self._read = 0
        self._texts: dict[str, str] = {}

    def of(self, thread: Thread) -> Mapping[str, str]:
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


def counted(counter: Counter, text: str) -> int:
    """Raw tokens of a text."""
    return counter.block_tokens(counter.shape(Message("user", (Text(text),))).blocks[0].measure)


def _nonce(thread: Thread, seq: int) -> str:
    event = thread.branch.events[seq - 1].event
    nonce = event.details.get("nonce") if isinstance(event, Noted) else None
    return nonce if isinstance(nonce, str) else ""


def _open_tools(view: View) -> tuple[str, ...]:
    """The tools whose calls wait for a result."""
    wanted = set(view.open_calls)
    names: list[str] = []
    for place in range(view.length - 1, -1, -1):
        if not wanted:
            break
        for block in view.item(place).shape.blocks:
            if block.kind == "call" and block.call in wanted:
                wanted.discard(block.call)
                names.append(block.name)
    return tuple(sorted(set(names)))
