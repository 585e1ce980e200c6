"""How far long work is, on the error stream: one line rewritten on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from contextfold.domain import harmless

from .paper import clipped

ON_TERMINALS, ELSEWHERE = 0.1, 5.0  # seconds between two signs of life


class Progress:
    """Tells of one piece of work; says nothing at all when it is done quickly or must be quiet."""

    def __init__(self, out: TextIO, label: str, *, quiet: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._out, self._label, self._clock = out, label, clock
        self._is_terminal, self._quiet = out.isatty(), quiet
        self._next = clock() + (ON_TERMINALS if self._is_terminal else ELSEWHERE)
        self._is_open = False

    def at(self, done: int, of: int = 0, what: str = "") -> None:
        """So much is done."""
        now = self._clock()
        if self._quiet or now < self._next:
            return
        self._next = now + (ON_TERMINALS if self._is_terminal else ELSEWHERE)
        share = f"{done:,} of {of:,} ({100 * done // of} %)" if of else f"{done:,}"
        line = harmless.line(f"{self._label}: {share}{'  ' + what if what else ''}")
        if self._is_terminal:
            self._out.write(f"\r\x1b[K{clipped(line, 78)}")
            self._is_open = True
        else:
            self._out.write(line + "\n")
        self._out.flush()

    def done(self) -> None:
        """Leave the terminal as it was."""
        if self._is_open:
            self._out.write("\r\x1b[K")
            self._out.flush()
            self._is_open = False
