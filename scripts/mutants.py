"""Change the code in small ways and see whether a test notices: a sample, by room, with the share that was noticed.

A test that runs a line need not care what the line does; a mutant that lives shows such a line. Each mutant is one
changed operator, constant or condition in a copy of the source; the tests that run its line are run against the copy.
Which tests those are is measured first, once, over the tests of the rooms themselves (and of whole turns, which run all
of them), and kept in `.coverage.mutants`: a room's own tests are to notice what happens to it.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from coverage import CoverageData

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "contextfold"
MEASURED = ROOT / ".coverage.mutants"
ROOMS = ("domain", "folding", "dialects", "thread", "session")
TURNS = ("tests/acceptance/test_session_turns.py", "tests/unit/seeds", "tests/unit/peers")  # that run all rooms
AT_ONCE = 60  # tests that are run together; the next ones only where these noticed nothing
SECONDS = 120  # for each of these pieces

OPERATORS: dict[type[ast.AST], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.And: "or",
    ast.Or: "and",
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed place."""

    path: Path
    line: int
    start: int
    stop: int
    text: str  # what stands there instead

    @property
    def source(self) -> bytes:
        """The whole file with the change in it."""
        source = self.path.read_bytes()
        return source[: self.start] + self.text.encode() + source[self.stop :]

    def is_sound(self) -> bool:
        """Still a program: cutting at an operator may take a bracket along."""
        try:
            compile(self.source, str(self.path), "exec")
        except SyntaxError:
            return False
        return True

    def __str__(self) -> str:
        source = self.path.read_bytes()
        was = source[self.start : self.stop].decode()
        return f"{self.path.relative_to(ROOT)}:{self.line}: {was!r} -> {self.text!r}"


def mutants(path: Path) -> Iterator[Mutant]:
    """Every small change this program knows, in one file."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(source)
    quiet = {id(inner) for node in ast.walk(tree) if _is_quiet(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) not in quiet:
            for first, last, text in _changes(node):
                begin = starts[first[0] - 1] + first[1]
                end = starts[last[0] - 1] + last[1]
                yield Mutant(path, first[0], begin, end, text)


def _is_quiet(node: ast.AST) -> bool:
    """Annotations and what only a type checker reads."""
    return isinstance(node, ast.AnnAssign | ast.arg) or (
        isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    )


Spot = tuple[int, int]


def _changes(node: ast.AST) -> Iterator[tuple[Spot, Spot, str]]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in OPERATORS:
            yield _end(left), _begin(right), f" {OPERATORS[type(operator)]} "
        case ast.BoolOp(op=operator, values=[first, second, *_]):
            yield _end(first), _begin(second), f" {OPERATORS[type(operator)]} "
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
            yield _end(left), _begin(right), f" {OPERATORS[type(operator)]} "
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _begin(node), _begin(operand), ""
        case ast.Constant(value=bool() as value):
            yield _begin(node), _end(node), str(not value)
        case ast.Constant(value=int() | float() as value):
            yield _begin(node), _end(node), str(value + 1)
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare | ast.BoolOp):
            yield _begin(test), _end(test), f"not ({ast.unparse(test)})"
        case ast.Continue():
            yield _begin(node), _end(node), "break"
        case _:
            return


def _begin(node: ast.AST) -> Spot:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]  # expressions and statements have both


def _end(node: ast.AST) -> Spot:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def measure(rooms: Sequence[str]) -> None:
    """Run the tests of these rooms once and write down which test runs which line."""
    print("Measuring which test runs which line; this takes some minutes.", flush=True)
    places = [*(f"tests/unit/{room}" for room in rooms), *TURNS]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--cov", "--cov-context=test", "--cov-report=", *places]
    environment = {**os.environ, "COVERAGE_FILE": str(MEASURED)}
    subprocess.run(command, cwd=ROOT, env=environment, check=False)  # one that fails here shows nothing about mutants


def tests_of(mutant: Mutant, data: CoverageData) -> list[str]:
    """The tests that run the line, unit tests first."""
    measured = next((name for name in data.measured_files() if name.endswith(str(mutant.path.relative_to(ROOT)))), "")
    contexts = data.contexts_by_lineno(measured).get(mutant.line, []) if measured else []
    names = sorted({context.partition("|")[0] for context in contexts if context})
    room = f"tests/unit/{mutant.path.relative_to(SOURCE).parts[0]}/"
    return sorted(names, key=lambda name: not name.startswith(room))


def is_noticed(mutant: Mutant, tests: list[str]) -> bool:
    """Whether one of the tests fails against a copy of the source with this change; one that lives has passed all."""
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(ROOT / "src", Path(place) / "src", ignore=shutil.ignore_patterns("__pycache__"))
        (Path(place) / mutant.path.relative_to(ROOT)).write_bytes(mutant.source)
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
        environment = {**os.environ, "PYTHONPATH": str(Path(place) / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        for start in range(0, len(tests), AT_ONCE):
            piece = [*command, *tests[start : start + AT_ONCE]]
            try:
                run = subprocess.run(
                    piece, cwd=ROOT, env=environment, capture_output=True, timeout=SECONDS, check=False
                )
            except subprocess.TimeoutExpired:
                return True
            if run.returncode != 0:
                return True
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=100, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", nargs="*", default=ROOMS)
    parser.add_argument("--least", type=float, default=0.85, help="the share that must be noticed")
    given = parser.parse_args()
    if not MEASURED.exists():
        measure(given.rooms)
    data = CoverageData(str(MEASURED))
    data.read()
    found = [one for room in given.rooms for path in sorted((SOURCE / room).rglob("*.py")) for one in mutants(path)]
    reached = [(one, tests) for one in found if (tests := tests_of(one, data))]
    random.Random(given.seed).shuffle(reached)  # noqa: S311  # a sample, not a secret
    chosen = list(islice((each for each in reached if each[0].is_sound()), given.sample))
    print(f"{len(found)} mutants, {len(reached)} on lines that tests run; trying {len(chosen)}.", flush=True)
    with ThreadPoolExecutor(2) as pool:
        noticed = list(pool.map(lambda each: is_noticed(*each), chosen))
    for (mutant, _), seen in zip(chosen, noticed, strict=True):
        if not seen:
            print(f"lives: {mutant}")
    share = sum(noticed) / len(chosen)
    print(f"{sum(noticed)} of {len(chosen)} noticed: {share:.0%} (at least {given.least:.0%})")
    return int(share < given.least)


if __name__ == "__main__":
    sys.exit(main())
