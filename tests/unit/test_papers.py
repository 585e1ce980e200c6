"""Every id that a test carries can be looked up, so that a marker is never a riddle."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAPERS = TESTS.parent / "docs" / "papers.md"
# How many rows each paper has, by the letter of its ids.
ROWS = {
    "seed": {"R": 39, "E": 31, "C": 23, "D": 24, "F": 11, "X": 10},
    "peer": {"A": 17, "B": 11, "C": 7, "D": 5},
    "finding": {"N": 28, "S": 15, "W": 26, "H": 17, "Q": 9, "V": 11, "R": 4, "K": 17, "P": 17},
}


def listed() -> dict[str, list[str]]:
    seeds, peers, findings = re.split(r"\n## (?:Peers|Findings)\n", PAPERS.read_text())
    return {
        marker: re.findall(r"^- \*\*(\w+)\*\* ", part, re.MULTILINE)
        for marker, part in [("seed", seeds), ("peer", peers), ("finding", findings)]
    }


def marks(tree: ast.AST) -> Iterator[tuple[str, list[ast.expr], int]]:
    """Each mark that names a row of a paper, wherever it stands."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="seed" | "peer" | "finding" as name),
                args=args,
            ):
                yield name, args, node.lineno
            case _:
                pass


def used() -> Iterator[tuple[str, str, object]]:
    for path in sorted(TESTS.rglob("*.py")):
        for name, args, line in marks(ast.parse(path.read_text())):
            for arg in args:
                yield (
                    f"{path.relative_to(TESTS)}:{line}",
                    name,
                    arg.value if isinstance(arg, ast.Constant) else ast.dump(arg),
                )


def test_the_papers_list_every_row_once_and_in_order() -> None:
    for marker, letters in ROWS.items():
        assert listed()[marker] == [f"{letter}{row}" for letter, rows in letters.items() for row in range(1, rows + 1)]


def test_every_id_that_a_test_carries_is_listed() -> None:
    known = listed()
    assert not [f"{place}: {marker}({value!r})" for place, marker, value in used() if value not in known[marker]]


def test_a_marker_is_found_on_functions_classes_modules_and_parameters() -> None:
    source = """
pytestmark = [pytest.mark.seed("R1")]
@pytest.mark.peer("A1", "A2")
class TestIt: ...
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.seed("R2"))])
def test_it(x): ...
"""
    assert {(name, len(args)) for name, args, _ in marks(ast.parse(source))} == {("seed", 1), ("peer", 2)}
    assert len(list(marks(ast.parse(source)))) == 3
