"""The bytes of a view in one dialect, kept beside it so that a request's body is a join.

Follows the view's shared array: what was appended is rendered once; a fold, unfold or rewind makes a new array, for
which everything still visible is taken from what was kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from contextfold.domain import Dialect, Item, Shown, View

from .bodies import Bodies
from .reading import Reading
from .renaming import renamed


class Rendering:
    """Chunks of wire messages, one for each item of the array it follows."""

    def __init__(self, dialect: Dialect, bodies: Bodies) -> None:
        self.dialect, self._bodies = dialect, bodies
        self._array: Shown | None = None
        self._chunks: list[bytes] = []
        self._kept: dict[Hashable, bytes] = {}

    def chunks(self, view: View, reading: Reading) -> Sequence[bytes]:
        """The view's wire messages in order."""
        if view.array is not self._array:
            self._follow(view.array, view)
        if len(self._chunks) < view.length:
            fresh = view.array.items[len(self._chunks) : view.length]
            self._bodies.load(
                [item.seq for item in fresh if item.kind != "completion" and _key(item) not in self._kept]
            )
            self._chunks.extend(self._chunk(item, reading) for item in fresh)
            self._chunks = self.dialect.limited(self._chunks, len(self._chunks) - len(fresh))
        return self._chunks if len(self._chunks) == view.length else self._chunks[: view.length]

    def body(self, view: View, reading: Reading, settings: Mapping[str, object]) -> bytes:
        """The whole request as bytes."""
        chunks = self.chunks(view, reading)
        return self.dialect.body(chunks, settings, view.item(0) if view.length else None)

    def forget(self) -> None:
        """Render everything anew: something shown may have been forgotten."""
        self._array, self._chunks, self._kept = None, [], {}

    def _follow(self, array: Shown, view: View) -> None:
        """Start over on a new array, keeping the bytes of what is still visible."""
        visible = {_key(item) for item in view.items}
        self._kept = {key: chunk for key, chunk in self._kept.items() if key in visible}
        self._array, self._chunks = array, []

    def _chunk(self, item: Item, reading: Reading) -> bytes:
        key = _key(item)
        chunk = self._kept.get(key)
        if chunk is None:
            chunk = self._kept[key] = self.dialect.chunk(
                reading.resolve(item), renamed(reading.read(item), item.aliases)
            )
        return chunk


def _key(item: Item) -> Hashable:
    """What an item's bytes depend on, within one thread and dialect."""
    if item.kind == "completion":
        return item.seq, item.kind, item.shape.results
    return item.seq, item.kind, item.folded, item.late, item.aliases, item.displaced
