"""What servers of some flavours reject beyond what OpenAI rejects; one small rule for each demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from contextfold.dialects.rulebook import Wire
from contextfold.domain import Problem

from .flavours import Flavour

_PREAMBLE = ("system", "developer")
Rule = Callable[[list[Wire]], Iterator[Problem]]


def missing_reasoning(messages: list[Wire]) -> Iterator[Problem]:
    """An assistant's message with calls carries the reasoning that led to them."""
    for message in messages:
        said = message.fields.get("reasoning_content")
        if message.role == "assistant" and message.fields.get("tool_calls") and not isinstance(said, str):
            yield Problem(message.path, "missing-reasoning", "Return the turn's reasoning_content with its calls.")


def alternation(messages: list[Wire]) -> Iterator[Problem]:
    """The user first, then strictly in turn; system messages in front; the answers of tools belong to their call."""
    before: object = ""
    for message in messages:
        if message.role in _PREAMBLE and before not in ("", *_PREAMBLE):
            yield Problem(message.path, "alternation", "Put system messages in front of all others.")
        elif message.role == "assistant" and before in ("", *_PREAMBLE):
            yield Problem(message.path, "alternation", "Put a message of the user's in front.")
        elif message.role == before and message.role in ("user", "assistant"):
            yield Problem(message.path, "alternation", f"Join it with the {before}'s message before it.")
        before = message.role


def no_tool_role(messages: list[Wire]) -> Iterator[Problem]:
    """Calls and results have no fields of their own."""
    for message in messages:
        calls = message.role == "assistant" and (
            message.fields.get("tool_calls") or message.fields.get("function_call")
        )
        if message.role in ("tool", "function") or calls:
            yield Problem(message.path, "no-tool-role", "Tell the call or the result in words.")


def flavour_rules(flavour: Flavour) -> tuple[Rule, ...]:
    """The rules that hold for this flavour only."""
    demands = (
        (flavour.reasoning, missing_reasoning),
        (flavour.alternates, alternation),
        (not flavour.tool_role, no_tool_role),
    )
    return tuple(rule for is_demanded, rule in demands if is_demanded)
