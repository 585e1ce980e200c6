"""What a tool call does, read off the shape of its arguments.

Agents name their tools as they like, so a file is what looks like a path, a command what stands where commands stand,
and a change what brings new text, with or without the old. Tool names are only asked when the shape leaves it open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec

from contextfold.domain import ToolCall

Action: TypeAlias = Literal["read", "written", "edited", "deleted", "ran"]

_DEEPEST = 40  # levels of a call's arguments that are read
LABEL = 200  # characters of a call's own words in a heading

_PATH_KEYS = frozenset(
    [
        "filepath",
        "path",
        "notebookpath",
        "filename",
        "file",
        "targetfile",
        "relativepath",
        "absolutepath",
        "uri",
        "relativeworkspacepath",
    ]
)
_COMMAND_KEYS = frozenset(["command", "cmd", "script", "commandline", "bash", "shell", "code"])
_NEW_KEYS = frozenset(
    [
        "newstring",
        "newstr",
        "newtext",
        "content",
        "contents",
        "filetext",
        "newcontent",
        "replacement",
        "newsource",
        "insertedtext",
        "codeedit",
        "diff",
    ]
)
_OLD_KEYS = frozenset(["oldstring", "oldstr", "oldtext", "oldcontent", "search"])
_PLAN_KEYS = ("todos", "plan", "todo_list", "tasks", "items")
_SEARCH_KEYS = frozenset(["pattern", "query", "regex", "glob", "searchterm"])
_DULL_KEYS = frozenset(
    [
        "description",
        "outputmode",
        "workdir",  # where a command runs is not what it is about
        "workingdirectory",
        "cwd",
        "timeout",
        "status",
        "activeform",
        "type",
        "model",
        "replaceall",
        "reasoningeffort",
    ]
)

_FILE = re.compile(r"\A(?:~|[A-Za-z]:)?+[/\\]?+(?:[\w.@+~ -]++[/\\])*+[\w.@+-]*+\Z")
_ENDING = re.compile(r"\.\w{1,8}\Z")
_FROM_ROOT = re.compile(r"\A(?:~|\.{1,2})?+/[\w.@+/-]++\Z")
_PART = r"""(?:head|tail)(?: -n ?\d+| -\d+)?|sed -n ['"]?[\d$,;p ]+['"]?"""
_SHOWS = re.compile(  # commands that show a file, whole or in part, and do nothing else
    rf"""(?:cat|nl(?: -ba)?|{_PART}) ['"]?(?P<path>(?:[\w.@+~-]*/)*[\w@+-]*\.\w{{1,8}})['"]?(?: \| (?:{_PART}))?"""
)
_PATCHED = re.compile(r"^\*\*\* (Update|Add|Delete) File: (.+)$", re.MULTILINE)
_WRITES = re.compile(r"write|create|save|insert|append|new", re.IGNORECASE)
_EDITS = re.compile(r"edit|replace|patch|update|modify|diff|insert", re.IGNORECASE)
_DELETES = re.compile(r"delete|remove|unlink", re.IGNORECASE)
_PATCH_ACTIONS: dict[str, Action] = {"Update": "edited", "Add": "written", "Delete": "deleted"}


@dataclass(frozen=True, slots=True)
class Use:
    """One thing a call does: to a file, by a command, or with a tool of its own."""

    action: Action
    path: str = ""
    label: str = ""  # one line that says what was called
    new: str = ""  # text it brings
    old: str = ""  # text it replaces


def uses_of(call: ToolCall) -> tuple[Use, ...]:
    """What the call does, one entry for each file it touches; always at least one."""
    fields = tuple(_fields(decoded(call.arguments)))
    for _, value in fields:
        if "*** " in value and (patched := tuple(_patched(value))):
            return patched
    named = _Named.of(fields)
    if named.path and not named.search:
        return (_file_use(call.name, named),)
    if named.command:
        return (_command_use(named.command),)
    return (Use("ran", label=_one_line(f"{call.name} {named.label}"), new=named.rest),)


@dataclass(frozen=True, slots=True)
class _Named:
    """The string arguments of a call by what they seem to be."""

    path: str = ""
    command: str = ""
    new: str = ""
    old: str = ""
    search: str = ""
    label: str = ""
    rest: str = ""

    @classmethod
    def of(cls, fields: tuple[tuple[str, str], ...]) -> _Named:
        kinds: dict[str, list[str]] = {}
        label: list[str] = []
        for key, value in fields:
            kind = _kind(key, value)
            kinds.setdefault(kind, []).append(value)
            if kind in ("path", "search", "short"):
                label.append(value if kind == "search" or not key else f"{key}={value}")
        one = {kind: values[0] for kind, values in kinds.items() if kind in ("path", "search")}
        many = {
            kind: "\n".join(values) for kind, values in kinds.items() if kind not in ("path", "search", "short", "dull")
        }
        return cls(**one, **many, label=" ".join(label))


def _kind(key: str, value: str) -> str:
    plain = re.sub(r"[^a-z]", "", key.rpartition(".")[2].lower())
    if plain in _DULL_KEYS and len(value) < 200:
        return "dull"
    if plain in _OLD_KEYS:
        return "old"
    if plain in _NEW_KEYS:
        return "new"
    if plain in _COMMAND_KEYS:
        return "command"
    if plain in _SEARCH_KEYS:
        return "search"
    if (plain in _PATH_KEYS and "\n" not in value) or _looks_like_path(value):
        return "path"
    return "short" if len(value) <= 120 and "\n" not in value else "rest"


def _looks_like_path(value: str) -> bool:
    if len(value) >= 300:
        return False
    return bool(_FROM_ROOT.match(value) or (_ENDING.search(value) and _FILE.match(value)))


def _file_use(tool: str, named: _Named) -> Use:
    """Read, written, edited or deleted: new text decides, then the verb in the tool's name or its command."""
    verb = named.command if named.command and "\n" not in named.command and len(named.command) < 30 else tool
    action: Action = "read"
    if named.new or named.old or named.rest:
        action = "edited" if named.old or _EDITS.search(verb) or not _WRITES.search(verb) else "written"
    elif _DELETES.search(verb):
        action = "deleted"
    elif named.command and verb is tool:
        return _command_use(named.command)
    return Use(
        action, path=named.path, label=_one_line(f"{tool} {named.label}"), new=named.new or named.rest, old=named.old
    )


def _command_use(command: str) -> Use:
    """Its first line is its name; what follows, a script or a text to write, is what it brings."""
    shows = _SHOWS.fullmatch(command.strip())
    if shows:
        return Use("read", path=shows["path"], label="$ " + _one_line(command))
    first, _, rest = command.strip().partition("\n")
    return Use("ran", label="$ " + _one_line(first), new=rest)


def _patched(text: str) -> Iterator[Use]:
    marks = list(_PATCHED.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=False):
        lines = text[mark.end() : end].splitlines()
        new = "\n".join(line[1:] for line in lines if line.startswith("+"))
        old = "\n".join(line[1:] for line in lines if line.startswith("-"))
        yield Use(_PATCH_ACTIONS[mark.group(1)], path=mark.group(2).strip(), label="apply_patch", new=new, old=old)


def plan_in(arguments: Any) -> list[Any]:
    """The items of a to-do list among the arguments, if there is one."""
    if isinstance(arguments, dict):
        for key in _PLAN_KEYS:
            if isinstance(items := arguments.get(key), list) and items:
                return items
    return []


def decoded(arguments: str) -> Any:
    """The arguments as values; what is no JSON is one string."""
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return arguments


def _fields(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The strings of the arguments with the keys that lead to them; words of a command list are one string."""
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _fields(inner, f"{key}.{name}" if key else str(name), depth + 1)
    elif isinstance(value, list):
        if value and all(isinstance(inner, str) for inner in value):
            yield key, " ".join(value)
        else:
            for inner in value:
                yield from _fields(inner, key, depth + 1)


def _one_line(text: str) -> str:
    plain = " ".join(text[: 4 * LABEL].split())
    return plain if len(plain) <= LABEL else plain[: LABEL - 1] + "…"
