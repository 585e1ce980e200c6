"""Reasoning that its model takes back only behind an unchanged prefix: which of it still stands.

A running digest of the bytes before each item is kept, and each request writes down the one it was sent with. An answer
whose digest is no longer that of what stands before it was written for another prefix: something was folded, unfolded,
pinned or said in between, or system and tools changed. It changes nothing by itself, and knows nothing of answers that
came from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b, sha256

from contextfold.domain import Sent, ViewItem, encode
from contextfold.models import Model

DETAIL = "prefix"  # under which a `Sent` keeps the digest of what it sent


def is_bound(model: Model) -> bool:
    """Whether a model checks what stands before its reasoning."""
    return model.binding in ("prefix", "account")


def digest(part: object) -> str:
    """Of system or tools, as a `Sent` keeps it; empty where there are none."""
    return sha256(encode(part)).hexdigest() if part else ""


class Prefixes:
    """The digests along one array of items, and the terms under which they hold: system, tools, who drops what."""

    def __init__(self) -> None:
        self._running: list[str] = [""]
        self._terms: tuple[str, str, bool] = ("", "", False)

    def agree(self, settings: Mapping[str, object], drops_stale: bool) -> bool:
        """Take over the terms of a request; whether they are other than before, so that all must be looked at anew."""
        terms = digest(settings.get("system")), digest(settings.get("tools")), drops_stale
        is_new, self._terms = terms != self._terms, terms
        return is_new

    def start_over(self) -> None:
        self._running = [""]

    def add(self, place: int, chunk: bytes) -> None:
        """What stands at this place, once everything before it is known."""
        if len(self._running) == place + 1:
            before = self._running[place].encode()
            self._running.append(blake2b(before + b"\0" + chunk, digest_size=16).hexdigest())

    def at(self, length: int) -> str:
        """The digest of so many items."""
        return self._running[length] if length < len(self._running) else ""

    def is_stale(self, item: ViewItem, sent: Sent | None, place: int) -> bool:
        """Whether the item holds reasoning that was written for another prefix than stands before it now."""
        if sent is None or not item.shape.has_reasoning or self._terms[2]:
            return False
        prefix = sent.details.get(DETAIL)
        return bool(prefix) and (prefix, sent.system, sent.tools) != (self.at(place), *self._terms[:2])
