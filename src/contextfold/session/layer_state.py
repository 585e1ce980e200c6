"""A session's layers as they are now: what its thread's notes hold, and how that is shown, kept from turn to turn.

Nothing here is the truth: all of it can be made again from the events. It writes nothing and asks nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from contextfold.domain import Counter, Message, Noted, Text, View
from contextfold.errors import CannotFit
from contextfold.layers import Layout, Projected, Renditions, Section, Shower, Showing, State, first_nonce
from contextfold.thread import Thread

from .turn import System

KIND = "layer"  # of the attachments that show layers


class NoteState:
    """The running projection of one thread's notes."""

    def __init__(self) -> None:
        self.layout = Layout()
        self._projected = Projected(self.layout)
        self._forgotten = 0  # how often the thread was made to forget
        self._loaded = 0  # notes whose bodies were asked for in one go
        self._known: tuple[object, ...] = ()
        self._state = State()

    def lay_out(self, layout: Layout) -> None:
        """Hold layers differently from here on; nothing that was read before is kept."""
        self.layout, self._projected, self._loaded = layout, Projected(layout), 0

    def state(self, thread: Thread, view: View, tools: tuple[str, ...] | None) -> State:
        """What the layers hold at the head of the thread; `tools` are those the model is told of in words."""
        lens, notes = thread.lens, thread.branch.notes
        if self._forgotten != lens.times_forgotten:
            self._forgotten = lens.times_forgotten
            self.lay_out(replace(self.layout))  # another one, so that nothing shown by it is kept either
        if len(notes) != self._loaded:
            lens.load(notes[self._loaded if self._loaded < len(notes) else 0 :])
            self._loaded = len(notes)
        noted = self._projected.follow(notes, lens.words, lambda seq: _nonce(thread, seq))
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


class LayerDisplay:
    """How the layers of a state are shown in the room there is."""

    def __init__(self) -> None:
        self.showing = Showing()
        self.total = 0  # what layers may use together
        self.limit: int | None = None  # what there was room for when it was short; holds until something is folded
        self._shower: Shower | None = None
        self._counter: Counter | None = None

    def show(self, state: State, layout: Layout, counter: Counter, total: int) -> bool:
        """Show a state in so much room, or in what there was last; whether anything is shown differently."""
        before, self.total = self.showing, total
        self.showing = self._shown_by(layout, state, counter).show(state, min(total, self.limit or total))
        return self.showing is not before

    def make_do(self, state: State, layout: Layout, counter: Counter, limit: int | None) -> None:
        """Show the same in less room; None where there is enough again."""
        self.limit = limit
        total = self.total if limit is None else limit
        self.showing = self._shown_by(layout, state, counter).show(state, total)

    def framed(self, state: State, layout: Layout, counter: Counter, total: int) -> tuple[Section, ...]:
        """L0 and L1, which are shown whole or not at all."""
        sections = self._shown_by(layout, state, counter).framed(state)
        if sum(section.tokens for section in sections) > total:
            raise CannotFit({f"layer {each.layer.name}": each.tokens for each in sections}, total)
        return sections

    def _shown_by(self, layout: Layout, state: State, counter: Counter) -> Shower:
        """Whoever shows this state; what it keeps is good for one layout, one nonce and one way of counting."""
        shower = self._shower
        if shower is not None and shower.layout is not layout:
            self.limit, shower = None, None
        if shower is None or shower.renditions.nonce != state.nonce or self._counter is not counter:
            around = counter.tokens(counter.shape(Message("user", (Text("."),)))) - counted(counter, ".")
            renditions = Renditions(lambda text: counted(counter, text), state.nonce)
            shower = self._shower = Shower(layout, renditions, around)
            self._counter = counter
        return shower


def surrounded(system: System, sections: Sequence[Section]) -> System:
    """The system part: what the caller says, then L0 and L1, which change more often."""
    texts = [section.text for section in sections]
    if not texts:
        return system
    if system is None or isinstance(system, str):
        return "\n\n".join([*filter(None, [system]), *texts])
    return [*system, *({"type": "text", "text": text} for text in texts)]


def without_sections(system: System, sections: Sequence[Section]) -> System:
    """What the caller said of a system part that ends with L0 and L1; nothing where they have changed since."""
    texts = [section.text for section in sections]
    if isinstance(system, str):
        own = system.removesuffix("\n\n".join(texts))
        return own.removesuffix("\n\n") if own != system or not texts else None
    if system is None or [block.get("text") for block in system[len(system) - len(texts) :]] != texts:
        return None
    return system[: len(system) - len(texts)]


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
