"""The plan as it stands: the newest to-do list, or the tasks that were created and ticked off one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_STEP_KEYS = ("content", "step", "subject", "title", "task", "text", "description", "name")
_STATUS_KEYS = ("status", "state")
_ID_KEYS = ("taskId", "task_id", "id")
_TOLD = re.compile(r"\A\[([^\]]*+)\] (.*)")
_DONE = frozenset({"completed", "done", "deleted", "cancelled", "canceled", "finished"})


@dataclass(slots=True)
class Plan:
    """Steps with their status, by number."""

    seq: int = 0
    steps: dict[str, tuple[str, str]] = field(default_factory=dict)  # number: (status, words)

    def replace(self, seq: int, items: Iterable[Any]) -> bool:
        """A whole list: it is the plan from now on."""
        steps = {str(n): step for n, item in enumerate(items, 1) if (step := _step(item)) is not None}
        if steps:
            self.seq, self.steps = seq, steps
        return bool(steps)

    def touch(self, seq: int, arguments: Mapping[str, Any]) -> bool:
        """One task: created if it has words and no number yet, ticked off if it has both number and status."""
        number = next((str(arguments[key]) for key in _ID_KEYS if key in arguments), "")
        status = next((str(arguments[key]) for key in _STATUS_KEYS if key in arguments), "")
        if number in self.steps and status:
            self.seq, self.steps[number] = seq, (status, self.steps[number][1])
            return True
        if "subject" in arguments and not number:
            self.seq = seq
            self.steps[str(len(self.steps) + 1)] = (status or "pending", str(arguments["subject"]))
            return True
        return False

    def restore(self, line: str) -> None:
        """A step as an earlier digest told it."""
        found = _TOLD.fullmatch(line)
        if found:
            self.steps[str(len(self.steps) + 1)] = (found.group(1), found.group(2))

    def lines(self) -> list[tuple[bool, str]]:
        """Whether it is done, and one line, for each step in order."""
        return [
            (status.lower() in _DONE, f"[{status}] {' '.join(words.split())}") for status, words in self.steps.values()
        ]


def _step(item: Any) -> tuple[str, str] | None:
    if isinstance(item, str):
        return ("?", item)
    if not isinstance(item, Mapping):
        return None
    words = next((str(item[key]) for key in _STEP_KEYS if item.get(key)), "")
    status = next((str(item[key]) for key in _STATUS_KEYS if item.get(key)), "?")
    return (status, words) if words else None
