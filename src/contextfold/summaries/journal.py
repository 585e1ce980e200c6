"""What a digest's notebook changed, so that it can be taken back where a fold is not made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

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
