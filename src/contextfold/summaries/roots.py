"""The directory most files lie in, said once instead of in front of every path.

Agents write paths from the top of the disk. In a small summary the same beginning forty times over is room that lines
could have had. A mark stands for it, so that nobody takes what is left for a path from somewhere else, and enough is
left that a path still says what it belongs to.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from .cuts import MARK

KEPT = 5  # parts of a path that stay: a file's name alone says too little
_LEAST_FILES = 2
_LEAST_PARTS = 2  # of a root; a shorter one is no shorter than the mark


def common_root(paths: Iterable[str]) -> str:
    """The directory whose name is repeated most, weighed by its length, without a slash at its end; empty if none."""
    within: Counter[str] = Counter()
    for path in paths:
        parts = path.split("/")
        if path.startswith("/"):
            within.update("/".join(parts[:end]) for end in range(_LEAST_PARTS + 1, len(parts) - KEPT + 1))
    often = [root for root, files in within.items() if files >= _LEAST_FILES]
    return max(often, key=lambda root: (within[root] * len(root), root), default="")


def is_below(text: str, root: str) -> bool:
    """Whether something in it is told shorter."""
    return bool(root) and root in text and _below(root).search(text) is not None


def shortened(text: str, root: str) -> str:
    """A path, or a command that names some, with the mark in place of the root."""
    return _below(root).sub(MARK, text) if root and root in text else text


def restored(text: str, root: str) -> str:
    """The same with the root in place of the mark."""
    return _MARKED.sub(lambda _: root, text) if root else text


def _below(root: str) -> re.Pattern[str]:
    return re.compile(rf"{_BEGIN}{re.escape(root)}(?=(?:/[^\s/\"'`]+){{{KEPT}}})")


_BEGIN = r"(?<![^\s=\"'`])"
_MARKED = re.compile(rf"{_BEGIN}{MARK}(?=/)")
