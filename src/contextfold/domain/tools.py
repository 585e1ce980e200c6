"""What a tool is, by its name, and what a call of it touches: files, with what was done to them, or a command.

One table for digests, clearing, prices, layers and the workspace. Every agent spells its tools in its own way, so names
are compared without case, separators and the server they come from: `Read`, `read_file`, `readFile`, `fs.read_file` and
`mcp__fs__read_file` are one tool. Where the table does not have a name, the call's arguments decide: a file is what
looks like a path, a command what stands where commands stand, and a change what brings new text, with or without the
old. Knows nothing of disks; a path is whatever the model wrote.


What a tool call touches: files, with what was done to them, or a command.

The tool's name decides what is done where the table of tools has it. Agents name their own tools as they like, so for
other names a file is what looks like a path, a command what stands where commands stand, and a change what brings new
text, with or without the old. Knows nothing of disks; a path is whatever the model wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from contextfold.deferred import expression

from .messages import ToolCall

ToolKind: TypeAlias = Literal[
    "reads",  # shows a file
    "writes",  # makes a file, or its whole content anew
    "edits",  # changes part of a file
    "deletes",
    "patches",  # changes several files by one text
    "views",  # an editor: its command says whether it shows or changes
    "lists",
    "finds",  # files by name
    "searches",  # in files
    "runs",  # a command
    "asks",  # a person
    "plans",  # keeps a to-do list
    "teaches",  # loads instructions
]

# The names of Claude Code, Codex, Roo and Cline, Gemini CLI, opencode, Cursor, pi, OpenHands, SWE-agent, Copilot and
# the usual MCP servers. The first of each line is the name a policy may use for all of them.
_NAMES: Mapping[ToolKind, str] = {
    "reads": (
        "readfile read viewfile view openfile open catfile cat readtextfile readmanyfiles readmultiplefiles "
        "getfilecontents filereader notebookread viewimage"
    ),
    "writes": "writefile write writetofile createfile create createnewfile save savefile writetextfile newfile",
    "edits": (
        "editfile edit multiedit strreplace replace replaceinfile applydiff insertcontent searchandreplace "
        "searchreplace insert insertedit insertline editnotebook notebookedit replacestringinfile inserteditintofile"
    ),
    "deletes": "deletefile delete removefile remove unlink rm",
    "patches": "applypatch patch",
    "views": "strreplaceeditor strreplacebasededittool texteditor editor fileeditor",
    "lists": "listdir ls listfiles listdirectory readdirectory directorytree",
    "finds": "glob globfilesearch findfiles filesearch findbyname searchfilenames",
    "searches": "grep grepsearch searchfiles search ripgrep rg searchfilecontent codebasesearch searchdir searchfile",
    "runs": (
        "bash shell run runcommand runshellcommand executecommand execcommand executebash exec terminal "
        "runterminalcmd runinterminal localshell localshellcall shellcommand writestdin powershell cmdrunner"
    ),
    "asks": (
        "askuser askuserquestion askfollowupquestion askhuman askquestion requestuserinput askforinput humaninput "
        "getuserinput confirm askconfirmation exitplanmode elicit elicitation createelicitation question"
    ),
    "plans": (
        "updateplan todowrite updatetodolist writetodos todo settodos updatetodos managetodolist todolist taskcreate "
        "taskupdate tasktracker"
    ),
    "teaches": "skill loadskill useskill fetchinstructions",
}
_ALONE = frozenset({"notebookedit", "exitplanmode"})  # names that a policy lists beside the first of their kind

TOOL_KINDS: Mapping[str, ToolKind] = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_FIRST = {kind: names.split()[0] for kind, names in _NAMES.items()}
_SERVER = expression(r"__|[./:]")


@lru_cache(maxsize=4_096)
def plain_tool_name(name: str) -> str:
    """A tool's name as it is compared: without its server, case and separators."""
    own = _SERVER.split(name.strip("_./:"))[-1]
    return "".join(letter for letter in own.casefold() if letter.isalnum())


def is_native(name: str) -> bool:
    """Whether a tool is the client's own: its name carries no server."""
    return bool(name) and _SERVER.search(name) is None and not name.startswith("mcp")


def kind_of_tool(name: str) -> ToolKind | None:
    """What the tool is; None where its name says nothing."""
    return TOOL_KINDS.get(plain_tool_name(name))


def tool_key(name: str) -> str:
    """One key for all names of the same tool: `Read`, `read_file` and `mcp__fs__view` are one."""
    plain = plain_tool_name(name)
    kind = TOOL_KINDS.get(plain)
    return plain if kind is None or plain in _ALONE else _FIRST[kind]


Action: TypeAlias = Literal["read", "written", "edited", "deleted", "ran"]

_DEEPEST = 40  # levels of a call's arguments that are read
LABEL = 200  # characters of a call's own words in a heading

