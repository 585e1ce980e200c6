"""Whether anything crossed between conversations, judged by marks alone. Knows nothing of contextfold.

Every word that matters is a mark, made once. A mark belongs to the conversations that sent it or were answered with it.
What was sent to the provider for one of them may hold its own marks only; and each mark of a request must have arrived,
or stand in a message that a fold of that very conversation hides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

MARK = re.compile(r"mk\d+[a-z]+\d+z")


def marks(text: str | bytes) -> set[str]:
    """The marks in a text."""
    return set(MARK.findall(text if isinstance(text, str) else text.decode()))


@dataclass
class Verdicts:
    """What was found so far."""

    requests: int = 0
    hidden: int = 0  # marks that a fold of the same conversation hid
    crossed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def judge(
        self,
        label: str,
        own: Collection[str],
        request: bytes,
        arrived: Iterable[bytes],
        covered: Callable[[], Collection[str]],
    ) -> None:
        """Look at one request, all that went to the provider for it, and the marks that its folds hide."""
        self.requests += 1
        bodies = [marks(body) for body in arrived]
        for body in bodies:
            self.crossed += [f"{label}: {mark}" for mark in sorted(body - set(own))]
        left = marks(request) - (bodies[0] if bodies else set())
        if left and bodies:
            left_over = left - set(covered())
            self.hidden += len(left) - len(left_over)
            self.missing += [f"{label}: {mark}" for mark in sorted(left_over)]
