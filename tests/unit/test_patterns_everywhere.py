"""Patterns mean the same in every supported Python: before 3.11.5, `re` errs in groups that are repeated possessively.

Such a group, when it fails halfway, keeps the letters that it had read (python/cpython#106052). A class of letters that
is repeated possessively (`[a-z]++`) is sound everywhere, and so is a group that is repeated greedily.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "contextfold"
POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{\d*,?\d*\})\+")


def texts() -> Iterator[tuple[str, str]]:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", node.value


def test_no_group_is_repeated_possessively() -> None:
    assert POSSESSIVE_GROUP.search(r"(?:-[a-z]++){2,}+")
    assert not [place for place, text in texts() if POSSESSIVE_GROUP.search(text)]
