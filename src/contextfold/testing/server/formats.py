"""A wire format as the server needs it: where it is spoken, whose key it wants, how it says no and what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import msgspec

from contextfold.models import Model

from .bill import Billed, TokenBill
from .faults import Fault
from .provider import Vendor
from .refusals import Rejection
from .script import Call, Held, Question, Say


@dataclass(frozen=True, slots=True)
class Utterance:
    """A step, made complete: every call has its id, and its size is known."""

    say: Say
    tokens: int
    reasoning: int


def speak(provider: Vendor, say: Say, model: Model, id_prefix: str, most: int | None) -> Utterance:
    """What the model says within `most` tokens; a longer text is cut, and says that it was."""
    calls = tuple(replace(call, id=call.id or provider.id(id_prefix)) for call in say.calls)
    said = replace(say, calls=calls)
    tokens, reasoning = _sizes(provider, said, model)
    if most is not None and tokens > most and said.text:
        kept = max(1, len(said.text) * max(1, most - reasoning) // max(1, tokens))
        said = replace(said, text=said.text[:kept], calls=(), stop="length")
        tokens, reasoning = _sizes(provider, said, model)
        tokens = min(tokens, max(1, most))
    return Utterance(said, tokens, reasoning)


def _sizes(provider: Vendor, say: Say, model: Model) -> tuple[int, int]:
    reasoning = provider.sizes.text(say.thinking, model) if say.thinking else 0
    words = [say.text, *(arguments(call) for call in say.calls)]
    return reasoning + sum(provider.sizes.text(text, model) for text in words if text) or 1, reasoning


def arguments(call: Call) -> str:
    """A call's arguments as the model writes them."""
    return msgspec.json.encode(dict(call.arguments)).decode()


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request as it arrived, its body decoded. Header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ServerReply:
    """An answer ready to be sent: whole, and as the pieces of a stream."""

    body: Mapping[str, Any]
    usage: TokenBill = field(default_factory=TokenBill)
    chunks: Sequence[bytes] = ()
    model: str = ""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A request that breaks no rule. `tell` makes an answer of a step; it is called when the answer begins."""

    asked: Question
    tell: Callable[[Say], ServerReply]
    stream: bool = False
    billed: Billed | None = None
    is_scripted: bool = True  # counting, for one, takes no step of the script


Outcome = Say | Fault | Held
Endpoint = Callable[[Vendor, Incoming], Accepted]


class Format(Protocol):
    """One wire format."""

    @property
    def name(self) -> str: ...

    @property
    def endpoints(self) -> Mapping[str, Endpoint]: ...

    def token(self, incoming: Incoming) -> str:
        """The key that the request carries; empty when it carries none."""

    def shape(self, refused: Rejection) -> tuple[int, Mapping[str, Any]]:
        """Status and body of a refusal."""

    def headers(self, refused: Rejection) -> Mapping[str, str]: ...

    def chunk(self, refused: Rejection) -> bytes:
        """A refusal in the middle of a stream."""


def too_long(refused: Rejection) -> tuple[int, int]:
    """(tokens, window) of an overflow."""
    tokens, _, window = (refused.code or "0>0").partition(">")
    return int(tokens), int(window)
