"""What the model read and wrote, from its tool calls and their results: path, lines, and when.

Only what worked counts: a call without result, a refused one, a picture leave no trace. Order is by seq, so a file
read again is the newest once more. Pure: whether the file is still there is not asked here. The reading of calls is the
domain's (`touches_of`), one for digests and files alike; here only what is certain counts: files named by a tool that
is known, by a patch, or by a command that shows a file and does nothing else.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from contextfold.deferred import expression
from contextfold.domain import Text, ToolCall, ToolKind, ViewMessage, touches_of

Action: TypeAlias = Literal["read", "write"]

_KINDS: Mapping[Action, ToolKind] = {"read": "reads", "write": "writes"}

# How tools begin that answer with a refusal and do not mark it as one.
_REFUSED = (
    "error",
    "<error",
    "<tool_use_error",
    "permission denied",
    "file not found",
    "no such file",
    "enoent",
    "access denied",
)

_NUMBERED = expression(r"^\s*\d+(?:\t|→| ?\| ?|: )")
_CUT = expression(r"truncat|omitted|more lines|\.\.\.|…|省略", re.IGNORECASE)
_AROUND = 3  # lines that a tool may put around a file …
_AROUND_BY = ("<", "(", "[", "{", "#")  # … and how such lines begin
_CAP = 200  # lines that no tool cuts a file to; a longer answer may be cut by its tool


class FileCall(Struct, frozen=True):
    """A file that a call reads or writes. Lines are counted from 1; None means from the start, or to the end."""

    action: Action
    path: str
    first: int | None = None
    last: int | None = None
    content: str | None = None  # all that will be in the file, where the call says so


def file_calls(call: ToolCall, more: Mapping[str, Action] = {}) -> Iterator[FileCall]:
    """The files a call names; `more` are tools of the caller's own."""
    for touch in touches_of(call, {tool: _KINDS[action] for tool, action in more.items()}):
        if touch.is_known and touch.path and touch.action in ("read", "written", "edited"):
            action: Action = "read" if touch.action == "read" else "write"
            yield FileCall(action, touch.path, touch.first, touch.last, touch.content)


class Use(Struct, frozen=True):
    """The last time a file was read or written."""

    path: str  # beneath the workspace, with forward slashes
    action: Action
    seq: int  # of the result
    first: int | None = None
    last: int | None = None
    text: str = ""  # what the model was shown, or wrote as the whole file
    is_whole: bool = False  # `text` is the file, byte for byte


class Uses:
    """The files of one conversation by path; takes messages in order, and can begin again."""

    def __init__(self, root: Path, tools: Mapping[str, Action] | None = None) -> None:
        self._roots = tuple(dict.fromkeys((str(root), os.path.realpath(root))))  # agents name it either way
        self._tools = dict(tools or {})
        self.last = 0  # seq of the newest message taken
        self._waiting: dict[str, tuple[FileCall, ...]] = {}
        self._uses: dict[str, Use] = {}

    def forget(self) -> None:
        """The branch was left: begin again."""
        self.last = 0
        self._waiting.clear()
        self._uses.clear()

    def follow(self, messages: Iterable[ViewMessage]) -> list[Use]:
        """Take what was said since; the files that it used."""
        fresh: dict[str, Use] = {}
        for said in messages:
            self.last = said.seq
            shape = said.item.shape
            if shape.calls:
                for call in said.message.calls:
                    found = tuple(file_calls(call, self._tools))
                    if found:
                        self._waiting[call.id] = found
            elif self._waiting.keys() & set(shape.results):
                for use in self._used(said):
                    before = self._uses.get(use.path)
                    if use.action == "write" and before is not None and use.first is None:
                        # A write says nothing of lines: those that were looked at stay the ones to show.
                        use = replace(use, first=before.first, last=before.last)
                    fresh[use.path] = self._uses[use.path] = use
        return list(fresh.values())

    def latest(self) -> list[Use]:
        """Every file, the last used first."""
        return sorted(self._uses.values(), key=lambda use: -use.seq)

    def _used(self, said: ViewMessage) -> Iterable[Use]:
        for result in said.message.results:
            text = "\n".join(block.text for block in result.blocks if isinstance(block, Text))
            only_text = all(isinstance(block, Text) for block in result.blocks)
            worked = only_text and not result.is_error and not text.lstrip().casefold().startswith(_REFUSED)
            for call in self._waiting.pop(result.call, ()) if worked else ():
                path = self._beneath(call.path)
                if path is not None:
                    shown = text if call.action == "read" else call.content or ""
                    yield Use(path, call.action, said.seq, call.first, call.last, shown, call.content is not None)

    def _beneath(self, path: str) -> str | None:
        """The path inside the workspace as it is written, links not followed; None outside."""
        plain = path.replace("\\", "/") if "/" not in path else path
        for root in self._roots:
            inside = posixpath.relpath(posixpath.normpath(posixpath.join(root, plain)), root)
            if not inside.startswith("..") and inside != "." and "\0" not in inside:
                return inside
        return None


# -- whether a file still is what was shown of it ---------------------------------------------------------------------
#
# The only witness when nobody was there to look. Tools number lines in their own ways; numbers are taken off before
# comparing. Where the answer does not look like the file at all, this says that it cannot tell, rather than guess.


def is_as_shown(use: Use, text: str) -> bool | None:
    """True, False, or None where it cannot be told."""
    if use.is_whole:
        return use.text == text
    if use.action == "write":
        return None
    shown = use.text.splitlines()
    lines = text.splitlines()[(use.first or 1) - 1 : use.last]
    numbered = [_NUMBERED.sub("", line) for line in shown if _NUMBERED.match(line)]
    said = numbered if len(numbered) * 2 > len(shown) else shown
    begin = next((at for at in range(min(len(said), _AROUND + 1)) if lines and said[at] == lines[0]), None)
    if begin is None:
        return False if said is numbered and said else _roughly(said, lines)
    same = 0
    while same < len(lines) and begin + same < len(said) and said[begin + same] == lines[same]:
        same += 1
    rest = [line for line in said[begin + same :] if line.strip() and not line.lstrip().startswith(_AROUND_BY)]
    is_capped = use.last is not None or len(said) >= _CAP or any(_CUT.search(line) for line in shown[-_AROUND:])
    return _verdict(rest, lines[same:], is_capped=is_capped)


def _verdict(shown: list[str], lines: list[str], *, is_capped: bool) -> bool:
    """What the first difference means: `shown` and `lines` are what follows it, in the answer and in the file."""
    if not lines:
        return not shown  # else there were more lines then
    if not shown:
        return is_capped  # else the file has grown
    is_cut = len(shown) <= _AROUND and lines[0].startswith(shown[0])  # in the middle of a line
    return is_cut or (is_capped and len(shown) <= _AROUND and bool(_CUT.search(shown[0])))


def _roughly(said: list[str], lines: list[str]) -> bool | None:
    """For an answer that does not begin like the file: whether it can have been the file at all."""
    witnesses = {line for line in said if line.strip()}
    wanted = [line for line in lines[: len(said)] if line.strip()]
    found = sum(line in witnesses for line in wanted)
    if found * 2 >= max(1, len(wanted)):
        return False
    is_plain = len(witnesses) >= _AROUND and not any(line.lstrip().startswith(_AROUND_BY) for line in said[:1])
    return False if is_plain and not found else None