# What an argument is, by its key without case and separators.
_KEYS: Mapping[str, str] = {
    "path": "filepath path notebookpath filename file targetfile relativepath absolutepath uri relativeworkspacepath",
    "command": "command cmd script commandline bash shell code",
    "new": (
        "newstring newstr newtext content contents filetext newcontent replacement newsource insertedtext codeedit diff"
    ),
    "old": "oldstring oldstr oldtext oldcontent search",
    "search": "pattern query regex glob searchterm",
    # Where a command runs is not what it is about.
    "dull": (
        "description outputmode workdir workingdirectory cwd timeout status activeform type model replaceall "
        "reasoningeffort"
    ),
}
_KEY_KINDS = {key: kind for kind, keys in _KEYS.items() for key in keys.split()}
_PLAN_KEYS = ("todos", "plan", "todo_list", "tasks", "items")

_FILE = expression(r"\A(?:~|[A-Za-z]:)?[/\\]?+(?:[\w.@+~ -]++[/\\])*[\w.@+-]*+\Z")
_ENDING = expression(r"\.\w{1,8}\Z")
_FROM_ROOT = expression(r"\A(?:~|\.{1,2})?/[\w.@+/-]++\Z")
_PART = r"""(?:head|tail)(?: -n ?\d+| -\d+)?|sed -n ['"]?[\d$,;p ]+['"]?"""
_SHOWS = expression(  # commands that show a file, whole or in part, and do nothing else
    rf"""(?:cat|nl(?: -ba)?|{_PART}) ['"]?(?P<path>(?:[\w.@+~-]*/)*[\w@+-]*\.\w{{1,8}})['"]?(?: \| (?:{_PART}))?"""
)
_PATCHED = expression(r"^\*\*\* (Update|Add|Delete) File: (.+)$", re.MULTILINE)
_SEVERAL = ("files", "paths", "file_paths")
_PATHS = ("file_path", "path", "filePath", "absolute_path", "target_file", "filename", "file", "notebook_path", "uri")
_FIRST_LINE = ("offset", "start_line", "startLine", "line_start", "start")
_LAST_LINE = ("end_line", "endLine", "line_end", "end")
_CONTENT = ("content", "contents", "file_text", "text")
_ACTIONS: dict[ToolKind, Action] = {"reads": "read", "writes": "written", "edits": "edited", "deletes": "deleted"}
_ON_FILES = frozenset({*_ACTIONS, "views"})
_NO_TOOLS: Mapping[str, ToolKind] = {}
_WRAPPED = expression(r"\A(?:/bin/)?(?:ba|z)?sh -l?c ")
_ENTERED = expression(r"\Acd (?P<where>[\w.@+~/-]++) && ")
_PRINTED = expression(r"(?:sed -n ['\"]?(?P<first>\d{1,9})(?:,(?P<last>\d{1,9}))?p|head(?: -n ?| -)(?P<most>\d{1,9}))")
_WRITES = expression(r"write|create|save|insert|append|new", re.IGNORECASE)
_EDITS = expression(r"edit|replace|patch|update|modify|diff|insert", re.IGNORECASE)
_DELETES = expression(r"delete|remove|unlink", re.IGNORECASE)
_PATCH_ACTIONS: dict[str, Action] = {"Update": "edited", "Add": "written", "Delete": "deleted"}


class Touch(Struct, frozen=True):
    """One thing a call does: to a file, by a command, or with a tool of its own."""

    action: Action
    path: str = ""
    label: str = ""  # one line that says what was called
    new: str = ""  # text it brings
    old: str = ""  # text it replaces
    first: int | None = None  # lines of the file, counted from 1; None means from its start,
    last: int | None = None  # or to its end
    content: str | None = None  # all that will be in the file, where the call says so
    is_known: bool = False  # the tool's name or the command itself says so, not only the look of the arguments


def touches_of(call: ToolCall, more: Mapping[str, ToolKind] = _NO_TOOLS) -> tuple[Touch, ...]:
    """What the call does, one entry for each file it touches; always at least one. `more` are tools of the caller's."""
    given = arguments_of(call)
    fields = tuple(_fields(given))
    for _, value in fields:
        if "*** " in value and (patched := tuple(_patched(value))):
            return patched
    own = {plain_tool_name(tool): kind for tool, kind in more.items()}
    kind = own.get(plain_tool_name(call.name)) or kind_of_tool(call.name)
    named = _Named.of(fields)
    if kind in _ON_FILES and isinstance(given, dict) and (known := tuple(_listed(call.name, kind, given, named))):
        return known
    if named.path and not named.search and kind not in ("lists", "finds", "searches", "runs"):
        return (_file_touch(call.name, named),)
    if named.command:
        return (_command_touch(named.command),)
    return (Touch("ran", label=_one_line(f"{call.name} {named.label}"), new=named.rest),)


