"""Opaque content that only this server can make and read back: signatures, sealed reasoning, compaction blocks.

Real providers sign what they hand out, so that a client cannot change it. Here it is an HMAC over the content in a
readable envelope. What carries another's signature is foreign: refused, unless the server was told to trust it.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
from base64 import b64decode, b64encode
from typing import Any, Final

import msgspec

_MARK: Final = b"cfseal1."
_SIZE: Final = 16
_STANDARD: Final = str.maketrans("-_", "+/")  # Google's SDK writes bytes in the alphabet for URLs; the API reads both


class Seal:
    """Signs with one server's key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def sign(self, **facts: Any) -> str:
        """An opaque text that holds these facts and cannot be changed."""
        body = msgspec.json.encode(facts)
        return b64encode(_MARK + self._mac(body) + body).decode()

    def facts(self, sealed: str) -> dict[str, Any] | None:
        """What was signed; None for anything that this server did not sign."""
        try:
            raw = b64decode(sealed.translate(_STANDARD), validate=True)
        except (binascii.Error, ValueError):
            return None
        if not raw.startswith(_MARK):
            return None
        mac, body = raw[len(_MARK) : len(_MARK) + _SIZE], raw[len(_MARK) + _SIZE :]
        if not hmac.compare_digest(mac, self._mac(body)):
            return None
        facts: dict[str, Any] = msgspec.json.decode(body)
        return facts

    def _mac(self, body: bytes) -> bytes:
        return hmac.new(self._key, body, hashlib.sha256).digest()[:_SIZE]


def digest(*parts: object) -> str:
    """A short name for content, the same for the same content; the order of fields is not content."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(msgspec.json.encode(part, order="sorted"))
        found.update(b"\0")
    return found.hexdigest()
