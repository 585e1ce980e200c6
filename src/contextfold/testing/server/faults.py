"""Ways of failing that real providers have, one value each; `connection` carries them out.

server.answer(faults.rate_limited(retry_after=0), "And now an answer.")
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .refusals import Rejection

How: TypeAlias = Literal["status", "reset", "cut", "break_off", "drip", "garbage", "hang"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One failure. `text` is what was about to be said where something is said at all."""

    how: How
    refused: Rejection | None = None
    after: int = 0  # pieces of a stream, or of an answer's bytes, that still arrive
    pause: float = 0.0  # seconds between pieces
    text: str = "This answer does not arrive whole. It was meant to be a little longer than it is."


def rate_limited(retry_after: float | None = None) -> Fault:
    """429, with `retry-after` when given."""
    said = "This request would exceed the rate limit for your organization. Please try again later."
    return Fault("status", Rejection(said, kind="rate_limited", rule="fault", retry_after=retry_after))


def out_of_quota() -> Fault:
    """429 of an account that has nothing left to spend: OpenAI's `insufficient_quota`, which no waiting mends."""
    said = "You exceeded your current quota, please check your plan and billing details."
    return Fault("status", Rejection(said, kind="rate_limited", rule="fault", code="insufficient_quota"))


def broken() -> Fault:
    """500."""
    return Fault("status", Rejection("Internal server error", kind="broken", rule="fault"))


def overloaded() -> Fault:
    """529 of Anthropic, 503 of the others."""
    return Fault("status", Rejection("Overloaded", kind="overloaded", rule="fault"))


def unauthorized() -> Fault:
    """401, as if the key had been revoked."""
    return Fault("status", Rejection("Invalid API key", kind="auth", rule="fault"))


def overflow(tokens: int = 210_000, window: int = 200_000) -> Fault:
    """The provider's own words for a prompt that is too long, whatever its size."""
    return Fault("status", Rejection("", kind="too_long", rule="fault", code=f"{tokens}>{window}"))


def reset() -> Fault:
    """The connection is reset before a byte of the answer was sent."""
    return Fault("reset")


def cut(after: int = 3) -> Fault:
    """The connection ends after some pieces of the answer."""
    return Fault("cut", after=after)


def break_off(after: int = 3) -> Fault:
    """A stream that ends with the provider's own error event; without a stream, an overloaded server."""
    return Fault("break_off", Rejection("Overloaded", kind="overloaded", rule="fault"), after=after)


def drip(pause: float = 0.05) -> Fault:
    """The answer comes a piece at a time, with a pause between, and never ends by itself: only a time-out ends it."""
    return Fault("drip", pause=pause)


def garbage() -> Fault:
    """200, and then bytes that are no JSON and no events."""
    return Fault("garbage", text="<html><body>502 Bad Gateway</body></html>")


def hang() -> Fault:
    """The request is taken and never answered."""
    return Fault("hang")
