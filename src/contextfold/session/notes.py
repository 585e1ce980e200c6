"""What is written down in layers and shown of them: notes as events, L0 and L1 in the system part, others attached.

A note that changes nothing is not written. Whatever is written is shown by the next request, where there is room.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from contextfold.deferred import expression
from contextfold.domain import Attachment, Detail, Environment, Message, NewEvent, Noted, Phase, Projection, Text, Turn
from contextfold.errors import BadConfiguration, NotFound
from contextfold.folding import Steps, record
from contextfold.layers import (
    FRAMED,
    Entered,
    Failure,
    Granted,
    Item,
    LayerPage,
    LayerUse,
    Layout,
    Moved,
    Retracted,
    Revoked,
    Section,
    State,
    System,
    Task,
    element,
    first_nonce,
    identity_of,
    kind_of,
    room_for_layers,
    written,
)
from contextfold.store import Memory

from .desk import Desk
from .layer_state import KIND

# Markup begins with this sign and text cannot hold it, so what stands here is ours.
_NOTES = expression(r'^<\w+ id="(\d+)"', re.MULTILINE)
LEAVES = 2  # layers take one part in so many of what is free, so that the next turn does not have to fold for them


def state_of(desk: Desk) -> State:
    """What the layers hold now."""
    return desk.notes.state(desk.thread, desk.view(), desk.tools.told)


def note(desk: Desk, item: Item) -> Steps[int]:
    """Write an item down; its seq, or that of the note which says the same already."""
    state = state_of(desk)
    layer = "" if isinstance(item, Retracted) else desk.notes.layout.layer_of(item).name
    # Only what can be replaced is known already: other things may happen twice.
    alike = [entry.seq for entry in state.entries if entry.item == item] if identity_of(item) is not None else []
    if alike:
        return alike[0]
    if isinstance(item, System):
        _check(desk, replace(state, system=item))
    if isinstance(item, Task):
        _check(desk, replace(state, task=item))
    if isinstance(item, Retracted) and all(entry.seq != item.note for entry in state.entries):
        raise NotFound(f"No layer holds a note {item.note}. Those there are stand in `state.entries`.")
    body = written(item)
    shape = desk.counter.shape(Message("user", (Text(element(item, state.nonce)),)))

    def drafting(now: Projection) -> list[NewEvent]:
        first: dict[str, Detail] = {} if now.notes else {"nonce": first_nonce(desk.thread.name, body)}
        return [NewEvent(Noted(layer or kind_of(item), shape, first), now.head, desk.now(), body)]

    logged = yield from record(drafting)
    return logged[-1].seq


def show_memory(desk: Desk, memory: Memory) -> Steps[None]:
    """Write down in L3 what is remembered and in force; take back what was replaced or is over since."""
    held = [entry.item for entry in memory.entries()]
    told = {entry.seq: entry.item for entry in state_of(desk).entries}
    once = [entry.item for entry in memory.entries(history=True)]
    for seq, item in told.items():
        if item in once and item not in held:
            yield from note(desk, Retracted(seq))
    for item in held:
        if item not in told.values():
            yield from note(desk, item)


def define(desk: Desk, system: System | None, task: Task | None, layout: Layout | None) -> Steps[None]:
    """Say anew who the model is, what it is to reach, or how layers are shown. What is left out stays as it was."""
    if layout is not None:
        desk.notes.lay_out(layout)
    state = state_of(desk)
    _check(desk, replace(state, system=system or state.system, task=task or state.task))
    for item, old in ((system, state.system), (task, state.task)):
        if item is not None and item != old:
            yield from note(desk, item)


def _check(desk: Desk, state: State) -> None:
    """Refuse a role and a task that would never fit, before anything is written."""
    desk.display.framed(state, desk.notes.layout, desk.counter, total_of(desk))


def enter(desk: Desk, where: Phase | Environment | str) -> Steps[None]:
    """Begin another phase, or act in another environment."""
    state = state_of(desk)
    if isinstance(where, Environment):
        if state.environment is not where:
            yield from note(desk, Moved(where))
        return
    phase = Phase.of(where)
    if state.phase is not phase:
        yield from note(desk, Entered(phase))


def grant(desk: Desk, permission: str) -> Steps[None]:
    """Give a permission."""
    if not permission.strip():
        raise BadConfiguration("A permission needs a name.")
    if permission not in state_of(desk).permissions:
        yield from note(desk, Granted(permission))


def revoke(desk: Desk, permission: str) -> Steps[None]:
    """Take a permission back."""
    if permission in state_of(desk).permissions:
        yield from note(desk, Revoked(permission))


def failed(desk: Desk, text: str) -> Steps[int]:
    """Write a failure down."""
    return (yield from note(desk, Failure(text)))


# -- showing --------------------------------------------------------------------------------------------------------


def total_of(desk: Desk) -> int:
    """Raw tokens that all layers may use together."""
    reserve, tools = desk.budget().reserve, desk.turn.frame.tool_tokens
    return room_for_layers(desk.model.window, reserve, tools, desk.notes.layout.budget)


def framed(desk: Desk) -> Sequence[Section]:
    """L0 and L1 as the system part shows them. Raises `CannotFit` where they are too large."""
    return desk.display.framed(state_of(desk), desk.notes.layout, desk.counter, total_of(desk))


def refresh(desk: Desk) -> None:
    """Look at the notes again before attachments are asked for."""
    state = state_of(desk)
    if not desk.thread.branch.notes and state.tools is None:
        return
    if desk.display.show(state, desk.notes.layout, desk.counter, total_of(desk)):
        desk.attachers.ask_again()
    desk.attachers.put_first(Layers(desk))


def uses(desk: Desk, attached: Iterable[Attachment]) -> tuple[LayerUse, ...]:
    """What became of each layer, for the request's report."""
    return desk.display.showing.uses({each.key.partition("/")[0] for each in attached if each.kind == KIND})


