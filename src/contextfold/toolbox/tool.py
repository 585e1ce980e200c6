"""A tool as its owner declares it: what it takes, when it may be used, what it requires and where it is limited.

What is not declared is not allowed: a tool has side effects unless it says that it only reads, a tool with side effects
belongs to no phase unless it names one, and requires a grant of its own name unless it names permissions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

from contextfold.domain import Counter, Environment, Message, Phase, Text, decode, encode
from contextfold.errors import BadConfiguration

from .limits import Limit
from .permissions import checked

_ANYTHING: Mapping[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True, eq=False)
class Tool:
    """One tool. `schema` is the JSON schema of its arguments; the larger `priority`, the longer it stays in sight."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=lambda: _ANYTHING)
    category: str = ""  # in the map of phases; the tool's name when empty
    phases: Iterable[Phase | str] | None = None
    requires: Iterable[str] = ()
    side_effects: bool = True
    priority: int = 50
    limits: Mapping[Environment | str, Limit] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise BadConfiguration("A tool needs a name.")
        if not isinstance(self.schema.get("properties", {}), Mapping) or isinstance(self.schema.get("required"), str):
            raise BadConfiguration(f"The schema of {self.name} is none: properties are a mapping, required is a list.")
        object.__setattr__(self, "requires", checked(self.requires))
        object.__setattr__(self, "limits", {Environment.of(str(name)): limit for name, limit in self.limits.items()})
        if self.phases is not None:
            named = (self.phases,) if isinstance(self.phases, str) else self.phases
            object.__setattr__(self, "phases", frozenset(Phase.of(str(each)) for each in named))
        for limit in self.limits.values():
            unknown = limit.parameters - set(self.schema.get("properties", {}))
            if unknown:
                raise BadConfiguration(f"{self.name} is limited in {sorted(unknown)}, which its schema does not have.")

    @cached_property
    def required(self) -> frozenset[str]:
        """Permissions that must have been granted."""
        named = frozenset(self.requires)
        return named or (frozenset({self.name}) if self.side_effects else named)

    @cached_property
    def allowed_phases(self) -> frozenset[Phase]:
        if self.phases is not None:
            return frozenset(Phase(each) for each in self.phases)
        if not self.side_effects:
            return frozenset(Phase)
        return phase_map().get(self.category or self.name, frozenset())


@cache
def phase_map() -> Mapping[str, frozenset[Phase]]:
    """The phases of each category, from a data file that ships with the package."""
    rows = decode(Path(__file__).with_name("phases.json").read_bytes())
    categories = {category for phase in Phase for category in rows[phase.value]}
    return {name: frozenset(phase for phase in Phase if name in rows[phase.value]) for name in categories}


def limits_in(tool: Tool, environment: Environment) -> tuple[Limit, ...]:
    """The limits that hold there; where nobody knows where that is, all of them together."""
    declared: Mapping[Any, Limit] = tool.limits
    if environment is Environment.UNKNOWN:
        return tuple(declared[each] for each in Environment if each in declared)
    return (declared[environment],) if environment in declared else ()


@lru_cache(maxsize=4096)
def definition(tool: Tool, environment: Environment) -> Mapping[str, Any]:
    """What the model reads: the tool with the limits of this environment written into its schema."""
    schema: Mapping[str, Any] = tool.schema
    for limit in limits_in(tool, environment):
        schema = limit.narrowed(schema)
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": schema}


def weight(tool: Tool, environment: Environment, counter: Counter) -> int:
    """Tokens of the definition in a request."""
    held: Any = counter  # hashed by identity
    return _weight(tool, environment, held)


@lru_cache(maxsize=4096)
def _weight(tool: Tool, environment: Environment, counter: Any) -> int:
    text = Text(encode(definition(tool, environment)).decode())
    return int(counter.block_tokens(counter.shape(Message("system", (text,))).blocks[0].measure))
