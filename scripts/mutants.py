"""Change the code in small ways and see whether a test notices: a sample, by room, with the share that was noticed.

A test that runs a line need not care what the line does; a mutant that lives shows such a line. Each mutant is one
changed operator, constant or condition in a copy of the source; the tests that run its line are run against the copy.
Which tests those are is measured first, once, over the tests of the rooms themselves (and of whole turns, which run all
of them), and kept in `.coverage.mutants`: a room's own tests are to notice what happens to it. Delete that file after
source or tests have changed. A sample whose survivors were given tests says nothing any more: draw another `--seed`.
"""

import argparse
import ast
import compileall
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

from coverage import CoverageData

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "contextfold"
MEASURED = ROOT / ".coverage.mutants"
ROOMS = ("domain", "folding", "dialects", "thread", "session")
TURNS = ("tests/acceptance/test_session_turns.py", "tests/unit/seeds", "tests/unit/peers")  # that run all rooms
PIECES = (20, 80, 300)  # so many tests are run, the nearest first; more only where these noticed nothing
SECONDS, EACH = 60, 0.5  # of the processor for a run, and for each test in it; one that takes longer has noticed
PATIENCE = 1_800  # seconds for one that waits for ever
UNKNOWN = 4  # how a run ends that does not find its tests
UNREADABLE = ("ERROR collecting", "ImportError while loading conftest")  # they cannot even be read any more

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
    is_kept: bool = False  # what it computes is kept, so that only the first test that needs it runs it

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
        was, whole = source[self.start : self.stop].decode(), source.splitlines()[self.line - 1].decode().strip()
        return f"{self.path.relative_to(ROOT)}:{self.line}: {was!r} -> {self.text!r} in {whole}"


