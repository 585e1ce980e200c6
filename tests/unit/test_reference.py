"""The reference is written from the code; here it is held to it."""

from pathlib import Path

import pytest

from contextfold.cli.commands import COMMANDS
from scripts.write_reference import PAGES, REFERENCE, main, page


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_reference_is_current(name: str) -> None:
    written = (REFERENCE / name).read_text()
    assert written == page(name), "run `make reference`"


def test_every_command_has_its_section() -> None:
    sections = (REFERENCE / "commands.md").read_text()
    assert all(f"\n## {name}\n" in sections for name in COMMANDS)


def test_the_check_says_nothing_when_all_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr().out == ""


def test_the_reference_names_no_machine() -> None:
    home = str(Path.home())
    assert all(home not in (REFERENCE / name).read_text() for name in PAGES)
