"""Why a request gets no answer: it breaks a rule, or the server fails in a way that real providers have.

Refusals are told in words of no provider; each format puts them into its own. A fault is one value, and `formats`
carries it out:

    server.answer(faults.rate_limited(retry_after=0), "And now an answer.")

The small questions about foreign JSON that rules ask stand here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct


def refuse(message: str, rule: str, param: str | None = None, code: str | None = None) -> Rejection:
    return Rejection(message, rule=rule, param=param, code=code)


def objects(value: Any, message: str, rule: str) -> list[dict[str, Any]]:
    """The value, if it is a list of objects."""
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise refuse(message, rule)
    return value


def mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def names(listed: str) -> frozenset[str]:
    """The words of a list that is easier to read as prose."""
    return frozenset(listed.split())


def items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def version(model: str) -> tuple[int, int]:
    """The numbers in a model's name: claude-sonnet-4-5-20250929 → (4, 5), gpt-5.6-sol → (5, 6); (0, 0) without any."""
    numbers: list[int] = []
    for word in model.replace(".", "-").split("-"):
        if word.isdigit() and len(word) <= 2:
            numbers.append(int(word))
        elif numbers:
            break
    return (numbers[0], numbers[1] if len(numbers) > 1 else 0) if numbers else (0, 0)


Kind: TypeAlias = Literal[
    "invalid", "auth", "forbidden", "not_found", "too_large", "too_long", "rate_limited", "overloaded", "broken"
]

STATUS: dict[Kind, int] = {
    "invalid": 400,
    "auth": 401,
    "forbidden": 403,
    "not_found": 404,
    "too_large": 413,
    "too_long": 400,
    "rate_limited": 429,
    "overloaded": 503,
    "broken": 500,
}


class Rejection(Exception):
    """A request that the provider would not answer. `rule` names the rule for tests; `message` is the provider's."""

    def __init__(
        self,
        message: str,
        *,
        kind: Kind = "invalid",
        rule: str = "",
        param: str | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.message, self.kind, self.rule = message, kind, rule
        self.param, self.code, self.retry_after = param, code, retry_after
        super().__init__(message)

    @property
    def status(self) -> int:
        return STATUS[self.kind]


How: TypeAlias = Literal["status", "reset", "cut", "break_off", "drip", "garbage", "hang"]


class Fault(Struct, frozen=True):
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
