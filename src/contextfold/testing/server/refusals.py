"""Why a request is not answered, in words of no provider, and the small questions about foreign JSON that rules ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias


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
