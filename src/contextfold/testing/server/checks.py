"""Small questions about foreign JSON that the rules of every format ask. Each refuses in the words it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .refusals import Refused


def refuse(message: str, rule: str, param: str | None = None, code: str | None = None) -> Refused:
    return Refused(message, rule=rule, param=param, code=code)


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
