"""What only some models take; `Allowed` says which."""

from __future__ import annotations

from collections.abc import Iterator

from contextfold.domain import Problem

from .content import THINKING
from .turns import Asked, calls

_SAMPLING = ("temperature", "top_p", "top_k")


def sampling(asked: Asked) -> Iterator[Problem]:
    if not asked.allowed.sampling:
        for name in _SAMPLING:
            if asked.body.get(name) is not None:
                yield Problem(name, "sampling", f"Leave {name!r} out: this model takes no sampling parameters.")


def thinking_budget(asked: Asked) -> Iterator[Problem]:
    match asked.body.get("thinking"):
        case {"budget_tokens": int()} if not asked.allowed.thinking_budget:
            yield Problem("thinking.budget_tokens", "thinking-budget", "Leave the budget out: this model sets its own.")
        case _:
            pass


def forced_tool(asked: Asked) -> Iterator[Problem]:
    match asked.body.get("tool_choice"):
        case {"type": "any" | "tool"} if not asked.allowed.forced_tool:
            yield Problem("tool_choice", "forced-tool", "Use tool_choice 'auto' or 'none' with this model.")
        case _:
            pass


def starts_with_thinking(asked: Asked) -> Iterator[Problem]:
    """Older models with thinking on: a last assistant turn that calls tools begins with its thinking."""
    match asked.body.get("thinking"):
        case {"type": "enabled"} if not asked.allowed.thinking_optional:
            pass
        case _:
            return
    last = next((turn for turn in reversed(asked.turns) if turn.role == "assistant"), None)
    if last is not None and calls(last) and last.pieces[0].kind not in THINKING:
        yield Problem(
            last.pieces[0].path,
            "starts-with-thinking",
            "Return the turn's thinking block in front, or turn thinking off for this request.",
        )
