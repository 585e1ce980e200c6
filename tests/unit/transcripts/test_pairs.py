"""Calls and results that are not in order, not in pairs, or far apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.transcripts.samples import Json, kinds, put_lines, whole


def call(*ids: str) -> Json:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "t", "input": {}} for id in ids]}


def answer(*ids: str) -> Json:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "r"} for id in ids]}


def said(words: str) -> Json:
    return {"role": "user", "content": words}


@pytest.mark.parametrize(
    ("rows", "order", "defects"),
    [
        ([call("a"), answer("a")], [1, 2], []),
        ([answer("a"), call("a")], [2, 1], ["result-before-call"]),
        ([answer("a"), said("x"), call("a")], [2, 3, 1], ["result-before-call"]),
        ([answer("a", "b"), call("a"), call("b")], [2, 3, 1], ["result-before-call"] * 2),
        ([call("a"), answer("a"), answer("a")], [1, 2, 3], ["repeated-result"]),
        ([call("a"), answer("a", "b")], [1, 2], ["result-without-call"]),
        ([answer("a"), answer("a"), said("x")], [2, 3, 1], ["result-without-call"] * 2),
        ([call("a"), call("a"), answer("a")], [1, 2, 3], ["repeated-call"]),
        ([call("a", "b"), answer("b")], [1, 2], ["call-without-result"]),
        ([answer("a"), *[said("x")] * 70, call("a")], None, ["result-without-call", "call-without-result"]),
    ],
)
def test_results_follow_their_calls_and_what_is_no_pair_is_told(
    tmp_path: Path, rows: list[Json], order: list[int] | None, defects: list[str]
) -> None:
    read = whole(put_lines(tmp_path, rows))

    assert kinds(read) == defects
    if order is not None:
        assert [turn.lines[0] for turn in read.turns] == order
    assert len(read.turns) == len(rows)


def test_a_result_gives_up_waiting_and_takes_its_place_near_where_it_stood(tmp_path: Path) -> None:
    rows = [said("x"), answer("never"), *[said("y")] * 200]

    places = [turn.lines[0] for turn in whole(put_lines(tmp_path, rows)).turns]

    assert places.index(2) < 70


def test_ids_of_answered_calls_are_forgotten_in_the_end(tmp_path: Path) -> None:
    rows = [row for number in range(10_002) for row in (call(f"c{number}"), answer(f"c{number}"))]

    recent = whole(put_lines(tmp_path, [*rows, call("c9000"), answer("c9000")]))
    ancient = whole(put_lines(tmp_path, [*rows, call("c0"), answer("c0")]))

    assert kinds(recent) == ["repeated-call"]
    assert kinds(ancient) == []
