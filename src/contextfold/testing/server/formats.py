"""What the server needs to know of a wire format: where it is spoken, whose key it wants, and how it says no."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .caching import Billed
from .faults import Fault
from .provider import Provider
from .refusals import Refused
from .script import Asked, Held, Say
from .usage import Usage


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request as it arrived, its body decoded. Header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """An answer ready to be sent: whole, and as the pieces of a stream."""

    body: Mapping[str, Any]
    usage: Usage = field(default_factory=Usage)
    chunks: Sequence[bytes] = ()
    model: str = ""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A request that breaks no rule. `tell` makes an answer of a step; it is called when the answer begins."""

    asked: Asked
    tell: Callable[[Say], Told]
    stream: bool = False
    billed: Billed | None = None
    is_scripted: bool = True  # counting, for one, takes no step of the script


Outcome = Say | Fault | Held
Endpoint = Callable[[Provider, Incoming], Accepted]


class Format(Protocol):
    """One wire format."""

    @property
    def name(self) -> str: ...

    @property
    def endpoints(self) -> Mapping[str, Endpoint]: ...

    def token(self, incoming: Incoming) -> str:
        """The key that the request carries; empty when it carries none."""

    def shape(self, refused: Refused) -> tuple[int, Mapping[str, Any]]:
        """Status and body of a refusal."""

    def headers(self, refused: Refused) -> Mapping[str, str]: ...

    def chunk(self, refused: Refused) -> bytes:
        """A refusal in the middle of a stream."""


def too_long(refused: Refused) -> tuple[int, int]:
    """(tokens, window) of an overflow."""
    tokens, _, window = (refused.code or "0>0").partition(">")
    return int(tokens), int(window)
