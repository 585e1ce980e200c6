"""A tool as its owner declares it: what it takes, when it may be used, what it requires and where it is limited.

What is not declared is not allowed: a tool has side effects unless it says that it only reads, a tool with side effects
belongs to no phase unless it names one, and requires a grant of its own name unless it names permissions. A limit
narrows the schema that the model reads and is checked again when a call arrives, because a model may ignore a schema.
No file is looked at: a link that leads elsewhere is the tool's own business.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import force_setattr

from contextfold.deferred import expression
from contextfold.domain import Counter, Environment, Message, Phase, Text, decode, encode
from contextfold.errors import BadConfiguration

from .schema import same

# -- permissions ------------------------------------------------------------------------------------------------------

EVERYTHING = "*"


def covers(granted: Iterable[str], required: str) -> bool:
    """Whether one of the granted permissions is this one or a wildcard for it."""
    held = granted if isinstance(granted, frozenset) else frozenset(granted)
    if required in held or EVERYTHING in held:
        return True
    spaces = required.split(":")[:-1]
    return any(":".join([*spaces[: depth + 1], EVERYTHING]) in held for depth in range(len(spaces)))


def checked(required: Iterable[str]) -> frozenset[str]:
    """What a tool may require: plain names. Something empty would be covered by anything."""
    names = frozenset((required,) if isinstance(required, str) else required)
    for name in names:
        if not name.strip() or EVERYTHING in name:
            raise BadConfiguration(
                f"A tool cannot require the permission {name!r}. Name it in full, without wildcards."
            )
    return names


# -- limits -----------------------------------------------------------------------------------------------------------

# Whatever makes a shell do more than run one program with plain words.
_SHELL = expression(r"[;&|<>$`\\\n\r(){}\[\]*?!~#'\"]")
_SPELLED = expression(r"%(?:25)*(?:2e|2f|5c|00)", re.IGNORECASE)


class Limit(Struct, frozen=True):
    """What is allowed, by parameter. `is_denied` takes the tool away altogether.

    A path ending in "/" allows everything below it; a command ending in " *" allows plain words after it.
    """

    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    paths: Mapping[str, Sequence[str]] = field(default_factory=dict)
    commands: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_denied: bool = False

    @property
    def parameters(self) -> frozenset[str]:
        return frozenset((*self.values, *self.paths, *self.commands))

    def problems(self, arguments: Mapping[str, Any]) -> Iterator[str]:
        """What in a call's arguments is not allowed, in words for the model."""
        for name in sorted(self.parameters - arguments.keys()):
            yield f"{name} must be given"
        for name, allowed in self.values.items():
            if name in arguments and not any(same(arguments[name], each) for each in allowed):
                yield f"{name} must be one of: {_listed(allowed)}"
        for name, paths in self.paths.items():
            if name in arguments and not is_allowed_path(arguments[name], paths):
                yield f"{name} must be, without detours, one of or below: {_listed(paths)}"
        for name, commands in self.commands.items():
            if name in arguments and not is_allowed_command(arguments[name], commands):
                yield f"{name} must be one of: {_listed(commands)}"

    def narrowed(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The schema with what is allowed written into it."""
        properties = {name: dict(each) for name, each in schema.get("properties", {}).items()}
        for name, allowed in [*self.values.items(), *self.paths.items(), *self.commands.items()]:
            known = properties[name]
            if any(isinstance(each, str) and each.endswith(("/", " *")) for each in allowed):
                told = " ".join(filter(None, [str(known.get("description", "")), f"Allowed: {_listed(allowed)}."]))
                properties[name] = known | {"description": told}
            else:
                before = known.get("enum")
                kept = [each for each in allowed if before is None or any(same(each, old) for old in before)]
                properties[name] = known | {"enum": kept}
        required = [*schema.get("required", ()), *sorted(self.parameters.difference(schema.get("required", ())))]
        return {**schema, "properties": properties, "required": required}


def is_allowed_path(path: object, allowed: Sequence[str]) -> bool:
    """Whether a path is one of these files, or below one of these directories, without any detour."""
    if not isinstance(path, str) or not path or "\\" in path or _SPELLED.search(path) or not path.isprintable():
        return False
    if ".." in path.split("/") or path.startswith("~"):
        return False
    plain = posixpath.normpath(path)
    plain = plain.removeprefix("/") if plain.startswith("//") else plain
    return any(
        plain == posixpath.normpath(each) or (each.endswith("/") and plain.startswith(posixpath.normpath(each) + "/"))
        for each in allowed
    )


def is_allowed_command(command: object, allowed: Sequence[str]) -> bool:
    """Whether a command is one of these to the letter, or begins with one of these and goes on in plain words."""
    if not isinstance(command, str):
        return False
    plain = command.strip()
    if plain in [each for each in allowed if not each.endswith(" *")]:
        return True
    if _SHELL.search(plain) or not plain.isprintable():
        return False
    words = plain.split()
    begins = [each.removesuffix(" *").split() for each in allowed if each.endswith(" *")]
    return any(words[: len(begin)] == begin for begin in begins)


def _listed(allowed: Sequence[Any]) -> str:
    return ", ".join(str(each) for each in allowed) or "nothing"


# -- the declaration --------------------------------------------------------------------------------------------------

_ANYTHING: Mapping[str, Any] = {"type": "object", "properties": {}}


class Tool(Struct, frozen=True, eq=False, dict=True):
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
        force_setattr(self, "requires", checked(self.requires))
        force_setattr(self, "limits", {Environment.of(str(name)): limit for name, limit in self.limits.items()})
        if self.phases is not None:
            named = (self.phases,) if isinstance(self.phases, str) else self.phases
            force_setattr(self, "phases", frozenset(Phase.of(str(each)) for each in named))
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
