"""What a command writes on: plain lines, a little colour on terminals, tables, wrapped text, JSON; how far work is.

Only this file writes escape sequences, and only around text that was made harmless before; a command cannot forget it.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TextIO

import msgspec

from contextfold.domain import harmless

NARROW, WIDE, UNKNOWN = 40, 120, 100
_LEAST = 16  # columns of a text that gives way to others
_READABLE, _BELOW = 24, 4  # columns in which a sentence can still be read, and where it begins below its row
_CODES = {
    "bold": "1",
    "dim": "2",
    "user": "36",
    "assistant": "32",
    "system": "35",
    "fold": "33",
    "tool": "34",
    "good": "32",
    "bad": "31",
    "warn": "33",
    "added": "32",
    "gone": "31",
}


class Ink(NamedTuple):
    """Text in a style."""

    text: str
    style: str


Piece = str | Ink


class Paper:
    """Where a command's answer goes."""

    def __init__(
        self, out: TextIO, *, color: bool, width: int | None = None, label: Callable[[str], str] = str
    ) -> None:
        self._out, self._color = out, color
        # Whether lines end somewhere: on a terminal, or where the environment says how wide to write.
        self._clips = out.isatty() or os.environ.get("COLUMNS", "").isdigit()
        self.label = label  # a phrase of ours in the reader's language
        found = shutil.get_terminal_size((UNKNOWN, 24)).columns if self._clips else UNKNOWN
        self.width = max(NARROW, min(width or found, WIDE))

    def line(self, *pieces: Piece, indent: int = 0) -> None:
        """One line."""
        self._out.write((" " * indent + "".join(map(self._inked, pieces))).rstrip(" ") + "\n")

    def prompt(self, text: str) -> None:
        """A question; the answer is typed behind it."""
        self._out.write(harmless.line(text))
        self._out.flush()

    def lines(self, rows: Iterable[Piece]) -> None:
        """One line each."""
        for row in rows:
            self.line(row)

    def text(self, text: str, *, indent: int = 0, style: str = "", most: int | None = None) -> None:
        """A text of any length, wrapped; with `most`, so many lines and a word about the rest."""
        rows = [row for each in harmless.lines(text) for row in wrapped(each, self.width - indent)]
        shown = rows if most is None or len(rows) <= most else rows[: most - 1]
        for row in shown:
            self.line(Ink(row, style) if style else row, indent=indent)
        if len(shown) < len(rows):
            self.line(Ink(self.label(f"… {len(rows) - len(shown):,} more lines"), "dim"), indent=indent)

    def item(self, mark: Ink, text: str, *, indent: int = 0) -> None:
        """A mark and a text behind it, wrapped at the edge where there is one and set in below itself."""
        hang = indent + columns(mark.text) + 2
        first, *others = wrapped(harmless.line(text), self.width - hang) if self._clips else [text]
        self.line(mark, f"  {first}", indent=indent)
        for row in others:
            self.line(row, indent=hang)

    def table(
        self,
        rows: Iterable[Sequence[Piece]],
        head: Sequence[str] = (),
        right: Iterable[int] = (),
        *,
        wraps: bool = False,
    ) -> None:
        """Columns as wide as they must be; on a terminal the last one is cut at the edge, or goes on below itself.

        Where the others leave it no room to be read in, it stands below its row; and where names are so long that
        numbers would not fit behind them, each stands above its own. What a name is must be seen whole, to be typed.
        """
        cells = [[(harmless.line(_words(cell)), _style(cell)) for cell in row] for row in rows]
        titles = [[(title, "dim") for title in head]] if head and cells else []
        grid = titles + cells
        if not grid:
            return
        widths = [max(columns(row[at][0]) for row in grid if at < len(row)) for at in range(max(map(len, grid)))]
        numbers = set(right)
        before_last = sum(widths[:-1]) + 2 * (len(widths) - 1)
        room, last = self.width - before_last, len(widths) - 1
        is_below = wraps and self._clips and room < min(widths[-1], _READABLE)
        is_above = False
        if self._clips and (wraps or last in numbers):
            whole = widths if last in numbers else widths[:-1]
            shown = _squeezed(whole, numbers, self.width)
            is_above = 0 not in numbers and sum(shown) + 2 * (len(shown) - 1) > self.width
            widths = [*shown, *widths[len(shown) :]]
        for row in grid:
            if (is_above or is_below) and len(row) == len(widths):
                *before, below = row if wraps else [*row, ("", "")]
                write = self._named if is_above else self._row
                write(before, widths, numbers)
                if below[0]:
                    self.text(below[0], indent=_BELOW, style=below[1])
                continue
            if not (wraps and self._clips and len(row) == len(widths)):
                self._row(row, widths, numbers)
                continue
            text, style = row[-1]
            first, *others = wrapped(text, self.width - before_last)
            self._row([*row[:-1], (first, style)], widths, numbers)
            for each in others:
                self.line(Ink(each, style) if style else each, indent=before_last)

    def _named(self, row: Sequence[tuple[str, str]], widths: Sequence[int], right: set[int]) -> None:
        """A row whose name stands above it."""
        name, style = row[0]
        self.line(Ink(name, style) if style else name)
        self._row([("", ""), *row[1:]], [_BELOW - 2, *widths[1:]], right)

    def _row(self, row: Sequence[tuple[str, str]], widths: Sequence[int], right: set[int]) -> None:
        pieces: list[Piece] = []
        left = self.width
        for at, (text, style) in enumerate(row):
            most = max(left, 8) if at == len(row) - 1 else widths[at]
            fitted = clipped(text, most) if self._clips else text
            space = " " * (widths[at] - columns(fitted))
            cell: Piece = Ink(fitted, style) if style else fitted
            pieces += [space, cell, "  "] if at in right else [cell, space, "  "]
            left -= widths[at] + 2
        self.line(*pieces)

    def json(self, value: object) -> None:
        """The answer for a program."""
        try:
            encoded = msgspec.json.encode(value)
        except UnicodeEncodeError:  # a lone surrogate somewhere, which UTF-8 cannot hold
            encoded = msgspec.json.encode(_encodable(msgspec.to_builtins(value)))
        text = msgspec.json.format(encoded, indent=2).decode()
        self._out.write(harmless.json_text(text) + "\n")

    def _inked(self, piece: Piece) -> str:
        text = harmless.line(_words(piece))
        style = _style(piece)
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if style and self._color and text else text


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {_encodable(key): _encodable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(each) for each in value]
    return value


