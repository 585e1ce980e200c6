"""Fail when a turn makes more calls than we said, or a file, a function or a name breaks the style guide.

Measures a real session, warm, with a SQLite store and the default policy: the calls of a turn, and which modules have a
function entered by `append`, by a `prepare` that fits, and by a turn that folds. `--draw` writes these walks into
docs/architecture.md. How many modules or files there are has no ceiling: joining files to lower a count hides ideas.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import contextfold as cf
from contextfold.testing import SYSTEM, histories, tools

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "contextfold"
PAGE = ROOT / "docs" / "architecture.md"
MODEL = "claude-sonnet-4-5"
WINDOW = "CONTEXTFOLD_MAX_INPUT_TOKENS__CLAUDE_SONNET_4_5"
SHARED = ("Fold",)  # a fold of the log, and the name under which each framework takes contextfold in
WIDE, NARROW = 200_000, 30_000  # tokens: everything fits, and everything must fold


class Bar(NamedTuple):
    """What is measured, the most it may be today, and what it is to become."""

    name: str
    ceiling: float
    aim: float


BARS = (
    Bar("Python calls of a turn that fits: a message, a request, its answer", 580, 600),
    Bar("files above 400 lines", 0, 0),
    Bar("functions above 60 lines", 0, 0),
    Bar("class names defined more than once", 0, 0),
    Bar("files named *ing", 0, 0),
)


# -- walks ------------------------------------------------------------------------------------------------------------


class Walk:
    """Which modules have a function entered while it is followed, in the order they are entered first."""

    def __init__(self) -> None:
        self.modules: dict[str, int] = {}  # functions entered in each, counted once
        self.calls = 0  # of all of them, every time
        self._functions: set[object] = set()

    def follow(self, verb: Callable[[], object]) -> None:
        """Run something and take note of where it goes."""
        sys.setprofile(self._entered)
        try:
            verb()
        finally:
            sys.setprofile(None)

    def _entered(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(SOURCE)):
            return
        self.calls += 1
        if code in self._functions:
            return
        self._functions.add(code)
        name = Path(code.co_filename).relative_to(SOURCE).with_suffix("").as_posix().removesuffix("/__init__")
        self.modules[name] = self.modules.get(name, 0) + 1


def walks(directory: Path) -> tuple[dict[str, Walk], int]:
    """The three walks, each of a session that has done the same before; and the calls of a turn that folds nothing."""
    append, fits, folds, answer = Walk(), Walk(), Walk(), Walk()
    os.environ[WINDOW] = str(WIDE)
    with _grown(directory / "wide.db") as session:
        session.append(_message("user", "Begin."))
        session.prepare(max_tokens=1_000)
        session.append(_message("assistant", "It is begun."))
        append.follow(lambda: session.append(_message("user", "Go on with the next module.")))
        fits.follow(lambda: session.prepare(max_tokens=1_000))
        answer.follow(lambda: session.append(_message("assistant", "That one is done, too.")))
    os.environ[WINDOW] = str(NARROW)
    with _grown(directory / "narrow.db") as session:
        while not folds.modules:
            session.append(_message("user", "And now the next one. " * 200))
            if session.will_fold and len(session.folds) > 1:
                folds.follow(lambda: session.prepare(max_tokens=1_000))
            else:
                session.prepare(max_tokens=1_000)
            session.append(_message("assistant", "That one is done, too. " * 200))
    turn = append.calls + fits.calls + answer.calls
    return {"append": append, "a prepare that fits": fits, "a turn that folds": folds}, turn


def _grown(path: Path) -> cf.Session:
    """A session with some hundred messages of an agent's work behind it."""
    session = cf.Session.open(path, model=MODEL, system=SYSTEM, tools=tools())
    for message in histories.session(5, tokens=60_000):
        if message["role"] == "assistant":
            session.prepare(max_tokens=1_000)
        session.append(message)
    return session


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


# -- source -----------------------------------------------------------------------------------------------------------


def source() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def named_twice(trees: dict[Path, ast.Module]) -> dict[str, list[str]]:
    """Classes that share a name; the awaited twins in `aio` are meant to, and so are the few of `SHARED`."""
    places: dict[str, list[str]] = {}
    for path, tree in trees.items():
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith("aio/"):
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and node.name not in SHARED:
                    places.setdefault(node.name, []).append(name)
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


def lengthy(trees: dict[Path, ast.Module]) -> list[str]:
    return [
        f"{path.relative_to(SOURCE)}:{each.lineno} {each.name}"
        for path, tree in trees.items()
        for each in functions(tree)
        if (each.end_lineno or each.lineno) - each.lineno >= 60
    ]


# -- telling ----------------------------------------------------------------------------------------------------------


def measured(calls: int) -> dict[str, tuple[float, list[str]]]:
    """Each number by the name of its bar, and where it comes from."""
    trees = source()
    twice = named_twice(trees)
    long_files = [str(p.relative_to(SOURCE)) for p in trees if len(p.read_text(encoding="utf-8").splitlines()) > 400]
    busy = [str(path.relative_to(SOURCE)) for path in trees if path.stem.endswith("ing")]
    rows: list[tuple[float, list[str]]] = [
        (calls, []),
        (len(long_files), long_files),
        (len(lengthy(trees)), lengthy(trees)),
        (len(twice), [f"{name}: {', '.join(places)}" for name, places in twice.items()]),
        (len(busy), busy),
    ]
    return {bar.name: row for bar, row in zip(BARS, rows, strict=True)}


def drawing(found: dict[str, Walk]) -> str:
    """The walks as a page shows them: rooms in the order they are entered, and the modules of each."""
    lines = []
    for name, walk in found.items():
        lines.append(f"{name}: {sum(walk.modules.values())} functions in {len(walk.modules)} modules")
        rooms: dict[str, list[str]] = {}
        for module in walk.modules:
            room, _, rest = module.partition("/")
            rooms.setdefault(room, []).append(rest or room)
        for room, modules in rooms.items():
            lines += _wrapped(f"    {room:<14}", ", ".join(modules))
        lines.append("")
    return "\n".join(["```", *lines[:-1], "```"])


def _wrapped(start: str, text: str) -> list[str]:
    lines, line = [], start
    for word in text.split(" "):
        if len(line) + len(word) > 118:
            lines.append(line.rstrip())
            line = " " * len(start)
        line += word + " "
    return [*lines, line.rstrip()]


def draw(found: dict[str, Walk]) -> None:
    """Put the walks between the two marks of the page."""
    begin, end = "<!-- walks: scripts/check_walk.py --draw -->", "<!-- end of walks -->"
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(begin)
    PAGE.write_text(f"{before}{begin}\n{drawing(found)}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as directory:
        found, calls = walks(Path(directory))
    if "--draw" in arguments:
        draw(found)
    rows = measured(calls)
    if "--json" in arguments:
        print(json.dumps({name: {"value": value, "where": where} for name, (value, where) in rows.items()}))
    is_over = False
    for bar in BARS:
        value, where = rows[bar.name]
        missed = value > bar.ceiling
        is_over = is_over or missed
        if missed or "--all" in arguments:
            print("\n".join(f"    {each}" for each in where))
        if missed or "--quiet" not in arguments:
            print(f"{value:>8g}  {bar.name} (at most {bar.ceiling:g}, aim {bar.aim:g}){'  TOO MANY' if missed else ''}")
    return int(is_over)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
