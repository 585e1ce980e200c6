"""Bars and lines as inline SVG. Numbers in, markup out; every foreign word is escaped where it enters.

Nothing here knows what a policy is. A drawing has a title for those who cannot see it, and the numbers stand in a table
beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple


class BarPiece(NamedTuple):
    """A piece of a bar."""

    value: float
    colour: str
    name: str


class Bar(NamedTuple):
    """A labelled bar of one or more pieces, with what is written behind it."""

    label: str
    parts: Sequence[BarPiece]
    note: str


def bars(title: str, rows: Sequence[Bar]) -> str:
    """Stacked horizontal bars on one scale, as wide as the page, so that they can be compared on a phone."""
    most = max((sum(part.value for part in row.parts) for row in rows), default=0) or 1
    return f'<div class="bars" role="img" aria-label="{escape(title)}">{"".join(_bar(row, most) for row in rows)}</div>'


def _bar(row: Bar, most: float) -> str:
    pieces = "".join(
        f'<i style="width:{100 * part.value / most:.2f}%;background:{part.colour}" title="{escape(part.name)}"></i>'
        for part in row.parts
        if part.value > 0
    )
    return f'<div class="bar"><b>{escape(row.label)}</b><span>{escape(row.note)}</span><div>{pieces}</div></div>'


def shares(title: str, rows: Sequence[tuple[str, float | None, str]]) -> str:
    """Bars from 0 to 100 %, each on a faint track: label, share, colour."""
    width, height, left, right = 250, 26, 4, 48
    room = width - left - right
    drawn = []
    for number, (label, share, colour) in enumerate(rows):
        top = number * (height + 16)
        said = "–" if share is None else f"{100 * share:.0f} %"
        filled = 0.0 if share is None else room * share
        drawn.append(
            f'<text x="{left}" y="{top + 12}">{escape(label)}</text>'
            f'<rect class="track" x="{left}" y="{top + 18}" width="{room}" height="12" rx="3"/>'
            f'<rect x="{left}" y="{top + 18}" width="{filled:.1f}" height="12" rx="3" style="fill:{colour}"/>'
            f'<text class="strong" x="{left + room + 8}" y="{top + 28.5:.1f}">{said}</text>'
        )
    return svg(title, width, (height + 16) * len(rows), "".join(drawn))


class ContextCurve(NamedTuple):
    """Requests as points (message, tokens), and where something was folded: message, tokens before, tokens after."""

    points: Sequence[tuple[int, int]]
    marks: Sequence[tuple[int, int, int]]
    colour: str


class Frame(NamedTuple):
    """What the panels of one session have in common."""

    turns: int
    window: int
    top: float
    across: str  # what the axis is called


PANEL, TALL, LEFT, FOOT, HEAD = 520, 196, 46, 26, 14
WIDE, HIGH = PANEL - LEFT - 8, TALL - FOOT - HEAD


def timeline(title: str, line: ContextCurve, whole: Sequence[tuple[int, int]], frame: Frame) -> str:
    """One policy's requests over a session, the whole history faintly behind, the window dashed."""
    plot = _curve(_placed(whole, frame), "whole") + _area(line, frame)
    marks = "".join(_mark(*mark, line.colour, frame) for mark in line.marks)
    # A drawing inside the drawing cuts off what leaves the frame.
    inner = f'<svg x="{LEFT}" y="0" width="{WIDE}" height="{HEAD + HIGH}">{plot}{marks}</svg>'
    feet = (
        f'<text x="{LEFT}" y="{TALL - 8}">0</text>'
        f'<text x="{PANEL - 8}" y="{TALL - 8}" text-anchor="end">{frame.turns:,} {escape(frame.across)}</text>'
    )
    return svg(title, PANEL, TALL, _grid(frame) + inner + feet)


def _place(turn: float, tokens: float, frame: Frame) -> tuple[float, float]:
    return WIDE * turn / max(1, frame.turns), HEAD + HIGH * (1 - tokens / frame.top)


def _placed(points: Sequence[tuple[int, int]], frame: Frame) -> list[tuple[float, float]]:
    return [_place(*point, frame) for point in thinned(points)]


def _curve(points: Sequence[tuple[float, float]], kind: str) -> str:
    return f'<path class="{kind}" d="{_path(points)}"/>' if points else ""


def _area(line: ContextCurve, frame: Frame) -> str:
    points = _placed(line.points, frame)
    if not points:
        return ""
    path, floor = _path(points), HEAD + HIGH
    return (
        f'<path d="{path}L{points[-1][0]:.1f} {floor}L{points[0][0]:.1f} {floor}Z" '
        f'style="fill:{line.colour};opacity:.13"/>'
        f'<path d="{path}" style="fill:none;stroke:{line.colour};stroke-width:1.8;stroke-linejoin:round"/>'
    )


def _grid(frame: Frame) -> str:
    drawn = []
    for share in (0.0, 0.5, 1.0):
        tokens = frame.window * share
        y = _place(0, tokens, frame)[1]
        kind = "window" if share == 1.0 else "grid"
        drawn.append(
            f'<line class="{kind}" x1="{LEFT}" y1="{y:.1f}" x2="{PANEL - 8}" y2="{y:.1f}"/>'
            f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{short(tokens)}</text>'
        )
    return "".join(drawn)


def _mark(turn: int, before: int, after: int, colour: str, frame: Frame) -> str:
    """A small triangle where a request would have been too large, and how far folding brought it down."""
    x, y = _place(turn, min(before, frame.top), frame)
    low = _place(turn, after, frame)[1]
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{low:.1f}" '
        f'style="stroke:{colour};stroke-width:1;stroke-dasharray:2 2;opacity:.7"/>'
        f'<path d="M{x - 4.5:.1f} {y - 9:.1f}h9l-4.5 8z" style="fill:{colour};stroke:var(--card);stroke-width:1"/>'
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "".join(f"{'L' if number else 'M'}{x:.1f} {y:.1f}" for number, (x, y) in enumerate(points))


def thinned(points: Sequence[tuple[int, int]], most: int = 700) -> Sequence[tuple[int, int]]:
    """Fewer points with the same outline: of each stretch its lowest and its highest, in order."""
    if len(points) <= most:
        return points
    step = -(-2 * len(points) // most)
    kept: list[tuple[int, int]] = []
    for start in range(0, len(points), step):
        part = points[start : start + step]
        ends = {min(range(len(part)), key=lambda at: part[at][1]), max(range(len(part)), key=lambda at: part[at][1])}
        kept += [part[at] for at in sorted(ends)]
    return kept


def short(tokens: float) -> str:
    """A number of tokens for an axis."""
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.3g}M"
    return f"{tokens / 1_000:.3g}k" if tokens >= 1_000 else f"{tokens:.0f}"


def svg(title: str, width: float, height: float, inner: str) -> str:
    """A drawing with its title for those who cannot see it."""
    return (
        f'<svg class="drawing" role="img" aria-label="{escape(title)}" viewBox="0 0 {width:g} {height:g}" '
        f'preserveAspectRatio="xMinYMin meet">{inner}</svg>'
    )
