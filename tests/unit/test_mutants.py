"""The program that changes code finds every small change, and only ones that are still a program."""

from pathlib import Path

import pytest

from scripts.mutants import Mutant, mutants


def changed(tmp_path: Path, source: str) -> list[str]:
    path = tmp_path / "one.py"
    path.write_text(source)
    return [one.source.decode() for one in mutants(path) if one.is_sound()]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b\n", ["a <= b\n"]),
        ("a and b\n", ["a or b\n"]),
        ("x = 41\n", ["x = 42\n"]),
        ("x = not y\n", ["x = y\n"]),
        ("if f(x):\n    pass\n", ["if not (f(x)):\n    pass\n"]),
        ("é = 'é' + b\n", ["é = 'é' - b\n"]),
        ("x: int = 3\n", []),
    ],
)
def test_each_small_change_is_made_once_and_nothing_else_moves(
    tmp_path: Path, source: str, expected: list[str]
) -> None:
    assert changed(tmp_path, source) == expected


def test_a_change_that_is_no_program_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text("(a + b) < c\n")
    assert not Mutant(path, 1, 6, 10, " <= ").is_sound()