def _listed(tool: str, kind: ToolKind, given: Mapping[str, Any], named: _Named) -> Iterator[Touch]:
    """The files that a known tool names, one or several, each with its lines."""
    several = next((given[key] for key in _SEVERAL if isinstance(given.get(key), list)), None)
    entries: list[Any] = [given] if several is None else several
    touch = replace(_file_touch(tool, named), action=_action(kind, given, named), is_known=True)
    for each in entries:
        about: Mapping[str, Any] = each if isinstance(each, dict) else {"path": each}
        path = next((about[key] for key in _PATHS if isinstance(about.get(key), str) and about[key].strip()), None)
        if path is not None:
            first, last = _lines(about)
            content = None if touch.action == "read" else _content(about)
            yield replace(touch, path=path, first=first, last=last, content=content)


def _action(kind: ToolKind, given: Mapping[str, Any], named: _Named) -> Action:
    if kind == "views":
        return {"view": "read", "create": "written"}.get(str(given.get("command")), "edited")  # type: ignore[return-value]
    if kind == "writes" and named.old:
        return "edited"
    return _ACTIONS[kind]


def _lines(about: Mapping[str, Any]) -> tuple[int | None, int | None]:
    view = about.get("view_range")
    if isinstance(view, list) and len(view) == 2 and all(isinstance(edge, int) for edge in view):
        return max(1, view[0]), view[1] if view[1] > 0 else None
    first, last = (
        next((n for key in keys if (n := _number(about.get(key))) is not None), None)
        for keys in (_FIRST_LINE, _LAST_LINE)
    )
    limit = _number(about.get("limit"))
    if last is None and limit is not None:
        last = (first or 1) + limit - 1
    return first, last


def _number(value: object) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        value = int(value)
    return max(1, value) if isinstance(value, int) and not isinstance(value, bool) else None


def _content(about: Mapping[str, Any]) -> str | None:
    whole = next((about[key] for key in _CONTENT if isinstance(about.get(key), str)), None)
    partial = any(key in about for key in ("old_string", "old_str", "insert_line", "line", "diff"))
    return None if partial else whole


class _Named(Struct, frozen=True):
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
    kind = _KEY_KINDS.get(re.sub(r"[^a-z]", "", key.rpartition(".")[2].lower()))
    is_other = (kind == "dull" and len(value) >= 200) or (kind == "path" and "\n" in value)
    if kind is not None and not is_other:
        return kind
    if len(value) < 300 and (_FROM_ROOT.match(value) or (_ENDING.search(value) and _FILE.match(value))):
        return "path"
    return "short" if len(value) <= 120 and "\n" not in value else "rest"


def _file_touch(tool: str, named: _Named) -> Touch:
    """Read, written, edited or deleted: new text decides, then the verb in the tool's name or its command."""
    verb = named.command if named.command and "\n" not in named.command and len(named.command) < 30 else tool
    action: Action = "read"
    if named.new or named.old or named.rest:
        action = "edited" if named.old or _EDITS.search(verb) or not _WRITES.search(verb) else "written"
    elif _DELETES.search(verb):
        action = "deleted"
    elif named.command and verb is tool:
        return _command_touch(named.command)
    return Touch(
        action, path=named.path, label=_one_line(f"{tool} {named.label}"), new=named.new or named.rest, old=named.old
    )


def _command_touch(command: str) -> Touch:
    """Its first line is its name; what follows, a script or a text to write, is what it brings."""
    bare = _WRAPPED.sub("", command.strip())
    entered = _ENTERED.match(bare)
    bare = bare[entered.end() :] if entered else bare
    shows = _SHOWS.fullmatch(bare)
    if shows:
        path, (first, last) = shows["path"], _printed(bare)
        path = f"{entered['where']}/{path}" if entered and not path.startswith(("/", "~")) else path
        return Touch("read", path, "$ " + _one_line(command), first=first, last=last, is_known=True)
    opening, _, rest = command.strip().partition("\n")
    return Touch("ran", label="$ " + _one_line(opening), new=rest)


def _printed(command: str) -> tuple[int | None, int | None]:
    """The lines of a file that a command shows, where it says so."""
    printed = _PRINTED.search(command)
    if printed is None:
        return None, None
    if printed["most"]:
        return 1, int(printed["most"])
    return int(printed["first"]), int(printed["last"] or printed["first"])


def _patched(text: str) -> Iterator[Touch]:
    marks = list(_PATCHED.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=False):
        lines = text[mark.end() : end].splitlines()
        new = "\n".join(line[1:] for line in lines if line.startswith("+"))
        old = "\n".join(line[1:] for line in lines if line.startswith("-"))
        yield Touch(
            _PATCH_ACTIONS[mark.group(1)],
            path=mark.group(2).strip(),
            label="apply_patch",
            new=new,
            old=old,
            is_known=True,
        )


def plan_in(arguments: Any) -> list[Any]:
    """The items of a to-do list among the arguments, if there is one."""
    if isinstance(arguments, dict):
        for key in _PLAN_KEYS:
            if isinstance(items := arguments.get(key), list) and items:
                return items
    return []


def arguments_of(call: ToolCall) -> Any:
    """The arguments as values; what is no JSON is one string."""
    arguments = call.arguments
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