def mutants(path: Path) -> Iterator[Mutant]:
    """Every small change this program knows, in one file."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(source)
    unread = [node for node in ast.walk(tree) if _is_quiet(node)]
    unread += [annotation for node in ast.walk(tree) if (annotation := _annotation(node))]
    quiet = {id(inner) for node in unread for inner in ast.walk(node)}
    kept = {id(inner) for node in ast.walk(tree) if _is_kept(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) not in quiet:
            for first, last, text in _changes(node):
                begin = starts[first[0] - 1] + first[1]
                end = starts[last[0] - 1] + last[1]
                yield Mutant(path, first[0], begin, end, text, id(node) in kept)


def _is_quiet(node: ast.AST) -> bool:
    """What only a type checker reads, how a class is made, how many answers are kept to be given again (each would be
    the same if it were made anew), and that lists which always are as long must be."""
    match node:
        case ast.If(test=test):
            return "TYPE_CHECKING" in ast.dump(test)
        case ast.keyword(arg="frozen" | "slots" | "tag" | "gc" | "eq" | "kw_only" | "omit_defaults" | "array_like"):
            return True
        case ast.keyword(arg="strict", value=ast.Constant(value=True)):
            return True
        case ast.Call(func=ast.Name(id="lru_cache")):
            return True
        case _:
            return False


def _is_kept(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any("cache" in ast.dump(each) for each in node.decorator_list)


def _annotation(node: ast.AST) -> ast.AST | None:
    match node:
        case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=annotation):
            return annotation
        case ast.FunctionDef(returns=annotation) | ast.AsyncFunctionDef(returns=annotation):
            return annotation
        case _:
            return None


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
    if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode != 0:
        MEASURED.unlink(missing_ok=True)
        sys.exit("A test fails without any change, and would seem to notice every one. Mend it first.")


def near_tests(mutant: Mutant, data: CoverageData) -> list[str]:
    """The tests that run the line: those of the room first, of these one of each kind, and the file's own before all.

    A line that is run once for all, where a constant is named or an answer is kept, has those of its whole file.
    """
    lines = data.contexts_by_lineno(str(mutant.path.relative_to(ROOT)))
    names = {context.rpartition("|")[0] for context in lines.get(mutant.line, ())}
    if names == {""} or (names and mutant.is_kept):
        names = {context.rpartition("|")[0] for contexts in lines.values() for context in contexts}
    room = f"tests/unit/{mutant.path.relative_to(SOURCE).parts[0]}/"
    kinds = defaultdict[str, list[str]](list)
    for name in sorted(names - {""}):
        kinds[name.partition("[")[0]].append(name)
    ranked = [(name, rank) for kind in kinds.values() for rank, name in enumerate(kind)]
    own = f"_{mutant.path.stem}"
    return [name for name, _ in sorted(ranked, key=lambda each: (room not in each[0], each[1], own not in each[0]))]


@dataclass(frozen=True, slots=True)
class Trial:
    """Runs tests against changed copies of the source as it was at the beginning."""

    whole: Path  # the source, compiled, so that a copy of it starts at once

    @classmethod
    def at(cls, place: str) -> "Trial":
        whole = Path(place) / "whole"
        shutil.copytree(ROOT / "src", whole, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(whole, quiet=1)
        return cls(whole)

    def notices(self, mutant: Mutant, tests: list[str]) -> bool:
        """Whether one of the tests fails against a copy of the source with this change; one that lives passed them."""
        with tempfile.TemporaryDirectory() as place:
            source = Path(place) / "src"
            shutil.copytree(self.whole, source)
            (source / mutant.path.relative_to(ROOT / "src")).write_bytes(mutant.source)
            pieces = (tests[start:stop] for start, stop in pairwise((0, *PIECES)))
            return any(self._fails(piece, source) for piece in pieces if piece)

    def _fails(self, tests: list[str], source: Path) -> bool:
        """A test of time that fails is run once more without the change, which it must not mind."""
        while tests:
            ended = _run(tests, source)
            if ended is None:
                return True
            if ended.returncode == 0:
                return False
            told = {line.removeprefix("FAILED ").partition(" - ")[0] for line in ended.stdout.splitlines()}
            failed = next((test for test in tests if test in told), None)
            if ended.returncode == UNKNOWN and not any(sign in ended.stdout + ended.stderr for sign in UNREADABLE):
                sys.exit(f"No such tests as were measured; delete {MEASURED.name}.\n{ended.stdout}{ended.stderr}")
            if failed is None or not _is_of_time(failed):
                return True
            if (again := _run([failed], self.whole)) is None or again.returncode == 0:
                return True
            tests = [test for test in tests if test != failed]
        return False


def _is_of_time(test: str) -> bool:
    return "tests.effort" in (ROOT / test.partition("::")[0]).read_text(encoding="utf-8")


def _run(tests: list[str], source: Path) -> subprocess.CompletedProcess[str] | None:
    """None where it does not come to an end."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": ""}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as names:
        names.write("\n".join(tests))
        names.flush()
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", f"@{names.name}"]
        limited = ["sh", "-c", 'ulimit -t "$0" && exec "$@"', f"{SECONDS + EACH * len(tests):.0f}", *command]
        try:
            return subprocess.run(
                limited, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
        except subprocess.TimeoutExpired:
            return None


def _files(room: Path) -> list[Path]:
    return [room] if room.is_file() else sorted(room.rglob("*.py"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=100, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", nargs="*", default=ROOMS, help="or files of them, as folding/economics.py")
    parser.add_argument("--least", type=float, default=0.85, help="the share that must be noticed")
    given = parser.parse_args()
    if not MEASURED.exists():
        measure(given.rooms)
    data = CoverageData(str(MEASURED))
    data.read()
    found = [one for room in given.rooms for path in _files(SOURCE / room) for one in mutants(path)]
    random.Random(given.seed).shuffle(found)  # noqa: S311  # a sample, not a secret
    reached = ((one, tests) for one in found if one.is_sound() and (tests := near_tests(one, data)))
    chosen = list(islice(reached, given.sample))
    print(f"{len(found)} mutants; trying {len(chosen)} on lines that tests run.", flush=True)
    noticed = 0
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(2) as pool:
        trial = Trial.at(place)
        tried = zip(chosen, pool.map(lambda each: trial.notices(*each), chosen), strict=True)
        for number, ((mutant, _), seen) in enumerate(tried, 1):
            noticed += seen
            if not seen:
                print(f"lives ({noticed} of {number} noticed): {mutant}", flush=True)
    share = noticed / len(chosen)
    print(f"{noticed} of {len(chosen)} noticed: {share:.0%} (at least {given.least:.0%})")
    return int(share < given.least)


if __name__ == "__main__":
    sys.exit(main())
