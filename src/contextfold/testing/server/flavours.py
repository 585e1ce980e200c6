"""What servers that copy Chat Completions demand beyond it, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Flavour:
    """One vendor's additions."""

    wants_reasoning: bool = False  # `reasoning_content` on assistant turns that carry calls
    alternates: bool = False  # user and assistant take strict turns
    has_tool_role: bool = True
    adjacent: bool = False  # in Responses: outputs right behind the calls they answer


FLAVOURS: Final[dict[str, Flavour]] = {
    "openai": Flavour(),
    "deepseek": Flavour(wants_reasoning=True, adjacent=True),
    "zai": Flavour(wants_reasoning=True),
    "kimi": Flavour(wants_reasoning=True),
    "bedrock": Flavour(alternates=True),
    "strict": Flavour(alternates=True, has_tool_role=False),
}


def flavour_named(name: str) -> Flavour:
    if name not in FLAVOURS:
        raise ValueError(f"There is no flavour {name!r}. Use one of: {', '.join(FLAVOURS)}.")
    return FLAVOURS[name]
