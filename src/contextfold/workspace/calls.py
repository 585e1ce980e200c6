"""Which files a tool call reads and writes, for whoever keeps an eye on files.

The reading of calls is the domain's (`touches_of`), one for digests and files alike. Here only what is certain counts:
files named by a tool that is known, by a patch, or by a command that shows a file and does nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from contextfold.domain import ToolCall, ToolKind, touches_of

Action: TypeAlias = Literal["read", "write"]

_KINDS: Mapping[Action, ToolKind] = {"read": "reads", "write": "writes"}


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
    for touch in touches_of(call, {tool: _KINDS[action] for tool, action in more.items()}):
        if touch.is_known and touch.path and touch.action in ("read", "written", "edited"):
            action: Action = "read" if touch.action == "read" else "write"
            yield FileCall(action, touch.path, touch.first, touch.last, touch.content)
