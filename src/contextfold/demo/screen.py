"""Where the demo writes: a bar that moves on a terminal, plain lines anywhere else. Readable without colour."""

from __future__ import annotations

import shutil
import unicodedata
from typing import TextIO

CELLS = 28
STEPS = 10  # lines in all, where there is no terminal


class Screen:
    """One stream, and whether something is being counted on its last line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._is_open = False
        self._step = -1
        self._full, self._empty = ("█", "░") if _can_show("█░", stream) else ("#", ".")

    def line(self, text: str = "") -> None:
        """A line for good; a bar in progress goes on below it."""
        self._clear()
        print(text, file=self._stream, flush=True)

    def title(self, text: str) -> None:
        self.line()
        self.line(text)
        self.line("-" * width(text))
        self._step = -1

    def bar(self, done: int, of: int, note: str) -> None:
        """How far something is."""
        if self._is_terminal:
            filled = CELLS * done // max(1, of)
            text = f"  {self._full * filled}{self._empty * (CELLS - filled)}  {note}"
            self._clear()
            self._stream.write(shortened(text, shutil.get_terminal_size().columns - 1))
            self._stream.flush()
            self._is_open = True
        elif STEPS * done // max(1, of) != self._step:
            self._step = STEPS * done // max(1, of)
            print(f"  {100 * done // max(1, of):3} %  {note}", file=self._stream, flush=True)

    def end(self) -> None:
        """The bar is done with."""
        self._clear()

    def _clear(self) -> None:
        if self._is_open:
            self._stream.write("\r\x1b[2K")
            self._is_open = False


def _can_show(text: str, stream: TextIO) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def width(text: str) -> int:
    """Columns a text takes: Japanese letters take two."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def padded(text: str, columns: int) -> str:
    return text + " " * max(0, columns - width(text))


def shortened(text: str, columns: int) -> str:
    """As much of a text as fits on a line."""
    while width(text) > columns:
        text = text[:-1]
    return text