class Layers:
    """Attaches the layers behind L1, each when it changed. Reads what `refresh` left, and nothing else."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._folded: tuple[int, ...] = ()

    def __call__(self, turn: Turn) -> Iterator[Attachment]:
        if turn.folded and turn.folded != self._folded:
            self._folded = turn.folded
            self._show(None)  # there may be more room than before
        parts, room = self._changed(turn), turn.room // LEAVES
        if sum(part.tokens for part in parts) > room:
            self._make_do_with(room)
            parts = self._changed(turn)
        for part in parts:
            yield Attachment(KIND, part.text, part.key)

    def _changed(self, turn: Turn) -> list[LayerPage]:
        """What the view does not show as it is now, the most important layer first."""
        state = self._desk.notes.known
        sections = sorted(self._desk.display.showing.attached, key=lambda each: each.layer.priority)
        return [part for each in sections for part in each.parts if _is_new(part, each, turn, state)]

    def _make_do_with(self, room: int) -> None:
        """There is less room than the layers have by themselves."""
        showing = self._desk.display.showing
        fixed = sum(section.tokens for section in showing.sections if section.layer.name in FRAMED)
        self._show(min(fixed + room, showing.total))

    def _show(self, limit: int | None) -> None:
        notes = self._desk.notes
        self._desk.display.make_do(notes.known, notes.layout, self._desk.counter, limit)


def _is_new(part: LayerPage, section: Section, turn: Turn, state: State) -> bool:
    """Whether a part says something that the view does not. What merely lost its room stays until a fold takes it."""
    shown = turn.shown(KIND, part.key)
    if shown is None or shown == part.text:
        return shown is None
    if not section.layer.page:
        return True
    before = {int(seq) for seq in _NOTES.findall(shown)}
    return not part.seqs <= before <= {entry.seq for entry in state.held.get(section.layer.name, ())}
