"""What the model read and wrote, from its tool calls and their results: path, lines, and when.

Only what worked counts: a call without result, a refused one, a picture leave no trace. Order is by seq, so a file
read again is the newest once more. Pure: whether the file is still there is not asked here.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from contextfold.domain import Text, ToolResult, ViewMessage

from .calls import Action, FileCall, file_calls

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


@dataclass(frozen=True, slots=True)
class Use:
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
                    fresh[use.path] = self._uses[use.path] = self._joined(use)
        return list(fresh.values())

    def latest(self) -> list[Use]:
        """Every file, the last used first."""
        return sorted(self._uses.values(), key=lambda use: -use.seq)

    def _used(self, said: ViewMessage) -> Iterable[Use]:
        for result in said.message.results:
            text = _text(result)
            for call in self._waiting.pop(result.call, ()) if _worked(result, text) else ():
                path = self._beneath(call.path)
                if path is not None:
                    shown = text if call.action == "read" else call.content or ""
                    yield Use(path, call.action, said.seq, call.first, call.last, shown, call.content is not None)

    def _joined(self, use: Use) -> Use:
        """A write says nothing of lines: those that were looked at stay the ones to show."""
        before = self._uses.get(use.path)
        if use.action == "write" and before is not None and use.first is None:
            return replace(use, first=before.first, last=before.last)
        return use

    def _beneath(self, path: str) -> str | None:
        """The path inside the workspace as it is written, links not followed; None outside."""
        plain = path.replace("\\", "/") if "/" not in path else path
        for root in self._roots:
            inside = posixpath.relpath(posixpath.normpath(posixpath.join(root, plain)), root)
            if not inside.startswith("..") and inside != "." and "\0" not in inside:
                return inside
        return None


def _text(result: ToolResult) -> str:
    return "\n".join(block.text for block in result.blocks if isinstance(block, Text))


def _worked(result: ToolResult, text: str) -> bool:
    only_text = all(isinstance(block, Text) for block in result.blocks)
    return not result.is_error and only_text and not text.lstrip().casefold().startswith(_REFUSED)
