"""Keys outside the database, one for each thread and one for each blob: what is sealed with a destroyed key is gone.

They stand in a directory that all gateways share, for their user alone, and in no backup of the database. A new key is
written beside the old one, takes its place when the database holds what is sealed with it, and the old one is
overwritten. Bodies and blobs stand in the tables as they are, or sealed where the store is opened with such a
directory: a thread from its first event on, or never; its row says by which key.
"""

from __future__ import annotations

import os
import threading
from hashlib import sha256
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import Struct

from contextfold.errors import BadConfiguration, StoreError

from .directory import ThreadPlace

_ID, _NONCE, _KEY, _TAG = 8, 12, 32, 16
EXTRA: Final = _ID + _NONCE + _TAG  # bytes that sealing adds
_MOST_KEPT: Final = 4096


class SealKey(Struct, frozen=True):
    """A key and its name, which stands in front of whatever it sealed."""

    id: bytes
    secret: bytes

    @classmethod
    def new(cls) -> SealKey:
        return cls(os.urandom(_ID), os.urandom(_KEY))

    def seal(self, words: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return self.id + nonce + AESGCM(self.secret).encrypt(nonce, words, self.id)

    def open(self, sealed: bytes) -> bytes:
        try:
            return AESGCM(self.secret).decrypt(sealed[_ID : _ID + _NONCE], sealed[_ID + _NONCE :], self.id)
        except InvalidTag as error:
            raise StoreError("A sealed body was changed after it was written. Restore a backup.") from error


class KeyDirectory:
    """Keys by what they are for."""

    def __init__(self, path: str, scope: str) -> None:
        self._path, self._scope = Path(path), scope
        self._known: dict[str, SealKey] = {}
        self._lock = threading.Lock()
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise BadConfiguration(f"Keys cannot be kept in {path} ({error.strerror}). Name a directory.") from error

    def _file(self, purpose: str) -> Path:
        return self._path / sha256(f"{self._scope}\n{purpose}".encode("utf-8", "surrogatepass")).hexdigest()

    def get(self, purpose: str) -> SealKey:
        """The key in force, made on first use: by one of several gateways, and read by the others."""
        known = self._known.get(purpose)
        if known is not None:
            return known
        file, made = self._file(purpose), SealKey.new()
        beside = file.with_name(f"{file.name}.{made.id.hex()}")
        _write(beside, made)
        try:
            os.link(beside, file)  # fails where there is one, and never shows half of one
        except FileExistsError:
            made = _read(file)
        finally:
            beside.unlink()
        return self._keep(purpose, made)

    def find(self, purpose: str, sealed: bytes) -> SealKey:
        """The key that sealed something; raises where it was destroyed."""
        named = sealed[:_ID]
        known = self._known.get(purpose)
        if known is not None and known.id == named:
            return known
        file = self._file(purpose)
        for place in (file, _next(file)):
            if place.exists() and (key := _read(place)).id == named:
                return self._keep(purpose, key)
        raise StoreError("The key of this thread is not among the keys. Name the directory that holds it.")

    def replacement(self, purpose: str) -> SealKey:
        """Another key, that is in force once `replace` was called."""
        made = SealKey.new()
        _next(self._file(purpose)).unlink(missing_ok=True)
        _write(_next(self._file(purpose)), made)
        return made

    def replace(self, purpose: str, key: SealKey) -> None:
        """Put the replacement in force and destroy what was before it."""
        file = self._file(purpose)
        _overwrite(file)
        _next(file).replace(file)
        self._keep(purpose, key)

    def destroy(self, purpose: str) -> None:
        """Destroy a key for good."""
        file = self._file(purpose)
        _overwrite(file)
        file.unlink(missing_ok=True)
        with self._lock:
            self._known.pop(purpose, None)

    def forget(self, purpose: str) -> None:
        """Read the key again when it is needed next: somebody else may have replaced it."""
        with self._lock:
            self._known.pop(purpose, None)

    def _keep(self, purpose: str, key: SealKey) -> SealKey:
        with self._lock:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[purpose] = key
        return key


def _next(file: Path) -> Path:
    return file.with_name(f"{file.name}.next")


def _write(file: Path, key: SealKey) -> None:
    descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as target:
        target.write(key.id + key.secret)
        target.flush()
        os.fsync(target.fileno())


def _read(file: Path) -> SealKey:
    kept = file.read_bytes()
    return SealKey(kept[:_ID], kept[_ID:])


def _overwrite(file: Path) -> None:
    if file.exists():
        with file.open("r+b") as target:
            target.write(bytes(_ID + _KEY))
            target.flush()
            os.fsync(target.fileno())


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
