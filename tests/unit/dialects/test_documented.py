"""The page about dialects says what the code does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from contextfold.dialects import anthropic, openai_chat

PAGE = (Path(__file__).parents[3] / "docs" / "dialects.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "rules"), [("anthropic", anthropic.RULES), ("openai-chat", openai_chat.RULES)])
def test_every_rule_of_a_dialect_has_its_line(name: str, rules: tuple[object, ...]) -> None:
    section = PAGE.split(f"### `{name}`")[1].split("\n##")[0]
    slugs = {str(getattr(rule, "__name__", "")).replace("_", "-") for rule in rules}
    assert set(re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE)) == slugs | {"malformed"}


def test_the_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    ran = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
