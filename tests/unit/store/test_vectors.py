"""With an encoder, what means the same is found though it says it otherwise; without one, nothing of it exists."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest

import contextfold as cf
from contextfold.errors import BadConfiguration, StoreError
from contextfold.recall import small
from contextfold.recall.search import Hit, fused
from contextfold.recall.words import terms

pytest.importorskip("sqlite_vec", reason="Tests of vectors need contextfold[embeddings].")

MODEL = "claude-sonnet-5-5"
MEANINGS = ({"car", "automobile", "vehicle", "sedan"}, {"dog", "puppy", "hound"}, {"port", "proxy"}, {"chapter"})


class Meanings:
    """An encoder that knows four meanings: each is a dimension."""

    def __init__(self, name: str = "meanings") -> None:
        self.name = name
        self.encoded = 0
        self.is_asked = threading.Event()

    def passages(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.encoded += len(texts)
        self.is_asked.set()
        return [self.question(text) for text in texts]

    def question(self, text: str) -> Sequence[float]:
        said = set(terms(text))
        return [0.01 + len(said & meaning) for meaning in MEANINGS]


class Broken(Meanings):
    def passages(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.is_asked.set()
        raise RuntimeError(f"out of memory for {len(texts)}")


def talk(store: cf.Store) -> list[int]:
    thread = store.thread("talk", model=MODEL)
    texts = [f"Chapter {number} speaks of nothing in particular." for number in range(30)]
    texts[10] = "My sedan has a flat tyre."
    with store.batch():
        return [
            thread.append({"role": ("user", "assistant")[place % 2], "content": text})
            for place, text in enumerate(texts)
        ]


def best(store: cf.Store, question: str, thread: str = "talk") -> int:
    return max(store.recall(question, thread, budget=300), key=lambda passage: passage.score).seq


def vectors(path: Path) -> list[tuple[int, bool]]:
    """Which messages have a vector in the file, or wait for one."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [(seq, has) for seq, has in connection.execute("SELECT seq, vector IS NOT NULL FROM derived_vectors")]
    finally:
        connection.close()


def test_what_is_meant_is_found_though_no_word_of_the_question_is_in_it(tmp_path: Path) -> None:
    with cf.open(tmp_path / "agent.db", encoder=Meanings()) as store:
        said = talk(store)
        store.reindex()
        assert best(store, "automobile") == said[10]
        fork = store.thread("talk").fork(at=said[20], name="fork")
        later = fork.append({"role": "user", "content": "The hound barks."})
        store.reindex()
        assert best(store, "puppy", "fork") == later
        assert best(store, "automobile", "fork") == said[10]
        assert all("hound" not in passage.text for passage in store.recall("puppy", "talk", budget=5_000))
    with cf.open(tmp_path / "plain.db") as plain:
        talk(plain)
        assert all(passage.score == 0 for passage in plain.recall("automobile", "talk"))


def test_vectors_are_made_in_the_background_after_a_thread_was_asked_about(tmp_path: Path) -> None:
    path, encoder = tmp_path / "agent.db", Meanings()
    with cf.open(path, encoder=encoder) as store:
        talk(store)
        assert encoder.encoded == 0
        assert not any(passage.score for passage in store.recall("automobile", "talk"))
        assert encoder.is_asked.wait(60)
    assert vectors(path) == [(seq, True) for seq in range(1, 31)]  # a store that closes lets a piece end
    encoder.is_asked.clear()
    with cf.open(path, encoder=encoder) as again:
        assert best(again, "automobile") == 11
        again.thread("talk").append({"role": "user", "content": "One more puppy."})
        again.recall("puppy", "talk")
        assert encoder.is_asked.wait(60)
    assert encoder.encoded == 31  # nothing twice


def test_forgetting_erases_vectors_and_needs_the_encoder_to_be_there(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with cf.open(path, encoder=Meanings()) as store:
        said = talk(store)
        store.reindex()
        kept = small(Meanings().question("sedan"))
        assert kept in path.read_bytes() + Path(f"{path}-wal").read_bytes()
        store.forget("talk", said[10])
        assert said[10] not in dict(vectors(path))
        assert all("sedan" not in passage.text for passage in store.recall("automobile", "talk", budget=5_000))
    assert all(kept not in file.read_bytes() for file in tmp_path.iterdir())
    with cf.open(path) as plain, pytest.raises(StoreError, match="vectors"):
        plain.forget("talk", said[11])


def test_what_a_writer_without_the_encoder_wrote_is_encoded_later(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with cf.open(path, encoder=Meanings()) as store:
        talk(store)
        with cf.open(path) as plain:
            later = plain.thread("talk").append({"role": "user", "content": "A hound barks."})
        store.recall("puppy", "talk")
        store.reindex()
        assert best(store, "puppy") == later


def test_another_encoder_begins_anew_and_one_that_fails_costs_only_its_vectors(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "agent.db"
    with cf.open(path, encoder=Meanings()) as store:
        said = talk(store)
        store.reindex()
    caplog.set_level(logging.WARNING, "contextfold")
    broken = Broken("another")
    with cf.open(path, encoder=broken) as store:
        assert best(store, "sedan") == said[10]
        assert broken.is_asked.wait(60)
    assert not any(has for _, has in vectors(path))
    assert "could not be made" in caplog.text


def test_an_encoder_wants_a_file_with_an_index(tmp_path: Path) -> None:
    for where, recall in ((None, True), (tmp_path / "agent.db", False)):
        with pytest.raises(BadConfiguration, match="file"):
            cf.open(where, recall=recall, encoder=Meanings())


def test_two_rankings_become_one_by_rank_alone() -> None:
    words = [Hit(seq, 0, 0, "user", score) for seq, score in ((1, 900.0), (2, 5.0), (3, 1.0))]
    alike = [Hit(seq, 0, 0, "user", 0.0) for seq in (4, 2)]
    assert [hit.seq for hit in fused(words, alike)] == [2, 1, 4, 3]
    assert all(0 < hit.score < 1 for hit in fused(words, alike))


def test_a_vector_keeps_its_direction_in_one_byte_for_each_dimension() -> None:
    assert small([0.5, -1.0, 0.0]) == small([5.0, -10.0, 0.0]) == bytes([64, 256 - 127, 0])
    assert small([0.0, 0.0]) == bytes(2)
