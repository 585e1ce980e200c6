"""Trees of lines: far parents, repeated ids, and shapes that only a broken file has."""

from __future__ import annotations

import pytest

from contextfold.transcripts.tree import Branches, Growing, Node


def grown(*nodes: Node | None) -> Branches:
    growing = Growing()
    for node in nodes:
        growing.add(node)
    return growing.settle()


def live(branches: Branches) -> list[int]:
    return [line for line in range(1, branches.lines + 1) if branches.is_live(line)]


def said(id: str, parent: str = "", key: str = "", *, answers: bool = False, apart: bool = False) -> Node:
    return Node(id, parent, key, said=True, answers=answers, apart=apart)


def test_a_parent_far_back_is_found() -> None:
    size = 5_000
    chain = [said(f"n{number}", f"n{number - 1}" if number else "") for number in range(size)]

    branches = grown(*chain, said("new", "n3"))

    assert branches.parent(size + 1) == 4
    assert live(branches) == [1, 2, 3, 4, size + 1]
    assert not branches.is_orphan(size + 1)


def test_a_line_with_an_id_that_was_just_used_is_a_repetition() -> None:
    branches = grown(said("a"), said("b", "a"), said("a"), said("c", "b"))

    assert [branches.is_repeated(line) for line in (1, 2, 3, 4)] == [False, False, True, False]
    assert live(branches) == [1, 2, 4]


def test_lines_outside_belong_to_the_first_conversation() -> None:
    branches = grown(None, said("s", apart=True), said("a"), None)

    assert branches.conversations == (3, 2)
    assert [branches.owner(line) for line in (1, 2, 3, 4)] == [3, 2, 3, 3]


def test_a_file_without_conversations_has_none() -> None:
    branches = grown(None, Node("note", ""))

    assert branches.conversations == ()
    assert branches.owner(1) == branches.owner(2) == 0


def test_parts_of_a_live_message_and_results_beside_the_path_are_live() -> None:
    branches = grown(
        said("u"),
        said("a1", "u", "m"),
        said("a2", "a1", "m"),
        said("r2", "a2", answers=True),
        Node("note", "a1"),
        said("a3", "note", "m"),
        said("r1", "a1", answers=True),
        said("other", "a1", "m2"),
        said("next", "r1"),
    )

    assert live(branches) == [1, 2, 3, 4, 5, 6, 7, 9]


@pytest.mark.parametrize("size", [2, 3, 2_000])
def test_a_circle_is_cut_and_a_file_in_reverse_is_read(size: int) -> None:
    circle = [said(f"n{number}", f"n{(number + 1) % size}") for number in range(size)]
    backwards = [said(f"n{number}", f"n{number + 1}" if number + 1 < size else "") for number in range(size)]

    assert len(grown(*circle).conversations) == 1
    assert len(grown(*backwards).conversations) == 1


def test_a_line_that_is_its_own_parent_is_a_root() -> None:
    assert grown(said("a", "a")).conversations == (1,)
