"""What the house asks of a wire format. The formats themselves are packages in `contextfold.dialects`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from .items import Item
from .messages import Message


class Problem(Struct, frozen=True):
    """Something a provider would reject, or a store cannot vouch for: where, which rule, and what to do."""

    path: str
    rule: str
    advice: str


class Reply(Struct, frozen=True):
    """What came back from a provider: the message, and what was billed for it (the provider's own usage fields)."""

    message: Message
    usage: Mapping[str, Any] = {}
    model: str = ""
    stop: str = ""
    cleared: int = 0  # tool results that the provider itself left out of what the model read, the oldest


class Dialect(Protocol):
    """One provider's way of writing a conversation."""

    @property
    def name(self) -> str: ...

    def parse(self, raw: bytes) -> Message:
        """The neutral form of one message; raises `BadMessage` when it is none of this dialect."""
        ...

    def reply(self, body: Mapping[str, Any]) -> Reply | None:
        """The message inside a whole API answer, or None when the body is not an answer of this API."""
        ...

    def chunk(self, item: Item, message: Message) -> bytes:
        """The item as zero or more wire messages, comma-joined: the original bytes wherever nothing was touched."""
        ...

    def body(self, chunks: Sequence[bytes], settings: Mapping[str, Any], first: Item | None) -> bytes:
        """The whole request: settings (model, system, tools, limits, …) and the joined messages."""
        ...

    def limited(self, chunks: list[bytes], since: int) -> list[bytes]:
        """The chunks with no more of anything than the API takes in one request; those before `since` were limited."""
        ...

    def check(self, body: Mapping[str, Any]) -> list[Problem]:
        """What the provider would reject in this request."""
        ...
