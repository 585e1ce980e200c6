"""Which files a tool call is about: every agent names its tools and their arguments in its own way.

A table of names, which a caller may add to, and the few shapes that need reading: editors with a command, lists of
files, patches. Knows nothing of disks; a path is whatever the model wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from contextfold.domain import ToolCall, decode
from contextfold.errors import BadMessage

Action: TypeAlias = Literal["read", "write"]

# Names without case and separators: Claude Code, Roo and Cline, Gemini CLI, opencode, Cursor, pi, OpenHands, SWE-agent.
_READS = "read readfile viewfile view openfile open catfile notebookread readtextfile readmanyfiles getfilecontents"
_WRITES = (
    "write writefile writetofile createfile create save edit editfile multiedit strreplace replace replaceinfile "
    "applydiff insertcontent searchandreplace searchreplace notebookedit writetextfile insert"
)
_EDITORS = "strreplaceeditor strreplacebasededittool texteditor editor"  # one tool, its command says what it does
_PATCHES = "applypatch"

FILE_TOOLS: Mapping[str, Action] = {
    **dict.fromkeys(_READS.split(), "read"),
    **dict.fromkeys(_WRITES.split(), "write"),
}

_PATH = ("file_path", "path", "filePath", "absolute_path", "target_file", "filename", "file", "notebook_path", "uri")
_PATHS = ("files", "paths", "file_paths")
_FIRST = ("offset", "start_line", "startLine", "line_start", "start")
_LAST = ("end_line", "endLine", "line_end", "end")
_CONTENT = ("content", "contents", "file_text", "text")
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add) File: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FileCall:
    """A file that a call reads or writes. Lines are counted from 1; None means from the start, or to the end."""

    action: Action
    path: str
    first: int | None = None
    last: int | None = None
    content: str | None = None  # all that will be in the file, where the call says so


def file_calls(call: ToolCall, more: Mapping[str, Action] = {}) -> Iterator[FileCall]:
    """The files a call names; `more` are tools of the caller's own."""
    given = _arguments(call.arguments)
    name = _plain(call.name)
    own = {_plain(tool): action for tool, action in more.items()}
    action = own.get(name) or FILE_TOOLS.get(name)
    if name in _EDITORS.split():
        action = "read" if given.get("command") == "view" else "write"
    if name in _PATCHES.split():
        yield from _patched(given)
    elif action is not None:
        yield from _named(action, given)


def _plain(name: str) -> str:
    """A tool's name as it is compared; what comes before the last double underscore names its server."""
    return "".join(letter for letter in name.rpartition("__")[2].casefold() if letter.isalnum())


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        value = decode(text)
    except BadMessage:
        return {}
    return value if isinstance(value, dict) else {}


def _named(action: Action, given: Mapping[str, Any]) -> Iterator[FileCall]:
    several = next((given[name] for name in _PATHS if isinstance(given.get(name), list)), None)
    entries: list[Any] = [given] if several is None else several
    for each in entries:
        about: Mapping[str, Any] = each if isinstance(each, dict) else {"path": each}
        path = next((about[name] for name in _PATH if isinstance(about.get(name), str) and about[name].strip()), None)
        if path is not None:
            yield FileCall(action, path, *_lines(about), _content(about) if action == "write" else None)


def _lines(about: Mapping[str, Any]) -> tuple[int | None, int | None]:
    view = about.get("view_range")
    if isinstance(view, list) and len(view) == 2 and all(isinstance(edge, int) for edge in view):
        return max(1, view[0]), view[1] if view[1] > 0 else None
    first, last = (
        next((n for name in names if (n := _number(about.get(name))) is not None), None) for names in (_FIRST, _LAST)
    )
    limit = _number(about.get("limit"))
    if last is None and limit is not None:
        last = (first or 1) + limit - 1
    return first, last


def _number(value: object) -> int | None:
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    return max(1, value) if isinstance(value, int) and not isinstance(value, bool) else None


def _content(about: Mapping[str, Any]) -> str | None:
    whole = next((about[name] for name in _CONTENT if isinstance(about.get(name), str)), None)
    partial = any(name in about for name in ("old_string", "old_str", "insert_line", "line", "diff"))
    return None if partial else whole


def _patched(given: Mapping[str, Any]) -> Iterator[FileCall]:
    for text in given.values():
        if isinstance(text, str):
            yield from (FileCall("write", path.strip()) for path in _PATCHED.findall(text))
