"""The program that changes code finds every small change, and only ones that are still a program."""

from pathlib import Path

import pytest
from coverage import CoverageData

from scripts.mutants import SOURCE, Mutant, mutants, near_tests


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
        ("x: Literal[3] = 3\n", ["x: Literal[3] = 4\n"]),
        ("def f(x: Literal[3]) -> Literal[3]: ...\n", []),
        ("if TYPE_CHECKING:\n    x = 3\n", []),
        ("zip(a, b, strict=True)\n", []),
        ("zip(a, b, strict=False)\n", ["zip(a, b, strict=True)\n"]),
        ("@lru_cache(maxsize=64)\ndef f(): ...\n", []),
        ("class A(Struct, frozen=True):\n    x = 3\n", ["class A(Struct, frozen=True):\n    x = 4\n"]),
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


FOLDING = "tests/unit/folding/test_one.py::test_"
LINES = {"": [1], "tests/a.py::test_far|run": [5], f"{FOLDING}b|run": [5], f"{FOLDING}a[2]|run": [5]}
LINES |= {f"{FOLDING}a[1]|run": [5], f"{FOLDING}c|run": [9], f"{FOLDING}d[cat a | sort]|run": [12]}


def noticing(line: int, *, is_kept: bool = False) -> list[str]:
    """The tests that are run for a change in this line."""
    data = CoverageData(no_disk=True)
    for context, lines in LINES.items():
        data.set_context(context)
        data.add_lines({"src/contextfold/folding/plan.py": lines})
    return near_tests(Mutant(SOURCE / "folding" / "plan.py", line, 0, 0, "", is_kept), data)


def test_a_room_s_own_tests_run_first_and_of_these_one_of_each_kind() -> None:
    assert noticing(5) == [f"{FOLDING}a[1]", f"{FOLDING}b", f"{FOLDING}a[2]", "tests/a.py::test_far"]


def test_a_line_that_is_run_once_for_all_has_the_near_tests_its_whole_file() -> None:
    assert len(noticing(1)) == 6
    assert len(noticing(5, is_kept=True)) == 6


def test_a_test_is_known_by_its_whole_name_whatever_stands_in_it() -> None:
    assert noticing(12) == [f"{FOLDING}d[cat a | sort]"]


def test_a_line_that_no_test_runs_has_none() -> None:
    assert noticing(3) == noticing(3, is_kept=True) == []


def test_what_is_kept_is_known_by_its_decorator(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text("@lru_cache(1)\ndef f():\n    return 3\n\n\n@other\ndef g():\n    return 4\n")
    assert {one.line: one.is_kept for one in mutants(path)} == {3: True, 8: False}