def _words(piece: Piece) -> str:
    return piece.text if isinstance(piece, Ink) else piece


def _style(piece: Piece) -> str:
    return piece.style if isinstance(piece, Ink) else ""


def wants_color(wish: str, out: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to use colour: as asked, never with NO_COLOR, else on terminals that can."""
    if wish != "auto":
        return wish == "always"
    return not environ.get("NO_COLOR") and out.isatty() and environ.get("TERM") != "dumb"


def columns(text: str) -> int:
    """How many columns a terminal gives this text."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text
    )


def clipped(text: str, most: int) -> str:
    """The text in at most this many columns."""
    if columns(text) <= most:
        return text
    kept, used = [], 1
    for sign in text:
        used += columns(sign)
        if used > most:
            break
        kept.append(sign)
    return "".join(kept) + "…"


def _squeezed(widths: Sequence[int], numbers: set[int], most: int) -> list[int]:
    """Columns in so much room: text behind the first one gives way; numbers and short words stay whole."""
    found = list(widths)
    for at in range(1, len(found)):
        over = sum(found) + 2 * (len(found) - 1) - most
        if at not in numbers and over > 0 and found[at] > _LEAST:
            found[at] = max(_LEAST, found[at] - over)
    return found


def wrapped(text: str, most: int) -> list[str]:
    """A line broken at spaces, or anywhere where there is none."""
    most = max(most, 8)
    if len(text) * 2 <= most or columns(text) <= most:
        return [text]
    rows = []
    while columns(text) > most:
        cut, used, space = 0, 0, 0
        for cut, sign in enumerate(text):
            used += columns(sign)
            if used > most:
                break
            if sign == " ":
                space = cut + 1
        cut = space if space > cut // 2 else max(cut, 1)
        rows.append(text[:cut].rstrip(" "))
        text = text[cut:]
    return [*rows, text] if text else rows


def standard(stream: TextIO = sys.stdout) -> None:
    """Signs that a terminal's encoding lacks are spelled, never an error."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


ON_TERMINALS, ELSEWHERE = 0.1, 5.0  # seconds between two signs of life


class ProgressLine:
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
        share = f"{done:,} / {of:,} ({100 * done // of} %)" if of else f"{done:,}"
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
