"""The page about testing: its examples run, and it leaves out nothing that there is."""

import re
from pathlib import Path

from contextfold.testing import nasty

PAGE = (Path(__file__).parents[3] / "docs" / "testing.md").read_text("utf-8")


def test_every_example_of_the_page_runs() -> None:
    examples = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(examples) == 5
    for example in examples:
        exec(compile(example, "docs/testing.md", "exec"), {})  # noqa: S102  # our own documentation


def test_every_kind_of_nastiness_is_told() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])) == sorted(nasty.KINDS)
