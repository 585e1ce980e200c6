"""What a model may really do: its call is checked when it arrives, against the same declaration it was shown.

A schema is a hint that a model can ignore, so nothing here relies on what was projected. A refusal is a tool result
that the model can read, and says what would be allowed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from contextfold.domain import Environment, Phase, Text, ToolCall, ToolResult, encode
from contextfold.errors import BadMessage

from .patterns import Unchecked
from .projection import Rule as Projection
from .projection import ToolState, refusal
from .schema import problems
from .tool import Tool, definition, limits_in

Rule: TypeAlias = Projection | Literal["unknown", "arguments", ""]

MOST_PROBLEMS = 5


class Ruling(Struct, frozen=True):
    """Whether a call may be carried out. Use `arguments`, which are what was checked, and not the call's own text."""

    call: ToolCall
    rule: Rule = ""  # the one that forbids it
    reason: str = ""
    arguments: Mapping[str, Any] | None = None

    @property
    def is_allowed(self) -> bool:
        """Whether nothing forbids it."""
        return not self.rule

    @property
    def text(self) -> str:
        """What the model reads in place of a result."""
        return "" if self.is_allowed else f"[Refused: {self.call.name[:80]} was not run, because {self.reason}.]"

    @property
    def result(self) -> ToolResult | None:
        """The refusal as the result of its call; None where the call is allowed."""
        return None if self.is_allowed else ToolResult(self.call.id, (Text(self.text),), True)


def enforce(call: object, state: ToolState, tools: Sequence[Tool]) -> Ruling:
    """Whether this call may be carried out now, and with which arguments.

    A call is a `ToolCall`, or what a provider or its SDK hands out: a block, a dict, an entry of `tool_calls`.
    """
    asked = read_call(call)
    tool = next((each for each in tools if each.name == asked.name), None)
    if tool is None:
        known = ", ".join(each.name for each in tools)
        return Ruling(asked, "unknown", f"there is no such tool; there are: {known or 'none'}")
    environment = Environment.of(str(state.environment))
    hidden = refusal(tool, Phase.of(str(state.phase)), state.permissions, environment)
    if hidden is not None:
        return Ruling(asked, hidden.rule, hidden.reason)
    try:
        arguments = parsed(asked.arguments)
    except ValueError as error:
        return Ruling(asked, "arguments", str(error))
    try:
        found = list(problems(arguments, definition(tool, environment)["input_schema"]))
    except Unchecked as unchecked:
        return Ruling(asked, "arguments", str(unchecked))
    for limit in limits_in(tool, environment):
        found += limit.problems(arguments)
    if found:
        told = list(dict.fromkeys(found))[:MOST_PROBLEMS]
        return Ruling(asked, "arguments", "; ".join(told))
    return Ruling(asked, arguments=arguments)


def read_call(call: object) -> ToolCall:
    """A call as a provider writes it, or as its SDK hands it out."""
    dump = getattr(call, "model_dump", None)
    match dump(mode="json") if callable(dump) else call:
        case ToolCall() as known:
            return known
        case {"name": str(name), "input": arguments, **rest} | {"name": str(name), "args": arguments, **rest}:
            return ToolCall(str(rest.get("id") or ""), name, encode(arguments or {}).decode())
        case {"function": {"name": str(name), "arguments": str(arguments)}, **rest}:
            return ToolCall(str(rest.get("id") or ""), name, arguments)
        case {"name": str(name), "arguments": str(arguments), **rest}:
            return ToolCall(str(rest.get("call_id") or rest.get("id") or ""), name, arguments)
        case {"functionCall": inner} | {"function_call": inner}:
            return read_call(inner)
        case _:
            raise BadMessage("This is no tool call. Pass a tool_use block, an entry of tool_calls, or a ToolCall.")


def parsed(arguments: str) -> dict[str, Any]:
    """A call's arguments. A key that occurs twice is refused: whoever runs the tool might read the other one."""
    try:
        value = json.loads(arguments or "{}", object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        told = str(error) if isinstance(error, _Unclear) else "they cannot be read as JSON"
        raise ValueError(f"its arguments are unclear: {told}") from error
    if not isinstance(value, dict):
        raise ValueError("its arguments are unclear: they are no JSON object")  # about what was said
    return value


class _Unclear(ValueError):
    """Arguments that two readers might understand differently."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise _Unclear("a name occurs twice")
    return dict(pairs)


def _refuse(name: str) -> Any:
    raise _Unclear(f"{name} is no JSON number")
