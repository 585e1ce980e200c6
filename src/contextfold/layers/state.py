"""What the layers hold: a projection of a thread's notes, and nothing beside it.

There is no second copy to pass around. The running object takes notes one at a time; when the head moved back it is
made anew from those that are left. What it hands out never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from contextfold.domain import Environment, Phase, decode, encode, refuse_deep_json, too_deep
from contextfold.errors import BadConfiguration, BadMessage

from .contract import Entered, Failure, Granted, Moved, Revoked, Runtime, System, Task
from .item import Item, identity_of, kind_of
from .layer import Layout
from .markup import nonce_of

T = TypeVar("T", bound=Item)


class Retracted(Item, frozen=True):
    """A note that was taken back. It stays in the thread; the layers no longer hold it."""

    note: int


class Entry(Struct, frozen=True):
    """An item in its place: the seq of the note it comes from, and the layer that holds it."""

    seq: int
    layer: str
    item: Item
    page: int = 0  # of its layer; what stands on one is attached together


class State(Struct, frozen=True):
    """The layers of one thread at one place."""

    system: System | None = None
    task: Task | None = None
    runtime: Runtime = Runtime()  # a frozen value
    held: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)  # by layer, in the order they were first noted
    nonce: str = ""
    unread: tuple[int, ...] = ()  # notes of a kind that no layer here declares
    open_tools: tuple[str, ...] = ()  # tools with a call that waits for its result
    tools: tuple[str, ...] | None = None  # what the model may call now, where somebody gated it

    @property
    def phase(self) -> Phase:
        """What the agent is doing: it decides which tools are shown."""
        return self.runtime.phase

    @property
    def permissions(self) -> frozenset[str]:
        """What was granted and not revoked; nothing is granted by default."""
        return frozenset(self.runtime.permissions)

    @property
    def environment(self) -> Environment:
        """Where tools act; unknown until somebody says so."""
        return self.runtime.environment

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What went wrong so far, newest last."""
        return self.of(Failure)

    @property
    def is_urgent(self) -> bool:
        """Whether the task cannot wait; then only the tools that matter most are shown."""
        return self.task is not None and self.task.urgent

    @property
    def deadline(self) -> float | None:
        """When the task has to be done, in seconds since 1970."""
        return self.task.deadline.timestamp() if self.task is not None and self.task.deadline is not None else None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """L2's failures and the items of L3 to L5 with their places, layer by layer."""
        return tuple(entry for held in self.held.values() for entry in held)

    def of(self, kind: type[T]) -> tuple[T, ...]:
        """The items of one class, oldest first."""
        return tuple(entry.item for entry in self.entries if isinstance(entry.item, kind))


def written(item: Item) -> bytes:
    """An item as a note's body; raises `BadMessage` where it is nested too deeply."""
    try:
        plain = msgspec.to_builtins(item)
        body = encode(plain)
    except RecursionError as error:
        raise too_deep(kind_of(item)) from error
    except (TypeError, ValueError, BadMessage) as error:
        raise BadConfiguration(f"This {kind_of(item)} holds something that is no JSON: {error}.") from error
    refuse_deep_json(body, plain, kind_of(item))
    return body


def _read(body: bytes, classes: Mapping[str, type[Item]]) -> Item | None:
    """The item of a note's body; None where no layer declares its kind, or it was written differently."""
    told = decode(body)
    kind = classes.get(told.get("kind", "")) if isinstance(told, dict) else None
    if kind is None:
        return None
    try:
        return msgspec.convert(told, kind)
    except msgspec.ValidationError:
        return None


def _classes(layout: Layout) -> dict[str, type[Item]]:
    known: list[type[Item]] = [Retracted]
    known += [item for layer in layout.layers for item in layer.items]
    return {kind_of(item): item for item in known}


class Projected:
    """The running projection of notes into a state."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._classes = _classes(layout)
        self._layers = {item: layer for layer in layout.layers for item in layer.items}
        self._seqs: list[int] = []
        self._begin()

    def _begin(self) -> None:
        self._seqs.clear()
        self._entries: dict[str, dict[object, Entry]] = {layer.name: {} for layer in self.layout.layers}
        self._keys: dict[int, tuple[str, object]] = {}
        self._changed: set[str] = set()
        self._unread: list[int] = []
        self._written: dict[str, tuple[int, int]] = {}  # the last page of each layer, and the bytes on it
        self._state = State()

    def follow(self, notes: Sequence[int], body: Callable[[int], bytes | None], nonce: Callable[[int], str]) -> State:
        """The state after these notes, of which all up to the last known one are unchanged."""
        known = len(self._seqs)
        if known > len(notes) or (known and notes[known - 1] != self._seqs[-1]):
            self._begin()
            known = 0
        if known < len(notes):
            for seq in notes[known:]:
                self._take(seq, body(seq))
            self._seqs.extend(notes[known:])
            # A layer that did not change keeps its very tuple.
            held = {**self._state.held, **{name: tuple(self._entries[name].values()) for name in self._changed}}
            self._changed.clear()
            self._state = replace(
                self._state,
                held={name: held[name] for name in self._entries if held.get(name)},
                unread=tuple(self._unread),
                nonce=self._state.nonce or nonce(notes[0]),
            )
        return self._state

    def _take(self, seq: int, body: bytes | None) -> None:
        item = None if body is None else _read(body, self._classes)
        match item:
            case None:
                self._unread.append(seq)
            case System():
                self._state = replace(self._state, system=item)
            case Task():
                self._state = replace(self._state, task=item)
            case Entered() | Moved() | Granted() | Revoked():
                self._state = replace(self._state, runtime=self._state.runtime.after(item))
            case Retracted():
                if item.note in self._keys:
                    layer, key = self._keys[item.note]
                    self._entries[layer].pop(key, None)
                    self._changed.add(layer)
            case _:
                self._hold(seq, item, len(body or b""))

    def _hold(self, seq: int, item: Item, size: int) -> None:
        layer, key = self._layers[type(item)], identity_of(item) or seq
        known = self._entries[layer.name].get(key)
        page, written = self._written.get(layer.name, (0, 0))
        if known is not None:
            page = known.page
        else:
            # The page follows from what was noted before, so that nothing ever changes its page.
            if layer.page and written >= layer.page:
                page, written = page + 1, 0
            self._written[layer.name] = page, written + size
        self._keys[seq] = layer.name, key
        self._entries[layer.name][key] = Entry(seq, layer.name, item, page)
        self._changed.add(layer.name)


def first_nonce(thread: str, body: bytes) -> str:
    """The nonce of a thread's frames, made when its first note is written and kept with it."""
    return nonce_of(thread, body.decode("utf-8", "backslashreplace"))


def state_of(items: Iterable[Item], layout: Layout | None = None, nonce: str = "") -> State:
    """The state that these items would make, noted one after the other from seq 1 on. For trying things out."""
    bodies = {seq: written(item) for seq, item in enumerate(items, 1)}
    first = nonce or (first_nonce("", bodies[1]) if bodies else "")
    return Projected(layout or Layout()).follow(list(bodies), bodies.get, lambda _: first)
