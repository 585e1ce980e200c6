"""How bodies and blobs stand in the tables: as they are, or sealed where the store is opened with a directory of keys.

A thread is sealed from its first event on, or never; its row says by which key.
"""

from __future__ import annotations

from contextfold.errors import StoreError

from .directory import ThreadPlace
from .keys import EXTRA, KeyDirectory, SealKey


class Seals:
    """Seals and opens what one space holds; does nothing without keys."""

    def __init__(self, keys: KeyDirectory | None) -> None:
        self.keys = keys

    def added(self, place: ThreadPlace) -> int:
        """Bytes that each body of a thread has beside its own, as it is stored."""
        return EXTRA if place.is_sealed else 0

    def key(self, place: ThreadPlace) -> SealKey | None:
        """The key that bodies of a thread are sealed with now; None where they are kept as they are."""
        if self.keys is None or not place.is_sealed:
            self._refuse_mixture(place)
            return None
        return self.keys.get(place.name)

    def renewed(self, place: ThreadPlace) -> bool:
        """Whether somebody else replaced the key that we knew, because something was forgotten."""
        if self.keys is None or not place.is_sealed:
            return False
        before = self.keys.get(place.name)
        self.keys.forget(place.name)
        return self.keys.get(place.name) != before

    def _refuse_mixture(self, place: ThreadPlace) -> None:
        if place.is_sealed:
            raise StoreError(f"Thread {place.name!r} is sealed. Open the store with encrypt_bodies and its keys.")
        if self.keys is not None:
            raise StoreError(f"Thread {place.name!r} was begun unsealed. Copy it into a new space to have it sealed.")

    def opened(self, place: ThreadPlace, stored: bytes | None) -> bytes | None:
        """A body as it was given."""
        if not stored or not place.is_sealed:
            return stored
        if self.keys is None:
            raise StoreError(f"Thread {place.name!r} is sealed. Open the store with encrypt_bodies and its keys.")
        return self.keys.find(place.name, stored).open(stored)

    def sealed_blob(self, digest: bytes, blob: bytes) -> bytes:
        """A blob as it is stored."""
        return blob if self.keys is None else self.keys.get(f"blob {digest.hex()}").seal(blob)

    def opened_blob(self, digest: bytes, stored: bytes) -> bytes:
        """A blob as it was given."""
        return stored if self.keys is None else self.keys.find(f"blob {digest.hex()}", stored).open(stored)

    def destroy_blob(self, digest: bytes) -> None:
        """Nobody names it any longer."""
        if self.keys is not None:
            self.keys.destroy(f"blob {digest.hex()}")
