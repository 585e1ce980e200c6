"""The looks of the page: its style sheet, and bars and lines as inline SVG.

Light and dark, for screens, small screens and paper. Drawings take numbers and give markup; every foreign word is
escaped where it enters. Nothing here knows what a policy is. A drawing has a title for those who cannot see it, and the
numbers stand in a table beside it.
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
    drawn = []
    for row in rows:
        pieces = "".join(
            f'<i style="width:{100 * part.value / most:.2f}%;background:{part.colour}" title="{escape(part.name)}"></i>'
            for part in row.parts
            if part.value > 0
        )
        about = f"<b>{escape(row.label)}</b><span>{escape(row.note)}</span>"
        drawn.append(f'<div class="bar">{about}<div>{pieces}</div></div>')
    return f'<div class="bars" role="img" aria-label="{escape(title)}">{"".join(drawn)}</div>'


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
    behind, points = _placed(whole, frame), _placed(line.points, frame)
    plot = f'<path class="whole" d="{_path(behind)}"/>' if behind else ""
    if points:
        path, floor = _path(points), HEAD + HIGH
        plot += (
            f'<path d="{path}L{points[-1][0]:.1f} {floor}L{points[0][0]:.1f} {floor}Z" '
            f'style="fill:{line.colour};opacity:.13"/>'
            f'<path d="{path}" style="fill:none;stroke:{line.colour};stroke-width:1.8;stroke-linejoin:round"/>'
        )
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


STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --card: #ffffff; --ink: #1c2026; --soft: #5b6470; --line: #e3e0d8; --faint: #f1efe9;
  --good: #0b6b4f; --good-bg: #e4f3ec; --bad: #a32020; --bad-bg: #fbe6e4; --note-bg: #fff3d6; --note: #6b4a00;
  --c0: #2358c7; --c1: #c04e12; --c2: #0d7d63; --c3: #8441b8; --c4: #a3730a; --c5: #b32d62; --c6: #34779a;
  --full: #9a9ea6; --recorded: #5f6672;
  --k-read: #8fb4e8; --k-write: #2358c7; --k-summaries: #c04e12; --k-output: #c9c6bd;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #121519; --card: #1a1e24; --ink: #e9e7e1; --soft: #a2a9b4; --line: #2c323a; --faint: #20252c;
    --good: #6fd3ac; --good-bg: #16302a; --bad: #ff9a90; --bad-bg: #3a1f1e; --note-bg: #352b14; --note: #f0cf83;
    --c0: #82aaff; --c1: #ff9d63; --c2: #58cba8; --c3: #c594f0; --c4: #e0b54a; --c5: #f2849f; --c6: #77bcdf;
    --full: #6d747f; --recorded: #9aa2ae;
    --k-read: #3d5f96; --k-write: #82aaff; --k-summaries: #ff9d63; --k-output: #4a4f57;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Hiragino Sans", "Noto Sans JP", "Noto Sans CJK JP",
    "Yu Gothic UI", Meiryo, sans-serif;
}
.sheet { max-width: 1120px; margin: 0 auto; padding: 40px 24px 64px; }
header { display: flex; gap: 18px; align-items: flex-start; margin-bottom: 28px; }
header svg { flex: none; width: 52px; height: 52px; }
h1 { font-size: 30px; line-height: 1.15; letter-spacing: -.015em; margin: 0 0 4px; }
h2 { font-size: 20px; letter-spacing: -.01em; margin: 44px 0 4px; }
h3 { font-size: 15px; margin: 0; font-weight: 650; overflow-wrap: anywhere; }
p { margin: 0 0 12px; }
.soft { color: var(--soft); }
.meta, .legend { display: flex; flex-wrap: wrap; gap: 4px 22px; padding: 0; list-style: none; font-size: 14px; }
.meta { margin: 10px 0 0; }
.meta b { font-weight: 600; color: var(--ink); }
.meta li { color: var(--soft); }
.banner { background: var(--note-bg); color: var(--note); border-radius: 10px; padding: 10px 16px; margin: 0 0 20px; }
.checks { display: grid; grid-template-columns: repeat(auto-fit, minmax(240px, 1fr)); gap: 14px; padding: 0; }
.checks li { list-style: none; border-radius: 14px; padding: 16px 18px; }
.checks li.good { background: var(--good-bg); color: var(--good); }
.checks li.bad { background: var(--bad-bg); color: var(--bad); }
.checks b { display: block; font-size: 18px; }
.checks span { font-size: 14px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 14px; }
.card { padding: 18px 20px; margin: 14px 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
th, td { padding: 7px 8px; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
thead th { color: var(--soft); font-weight: 500; vertical-align: bottom; font-size: 13px; white-space: normal; }
tbody tr:last-child > * { border-bottom: 0; }
th[scope=row], td.text, th.text { text-align: left; }
td.wrap { white-space: normal; text-align: left; min-width: 220px; }
th[scope=row] { font-weight: 600; }
td.zero { color: var(--good); }
td.bad { color: var(--bad); font-weight: 700; }
tr.other th, tr.other td { color: var(--soft); font-weight: 400; }
tr.other th { white-space: normal; min-width: 120px; }
.dot { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 8px; }
.legend { margin: 8px 0 0; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr)); gap: 14px 22px; }
.panels.four { grid-template-columns: repeat(auto-fit, minmax(min(100%, 230px), 1fr)); }
figure { margin: 0; min-width: 0; }
figcaption { font-size: 14px; font-weight: 600; margin-bottom: 2px; }
figcaption .soft { font-weight: 400; }
svg.drawing { display: block; width: 100%; height: auto; }
.bar { display: grid; grid-template-columns: 1fr auto; font-size: 14px; margin-bottom: 10px; }
.bar span { color: var(--soft); font-variant-numeric: tabular-nums; }
.bar div { grid-column: 1 / -1; display: flex; height: 20px; background: var(--faint); border-radius: 4px; }
.bar i { display: block; height: 100%; }
.answer { font-size: 18px; line-height: 1.45; }
.hint { display: none; }
svg text { font: inherit; font-size: 12px; fill: var(--soft); }
svg text.strong { fill: var(--ink); font-weight: 600; }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .window { stroke: var(--bad); stroke-width: 1.3; stroke-dasharray: 5 4; opacity: .75; }
svg .whole { fill: none; stroke: var(--full); stroke-width: 1.2; stroke-dasharray: 1 3; stroke-linecap: round; }
svg .track { fill: var(--faint); }
details { margin-top: 12px; }
summary { cursor: pointer; color: var(--soft); font-size: 14px; padding: 4px 0; }
summary:focus-visible, .scroll:focus-visible { outline: 2px solid var(--c0); outline-offset: 2px; border-radius: 6px; }
footer { margin-top: 48px; border-top: 1px solid var(--line); padding-top: 14px; font-size: 14px; color: var(--soft); }
@media (max-width: 1000px) {
  .hint { display: block; font-size: 13px; margin: 0 0 6px; }
  th[scope=row] { position: sticky; left: 0; background: var(--card); }
}
@media (max-width: 640px) {
  .sheet { padding: 24px 14px 48px; }
  h1 { font-size: 24px; }
  th[scope=row] { white-space: normal; }
}
@media print {
  body { background: #fff; color: #000; }
  .card, .checks li { break-inside: avoid; }
}
"""

SERIES = 7  # colours for policies, then they begin again


def colour(number: int, kind: str) -> str:
    """The colour of a policy by its place; the two references have their own."""
    return f"var(--{kind})" if kind in ("full", "recorded") else f"var(--c{number % SERIES})"
