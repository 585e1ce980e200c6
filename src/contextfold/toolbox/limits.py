"""What a tool may be asked in one environment: values, paths and commands from lists of what is allowed.

The same limit narrows the schema that the model reads and is checked when a call arrives, because a model may ignore a
schema. A limited parameter must be given. No file is looked at: a link that leads elsewhere is the tool's own business.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .schema import same

# Whatever makes a shell do more than run one program with plain words.
_SHELL = re.compile(r"[;&|<>$`\\\n\r(){}\[\]*?!~#'\"]")
_SPELLED = re.compile(r"%(?:25)*(?:2e|2f|5c|00)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Limit:
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
