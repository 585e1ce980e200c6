"""A recording that is longer than memory should hold: kept on disk meanwhile, with the same numbers."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from contextfold import transcripts
from contextfold.folding.recipes import RECIPES
from contextfold.replay import RecordedSession, Row, full, recorded, walk
from contextfold.replay.recorded_session import sit_down
from contextfold.replay.spool import IN_MEMORY, Spool
from contextfold.transcripts import Recorded
from tests.unit.replay.recordings import SETTINGS, plain

NUMBERS = [str(number) * number for number in range(200)]


def seated(path: Path) -> RecordedSession:
    (recording,) = transcripts.read(path)
    return sit_down(path.name, recording, 0)


def spooled(values: Sequence[str], most: int) -> Spool[str]:
    spool = Spool(str, most)
    for value in values:
        spool.append(value)
    return spool


@pytest.mark.parametrize(("most", "is_on_disk"), [(0, True), (5_000, True), (10**6, False)])
def test_values_come_back_wherever_they_are(most: int, is_on_disk: bool) -> None:
    spool = spooled(NUMBERS, most)
    assert spool.is_on_disk is is_on_disk
    assert len(spool) == len(NUMBERS)
    assert list(spool) == NUMBERS
    assert [spool[place] for place in (0, 199, -1, 17, 16, 150, 17)] == [
        NUMBERS[place] for place in (0, 199, -1, 17, 16, 150, 17)
    ]
    backwards = slice(90, 3, -1), slice(None, None, -1), slice(-1, -60, -7), slice(3, 90, -2)
    for part in (slice(3, 90), slice(180, 400), slice(90, 3), slice(None, None, 7), *backwards):
        assert list(spool[part]) == NUMBERS[part]
    with pytest.raises(IndexError):
        spool[200]


def test_a_spool_may_be_read_while_it_grows() -> None:
    spool = spooled(NUMBERS[:100], 0)
    assert spool[3] == NUMBERS[3]
    spool.append("more")
    assert list(spool) == [*NUMBERS[:100], "more"]


@pytest.mark.parametrize("policy", ["balanced", "sliding_window", "full", "recorded"])
def test_a_session_on_disk_has_the_numbers_of_one_in_memory(tmp_path: Path, policy: str) -> None:
    near = seated(plain(tmp_path, tokens=30_000))
    turns = Spool(Recorded, most=0)
    for turn in near.turns:
        turns.append(turn)
    rows: list[Row] = []
    for sitting in (near, replace(near, turns=turns)):
        made = {"full": full, "recorded": recorded}.get(policy)
        rows.append(made(sitting, SETTINGS) if made else walk(sitting, RECIPES[policy](), SETTINGS))
    assert turns.is_on_disk
    assert replace(rows[0], cpu=0.0) == replace(rows[1], cpu=0.0)


def test_what_a_long_recording_is_read_into_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 66_000}}
    with path.open("w") as file:
        for number in range(300):
            words = {"type": "text", "text": f"This is message {number}."}
            content = [words] if number % 2 else [words, picture, picture]
            file.write(json.dumps({"role": "assistant" if number % 2 else "user", "content": content}) + "\n")
    assert path.stat().st_size > 2 * IN_MEMORY
    tracemalloc.start()
    try:
        sitting = seated(path)
        assert len(sitting.roles) == 300
        assert sitting.notes.said_before(300).endswith("This is message 299.")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < path.stat().st_size * 0.9
