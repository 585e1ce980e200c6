"""Which tools the model sees now, why the others are hidden, and what each way of showing them costs.

A tool is chosen by phase, permission, environment and budget. A projection is a hint; `enforcement` is the rule. Two
ways to show it: *stable* keeps the definitions constant and gates calls, so that a provider's cache holds, and pays for
definitions nobody may use; *projected* sends only what may be used now, and rewrites the prompt when that changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, overload

from msgspec import Struct

from contextfold import tokens
from contextfold.domain import Counter, Environment, Phase
from contextfold.errors import BadConfiguration
from contextfold.models import Model, Prices

from .tool import Tool, covers, definition, limits_in, weight

Mode: TypeAlias = Literal["stable", "projected"]
Rule: TypeAlias = Literal["phase", "permission", "environment", "urgency", "budget"]

USUAL_BUDGET = 2_000  # tokens of all definitions, seed 000
TOP = 5  # tools in an urgent case, seed 000
URGENT_WITHIN = 3_600.0  # seconds before a deadline


class ToolState(Protocol):
    """What a projection has to know; a session's state is one."""

    @property
    def phase(self) -> str: ...

    @property
    def permissions(self) -> frozenset[str]: ...

    @property
    def environment(self) -> str: ...

    @property
    def open_tools(self) -> tuple[str, ...]: ...

    @property
    def is_urgent(self) -> bool: ...

    @property
    def deadline(self) -> float | None: ...


class Hidden(Struct, frozen=True):
    """Why a tool is not offered."""

    rule: Rule
    reason: str


@dataclass(frozen=True, slots=True)
class ToolList(Sequence[Mapping[str, Any]]):
    """The definitions to send, as `prepare(tools=...)` takes them, and how they were chosen."""

    tools: tuple[Tool, ...]  # all that were declared
    mode: Mode
    definitions: tuple[Mapping[str, Any], ...]
    visible: tuple[str, ...]  # what may be called now
    hidden: Mapping[str, Hidden] = field(default_factory=dict)
    phase: Phase = Phase.PLANNING
    environment: Environment = Environment.UNKNOWN
    tokens: int = 0  # of the definitions
    stable_tokens: int = 0  # what they are in each mode
    projected_tokens: int = 0
    is_urgent: bool = False
    is_forced: bool = False  # a changed list is sent at once, whatever that costs
    by_option: bool = False  # the provider is told as well, where it has an option for it

    @overload
    def __getitem__(self, at: int) -> Mapping[str, Any]: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Mapping[str, Any]]: ...

    def __getitem__(self, at: int | slice) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        return self.definitions[at]

    def __len__(self) -> int:
        return len(self.definitions)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.definitions)


def project(
    tools: Sequence[Tool],
    state: ToolState,
    budget: int | None = USUAL_BUDGET,
    *,
    mode: Mode = "stable",
    model: Model | str | None = None,
    now: float | None = None,
    urgent_within: float = URGENT_WITHIN,
    force: bool = False,
    by_option: bool = False,
) -> ToolList:
    """The tools for this state. `now` is the time in seconds since 1970; without it no deadline comes nearer.

    In `projected` mode a session keeps a changed list back until something is folded, unless `force` is set.
    """
    if len({tool.name for tool in tools}) < len(tools):
        raise BadConfiguration("Two tools have the same name. Rename one.")
    phase, environment = Phase.of(str(state.phase)), Environment.of(str(state.environment))
    counter, hidden, permissions = tokens.counter_for(model), dict[str, Hidden](), state.permissions
    for tool in tools:
        reason = refusal(tool, phase, permissions, environment)
        if reason is not None:
            hidden[tool.name] = reason
    allowed = [tool for tool in tools if tool.name not in hidden]
    deadline = state.deadline
    is_urgent = state.is_urgent or (deadline is not None and now is not None and deadline - now <= urgent_within)
    if is_urgent:
        allowed = _top(allowed, state, hidden)
    affordable = _affordable(allowed, state, budget, environment, counter)
    possible = [tool for tool in tools if not any(limit.is_denied for limit in limits_in(tool, environment))]
    constant = _affordable(possible, None, budget, environment, counter)
    sent = constant if mode == "stable" else affordable
    names = {tool.name for tool in sent}
    for tool in allowed:
        if tool.name not in names:
            hidden[tool.name] = Hidden("budget", f"the definitions have {budget} tokens of room")
    return ToolList(
        tuple(tools),
        mode,
        tuple(definition(tool, environment) for tool in sent),
        tuple(tool.name for tool in allowed if tool.name in names),
        hidden,
        phase,
        environment,
        _weigh(sent, environment, counter),
        _weigh(constant, environment, counter),
        _weigh(affordable, environment, counter),
        is_urgent,
        force,
        by_option,
    )


