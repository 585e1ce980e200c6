"""An index whose writer was killed finds the same as one that is made anew."""

from __future__ import annotations

from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

import pytest

import contextfold as cf
from tests.crash.writers import Writer

pytestmark = pytest.mark.crash

KILLS = 6
MODEL = "claude-sonnet-5-5"
WORDS = ("port", "proxy", "parser", "cache", "index", "table", "ポート", "索引")


def speak(say: Connection, path: Path, seed: int, has_index: bool) -> None:
    """Say things for ever, with the index or without it, and forget some of them."""
    chance = Random(seed)
    with cf.open(path, recall=has_index) as store:
        thread = store.thread("talk", model=MODEL)
        while True:
            text = " ".join([*chance.choices(WORDS, k=6), f"number{chance.randrange(500)}"])
            seq = thread.append({"role": "user", "content": text})
            if has_index and chance.random() < 0.05:
                store.recall("proxy", "talk")
            say.send_bytes(f"said {seq}".encode())


def asked(path: Path) -> list[object]:
    with cf.open(path) as store:
        return [store.recall(f"{word} number{n}", "talk", budget=600) for n, word in enumerate(WORDS)]


def test_an_index_after_kills_and_after_writers_without_it_equals_one_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    acknowledged = 0
    for kill in range(KILLS):
        chance = Random(f"recall {kill}")
        writer = Writer(speak, path, chance.randrange(2**32), kill % 3 != 2)
        said = writer.said()
        for words in islice(said, chance.randrange(20, 120)):
            acknowledged = int(words[1])
        writer.kill()
        for words in said:
            acknowledged = int(words[1])
        assert writer.end() == -9
        before = asked(path)
        with cf.open(path) as store:
            assert len(store.thread("talk").events) >= acknowledged
            store.reindex()
        assert asked(path) == before
    assert acknowledged > KILLS
