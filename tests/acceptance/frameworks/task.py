"""What every framework is asked to do: forty turns, two files read at once in each, in a window that holds a few."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

TURNS = 40
WINDOW = 9_000
PATHS = ("src/a.py", "src/b.py")


def question(number: int) -> str:
    return f"Look at both files, please. This is turn {number}."


def page(path: str) -> str:
    """What the tool answers: long enough that a few turns fill the window."""
    return f"a line of {path}\n" * 100


@dataclass
class Report:
    """What a run came to, printed as one line of JSON."""

    folds: int = 0
    changed: int = 0

    def folded(self, _notice: object) -> None:
        self.folds += 1

    def compare(self, before: list[Any], after: list[Any]) -> None:
        """Count the owner's messages that are not what they were a turn before."""
        self.changed += sum(one != other for one, other in zip(before, after, strict=False))
        self.changed += max(0, len(before) - len(after))

    def tell(self, **numbers: int) -> None:
        print(json.dumps({"folds": self.folds, "changed": self.changed, **numbers}))