def refusal(tool: Tool, phase: Phase, permissions: frozenset[str], environment: Environment) -> Hidden | None:
    """Why a tool may not be used in this phase, with these permissions, in this place; None where it may."""
    if phase not in tool.allowed_phases:
        known = ", ".join(sorted(tool.allowed_phases)) or "no phase"
        return Hidden("phase", f"it belongs to {known}, and this is {phase.value}")
    missing = sorted(each for each in tool.required if not covers(permissions, each))
    if missing:
        return Hidden("permission", f"it requires {', '.join(missing)}, which was not granted")
    if any(limit.is_denied for limit in limits_in(tool, environment)):
        return Hidden("environment", f"it is not allowed where the environment is {environment.value}")
    return None


def _top(allowed: Sequence[Tool], state: ToolState, hidden: dict[str, Hidden]) -> list[Tool]:
    """The most important few, and those that were called and have not answered."""
    kept = {tool.name for tool in sorted(allowed, key=lambda tool: -tool.priority)[:TOP]} | set(state.open_tools)
    for tool in allowed:
        if tool.name not in kept:
            hidden[tool.name] = Hidden("urgency", f"the case is urgent, and it is not among the {TOP} most important")
    return [tool for tool in allowed if tool.name in kept]


def _affordable(
    tools: Sequence[Tool], state: ToolState | None, budget: int | None, environment: Environment, counter: Counter
) -> list[Tool]:
    """What fits, the most important first, in the order of declaration. What is open stays whatever it costs."""
    if budget is None:
        return list(tools)
    is_open = frozenset() if state is None else frozenset(state.open_tools)
    kept: set[str] = set()
    for tool in sorted(tools, key=lambda tool: (tool.name not in is_open, -tool.priority)):
        size = weight(tool, environment, counter)
        if size <= budget or tool.name in is_open:
            kept.add(tool.name)
            budget -= size
    return [tool for tool in tools if tool.name in kept]


def _weigh(tools: Sequence[Tool], environment: Environment, counter: Counter) -> int:
    return sum(weight(tool, environment, counter) for tool in tools)


class ToolCost(Struct, frozen=True):
    """The next request in one mode: tokens of definitions, tokens to be cached anew, and their price."""

    mode: Mode
    definitions: int
    rewritten: int
    dollars: float | None = None


class ToolUse(Struct, frozen=True):
    """What a request does about tools: for reports."""

    mode: Mode
    visible: tuple[str, ...]
    hidden: dict[str, Hidden]
    stable: ToolCost
    projected: ToolCost
    is_changed: bool = False  # the definitions differ from those sent last
    waits_for_fold: bool = False  # a changed list was kept back, because sending it would rewrite the cache


def tool_use(
    chosen: ToolList, prompt: int, prices: Prices | None, *, is_changed: bool, differs: bool, waits: bool
) -> ToolUse:
    """The two modes side by side. `prompt` is what the request holds beside definitions, `differs` whether the
    projected list is another than the one sent last."""
    stable = _cost("stable", chosen.stable_tokens, prompt, prices, is_new=chosen.mode == "stable" and is_changed)
    projected = _cost("projected", chosen.projected_tokens, prompt, prices, is_new=differs)
    return ToolUse(chosen.mode, chosen.visible, dict(chosen.hidden), stable, projected, is_changed, waits)


def _cost(mode: Mode, definitions: int, prompt: int, prices: Prices | None, *, is_new: bool) -> ToolCost:
    whole = definitions + prompt
    if prices is None:
        return ToolCost(mode, definitions, whole if is_new else 0)
    known = prices.at(whole)
    dollars = whole * (known.write if is_new else known.read) / 1_000_000
    return ToolCost(mode, definitions, whole if is_new else 0, dollars)
