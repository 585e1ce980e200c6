"""Ids of calls on the path. Providers reject an id used twice, and recorded histories do use them twice.

A call whose id was used before on its path is shown under a new one, and so are its results. Which one depends only on
what came before, so that bytes already sent never change; the log keeps the ids as they came.
"""

from __future__ import annotations

from msgspec.structs import replace

from .shapes import Shape

Aliases = tuple[tuple[int, str], ...]  # (block, id under which it is shown)


class CallIds:
    """The ids in use, in the order of the path; they leave in reverse order when the head moves back."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}  # shown id -> place of its message
        self._original: dict[str, str] = {}  # of those that were renamed
        self._tools: dict[str, str] = {}  # shown id -> the tool that was called

    def copy(self) -> CallIds:
        twin = CallIds()
        twin._used, twin._original, twin._tools = dict(self._used), dict(self._original), dict(self._tools)
        return twin

    def truncate(self, length: int) -> None:
        while self._used and self._used[newest := next(reversed(self._used))] >= length:
            del self._used[newest]
            self._original.pop(newest, None)
            self._tools.pop(newest, None)

    def shown(self, place: int, shape: Shape, waiting: tuple[str, ...]) -> tuple[Shape, Aliases]:
        """The outline with ids that are unique on the path, and the blocks that had to change."""
        blocks = list(shape.blocks)
        aliases: list[tuple[int, str]] = []
        answered = list(waiting)
        for index, block in enumerate(blocks):
            if block.kind == "call":
                name = self._take(block.call, place)
                self._tools[name] = block.name
            elif block.kind == "result" and answered and shape.role == "user":
                name = self._answer(block.call, block.name, answered)
            else:
                continue
            if name != block.call:
                blocks[index] = replace(block, call=name)
                aliases.append((index, name))
        return (replace(shape, blocks=tuple(blocks)), tuple(aliases)) if aliases else (shape, ())

    def _take(self, call: str, place: int) -> str:
        name, number = call or f"call-{place}", 1
        while name in self._used:
            number += 1
            name = f"{call or 'call'}-{number}"
        self._used[name] = place
        if name != call:
            self._original[name] = call
        return name

    def _answer(self, call: str, tool: str, waiting: list[str]) -> str:
        """The open call this result is for: the first of that id that still waits, or of the tool it names instead."""
        found = next((name for name in waiting if self._original.get(name, name) == call), None)
        if found is None and tool:
            found = next((name for name in waiting if self._tools.get(name) == tool), None)
        if found is None:
            return call
        waiting.remove(found)
        return found
