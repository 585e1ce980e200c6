"""Which lines of a log belong to the conversation as it stands, where lines name their parent.

Such a log is a tree: going back and asking anew leaves a branch behind. The live branch is the one that ends last;
lines beside it that belong to its messages (further parts, results of parallel calls) are live too. About 110 bytes
are kept for each line, and nothing of what the line says.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

_RECENT = 4_096  # ids kept as they are; a parent further back is found by its hash
_VISITING = -1
_DEAD, _LIVE = 1, 2
_IN_TREE, _SAID, _ANSWERS, _APART, _ORPHAN, _REPEATED = 1, 2, 4, 8, 16, 32


class Node(Struct, frozen=True):
    """What the tree has to know of a line."""

    id: str
    parent: str
    key: str = ""  # the API message it is a part of
    said: bool = False  # part of the conversation, not a note beside it
    answers: bool = False  # holds results of calls
    apart: bool = False  # of a side conversation
    continues: bool = False  # goes on from the line before where its parent cannot be found


class Branches:
    """The settled tree. Lines are numbered from 1; root 0 stands for lines outside every conversation."""

    def __init__(self, parents: array[int], roots: array[int], live: bytearray, flags: bytearray) -> None:
        self._parents, self._roots, self._live, self._flags = parents, roots, live, flags
        self._said = {root for root, flag in zip(roots, flags, strict=True) if root and flag & _SAID}
        self.conversations = tuple(sorted(self._said, key=lambda root: (bool(flags[root] & _APART), root)))

    @property
    def lines(self) -> int:
        return len(self._parents) - 1

    def owner(self, line: int) -> int:
        """The conversation that accounts for a line: its own, or the first one."""
        root = self._roots[line]
        if root in self._said:
            return root
        return self.conversations[0] if self.conversations else 0

    def parent(self, line: int) -> int:
        return self._parents[line]

    def is_live(self, line: int) -> bool:
        return self._live[line] == _LIVE

    def is_apart(self, line: int) -> bool:
        return bool(self._flags[line] & _APART)

    def is_orphan(self, line: int) -> bool:
        """Whether the line names a parent that is nowhere in the file."""
        return bool(self._flags[line] & _ORPHAN)

    def is_repeated(self, line: int) -> bool:
        """Whether a line with the same id stood shortly before."""
        return bool(self._flags[line] & _REPEATED)


class _Seeker(NamedTuple):
    """A line whose parent has not been seen, and what to do should it never be."""

    line: int
    before: int
    continues: bool


class Growing:
    """The tree while the lines come in, each once and in order."""

    def __init__(self) -> None:
        self._parents, self._keys, self._ids = array("q", [0]), array("q", [0]), array("q", [0])
        self._flags = bytearray(1)
        self._recent: dict[str, int] = {}
        self._sought: dict[str, list[_Seeker]] = {}  # by the id of the parent they named
        self._last = {False: 0, True: 0}

    def add(self, node: Node | None) -> None:
        """The next line; None where it is no part of the tree."""
        line = len(self._parents)
        if node is None or (node.id and node.id in self._recent):
            self._push(0, 0, 0, 0 if node is None else _REPEATED)
            return
        before = self._last[node.apart]
        if not node.id or (not node.parent and node.continues):
            parent = before
        else:
            parent = self._recent.get(node.parent, 0) if node.parent else 0
            if node.parent and not parent:
                self._sought.setdefault(node.parent, []).append(_Seeker(line, before, node.continues))
        flags = _IN_TREE | _SAID * node.said | _ANSWERS * node.answers | _APART * node.apart
        self._push(parent, hash(node.key) if node.key else 0, hash(node.id), flags)
        self._last[node.apart] = line
        if node.id:
            self._recent[node.id] = line
            if len(self._recent) > _RECENT:
                del self._recent[next(iter(self._recent))]
            for seeker in self._sought.pop(node.id, ()):
                self._parents[seeker.line] = line

    def _push(self, parent: int, key: int, id: int, flags: int) -> None:
        self._parents.append(parent)
        self._keys.append(key)
        self._ids.append(id)
        self._flags.append(flags)

    def settle(self) -> Branches:
        """The tree as it stands at the end of the file."""
        self._find_far_parents()
        roots = self._find_roots()
        return Branches(self._parents, roots, self._find_live(roots), self._flags)

    def _find_far_parents(self) -> None:
        """Parents from far back, or else the line before."""
        wanted = {hash(id) for id in self._sought}
        found = {each: line for line, each in enumerate(self._ids) if each in wanted and self._flags[line] & _IN_TREE}
        for id, seekers in self._sought.items():
            for seeker in seekers:
                parent = found.get(hash(id), seeker.line)
                self._parents[seeker.line] = parent if parent != seeker.line else seeker.before
                if parent == seeker.line and not seeker.continues:
                    self._flags[seeker.line] |= _ORPHAN
        self._sought, self._recent = {}, {}

    def _in_tree(self) -> Iterator[int]:
        return (line for line, flag in enumerate(self._flags) if flag & _IN_TREE)

    def _find_roots(self) -> array[int]:
        """The root of every line, each line visited once; where lines go round in a circle, one is taken for a root."""
        roots = array("q", bytes(8 * len(self._parents)))
        for line in self._in_tree():
            trail = []
            while line and not roots[line]:
                roots[line] = _VISITING
                trail.append(line)
                line = self._parents[line]
            if line and roots[line] == _VISITING:
                self._parents[trail[-1]] = line = 0
            root = roots[line] if line else trail[-1] if trail else 0
            for each in trail:
                roots[each] = root
        return roots

    def _find_live(self, roots: array[int]) -> bytearray:
        # Where each conversation ends. Results come late: one of an early call must not cut off what followed.
        leaves: dict[int, int] = {}
        for line in self._in_tree():
            if self._flags[line] & _SAID and not (self._flags[line] & _ANSWERS and roots[line] in leaves):
                leaves[roots[line]] = line
        decided = bytearray(len(self._parents))
        for line in leaves.values():
            while line and decided[line] != _LIVE:
                decided[line] = _LIVE
                line = self._parents[line]
        for line in self._in_tree():
            trail = []
            while line and not decided[line]:
                trail.append(line)
                line = self._parents[line]
            for each in reversed(trail):
                decided[each] = _LIVE if self._belongs(decided, each) else _DEAD
        return decided

    def _belongs(self, decided: bytearray, line: int) -> bool:
        """Whether a line beside the path is part of a live message, or answers one, or is a note beside it."""
        above, flags = self._parents[line], self._flags[line]
        if decided[above] != _LIVE:
            return False
        if flags & _ANSWERS or not flags & _SAID:
            return True
        if not self._keys[line]:
            return False
        for _ in range(_RECENT):  # the API message that the line stands under, seen through notes and results
            if self._flags[above] & _SAID and not self._flags[above] & _ANSWERS:
                break
            above = self._parents[above]
        return self._keys[line] == self._keys[above]
