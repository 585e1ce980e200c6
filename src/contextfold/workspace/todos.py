"""Open to-dos: the model's own list, shown again when a fold has taken the call that wrote it.

An attacher. The newest list counts and older ones do not; what is done is not repeated. Lists are read in the ways
common agents write them; a list in no known form is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from contextfold.deferred import expression
from contextfold.domain import Attachment, ToolCall, Turn, decode, kind_of_tool
from contextfold.errors import BadMessage

from .phrases import FILE_PHRASES

TO_DOS = "to-dos"
_DONE = frozenset({"completed", "complete", "done", "cancelled", "canceled"})
_LISTS = ("todos", "plan", "items", "tasks", "todo_list")
_WORDS = ("content", "step", "text", "title", "task", "description")
_BOX = expression(r"^\s*(?:[-*]|\d+\.)\s*\[(?P<mark>.)\]\s*(?P<text>.+)$")


class ToDo(Struct, frozen=True):
    """One line of a list."""

    text: str
    status: str = "pending"

    @property
    def is_open(self) -> bool:
        return self.status.casefold() not in _DONE


class ToDos:
    """Keeps the open to-dos in view. One for each session."""

    def __init__(self) -> None:
        self._last, self._seq = 0, 0
        self._list: tuple[ToDo, ...] = ()

    def beside(self) -> ToDos:
        """The same for another session."""
        return ToDos()

    def __call__(self, turn: Turn) -> Iterator[Attachment]:
        if self._last and not turn.branch.has(self._last):
            self._last, self._seq, self._list = 0, 0, ()
        for said in turn.branch.said(self._last):
            self._last = said.seq
            if any(block.kind == "call" and _is_list(block.name) for block in said.item.shape.blocks):
                lists = [found for call in said.message.calls if (found := to_dos(call)) is not None]
                if lists:
                    self._seq, self._list = said.seq, lists[-1]
        still_open = [todo for todo in self._list if todo.is_open]
        if still_open and not turn.branch.shows(self._seq):
            head = FILE_PHRASES[turn.language].to_dos.format(seq=self._seq)
            lines = (f"- [{' ' if todo.status == 'pending' else todo.status}] {todo.text}" for todo in still_open)
            yield Attachment(TO_DOS, "\n".join([head, *lines]), TO_DOS)


def to_dos(call: ToolCall) -> tuple[ToDo, ...] | None:
    """The list a call writes; None when it writes none."""
    if not _is_list(call.name):
        return None
    try:
        given = decode(call.arguments)
    except BadMessage:
        return None
    listed = next((given[name] for name in _LISTS if name in given), None) if isinstance(given, dict) else given
    if isinstance(listed, str):
        marks = {"x": "completed", "-": "in_progress", "~": "in_progress"}
        boxes = filter(None, map(_BOX.match, listed.splitlines()))
        return tuple(ToDo(_line(box["text"]), marks.get(box["mark"].casefold(), "pending")) for box in boxes)
    if not isinstance(listed, list):
        return None
    found: list[ToDo] = []
    for each in listed:
        about: Mapping[str, Any] = each if isinstance(each, dict) else {}
        named = next((about[name] for name in _WORDS if isinstance(about.get(name), str)), "")
        text = each if isinstance(each, str) else named
        status = about.get("status", "completed" if about.get("done") is True else "pending")
        if text.strip():
            found.append(ToDo(_line(text), str(status)))
    return tuple(found)


def _is_list(name: str) -> bool:
    return kind_of_tool(name) == "plans"


def _line(text: str) -> str:
    return " ".join(text.split())
