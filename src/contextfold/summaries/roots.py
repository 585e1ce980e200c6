"""One mark for the directory under which most paths of a digest lie.

Agents write paths from the top of the disk; the same beginning forty times over is room that lines could have had.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from .lines import MARK

KEPT = 5  # parts of a path that stay: a file's name alone says too little
_BEGIN = r"(?<![^\s=\"'`])"  # where a path may begin
_LEAST_FILES = 2
_LEAST_PARTS = 2  # of a root; a shorter one is no shorter than the mark
_MOST_PARTS = 64  # of a root
_LONGEST_PATH = 4_096  # characters: PATH_MAX of most systems


def common_root(paths: Iterable[str]) -> str:
    """The directory whose name is repeated most, weighed by its length, without a slash at its end; empty if none.

    Directories are the nodes of a trie, each known by its parent and its own name: time and memory grow with the paths,
    not with their squares. What no file system would open, and directories below the 64th, give no root.
    """
    nodes: dict[tuple[int, str], int] = {}
    files: list[int] = []  # below each node
    spelled: list[tuple[str, int]] = []  # a path through the node, and where its name ends there
    for path in paths:
        if not path.startswith("/") or len(path) > _LONGEST_PATH:
            continue
        deepest = min(max(path.count("/") + 1 - KEPT, 1), _MOST_PARTS)
        node, end = -1, 0
        for part in path.split("/", deepest)[1:deepest]:
            end += 1 + len(part)
            known = nodes.setdefault((node, part), len(files))
            if known == len(files):
                files.append(0)
                spelled.append((path, end))
            files[known] += 1
            node = known
    often = [
        (many * end, path[:end])
        for many, (path, end) in zip(files, spelled, strict=True)
        if many >= _LEAST_FILES and path.count("/", 0, end) >= _LEAST_PARTS
    ]
    return max(often, default=(0, ""))[1]


def is_below(text: str, root: str) -> bool:
    """Whether something in it is told shorter."""
    return bool(root) and root in text and _below(root).search(text) is not None


def shortened(text: str, root: str) -> str:
    """A path, or a command that names some, with the mark in place of the root."""
    return _below(root).sub(MARK, text) if root and root in text else text


@lru_cache(maxsize=8)
def _below(root: str) -> re.Pattern[str]:
    return re.compile(rf"{_BEGIN}{re.escape(root)}(?=(?:/[^\s/\"'`]+){{{KEPT}}})")
