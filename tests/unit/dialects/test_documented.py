"""The page about dialects says what the code does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from contextfold.dialects import anthropic, gemini, openai_chat, openai_responses
from contextfold.dialects.wire import RULE

PAGE = (Path(__file__).parents[3] / "docs" / "dialects.md").read_text(encoding="utf-8")


DIALECTS = (anthropic, openai_chat, openai_responses, gemini)


@pytest.mark.parametrize(("name", "rules"), [(dialect.NAME, dialect.RULES) for dialect in DIALECTS])
def test_every_rule_of_a_dialect_has_its_line(name: str, rules: tuple[object, ...]) -> None:
    section = PAGE.split(f"### `{name}`")[1].split("\n##")[0]
    slugs = {str(getattr(rule, "__name__", "")).replace("_", "-") for rule in rules}
    assert set(re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE)) == slugs | {"malformed"}


def test_the_rule_of_all_dialects_is_named_once() -> None:
    assert f"`{RULE}`" in PAGE.split("## Rules")[1].split("\n###")[0]


@pytest.mark.parametrize("example", re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
def test_the_example_runs(example: str) -> None:
    ran = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
