"""Everything ever said in a store is found by its words, on the branch it belongs to, until it is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import contextfold as cf
from contextfold import logs
from contextfold.store import Store
from tests.crash.traces import readable

MODEL = "claude-sonnet-5-5"


@pytest.fixture(params=["memory", "file", "file without an index"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    path = None if request.param == "memory" else tmp_path / "agent.db"
    with cf.open(path, recall=request.param == "file") as opened:
        yield opened


def talk(store: Store, name: str = "talk") -> list[int]:
    """Forty turns about nothing, and one that matters at place twenty."""
    thread = store.thread(name, model=MODEL)
    texts = [f"Chapter {number} speaks of nothing in particular." for number in range(40)]
    texts[20] = "We chose port 8443 for the proxy."
    roles = ("user", "assistant")
    return [thread.append({"role": roles[place % 2], "content": text}) for place, text in enumerate(texts)]


def seqs(store: Store, question: str, thread: str = "talk", budget: int = 150, **how: bool) -> list[int]:
    return [passage.seq for passage in store.recall(question, thread, budget=budget, **how)]


def test_a_question_finds_the_message_and_tells_the_fold_that_hides_it(store: Store) -> None:
    said = talk(store)
    fold = store.thread("talk").fold(said[10:30], "Ten chapters.")
    best = max(store.recall("which port did we choose for the proxy?", "talk"), key=lambda passage: passage.score)
    assert (best.seq, best.fold, best.speaker, best.matched) == (said[20], fold, "user", ("port", "proxy"))


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("出雲大社の旅館を予約しました。", "旅館の予約はどうなりましたか?"),
        ("API設計v2はTanakaさんの担当です。", "Tanakaさんは何の担当?"),
        ("GraphQLのスキーマを直しました", "graphql スキーマ"),
        ("parse_args drops the --verbose flag.", "what is wrong with parseArgs?"),
        ("Open src/contextfold/app.py and look.", "app.py"),
        ("The HTTPServer class listens.", "http server"),
        ("Der Schlüssel liegt unter der Matte.", "schlussel"),
    ],
)
def test_questions_in_any_script_and_about_identifiers_find_their_message(
    store: Store, said: str, question: str
) -> None:
    talk(store)
    seq = store.thread("talk").append({"role": "user", "content": said})
    store.thread("talk").append({"role": "assistant", "content": "Chapter 41 speaks of nothing."})
    best = max(store.recall(question, "talk"), key=lambda passage: passage.score)
    assert (best.seq, best.text, best.score > 0) == (seq, said, True)


def test_what_the_view_shows_is_left_out_where_only_the_folded_is_wanted(store: Store) -> None:
    said = talk(store)
    store.thread("talk").fold(said[10:30], "Ten chapters.")
    found = seqs(store, "chapter", budget=2_000, only_folded=True)
    assert found
    assert set(found) <= set(said[10:30])


def test_what_a_rewind_left_behind_is_found_only_everywhere(store: Store) -> None:
    said = talk(store)
    store.thread("talk").rewind(after=said[10])
    assert said[20] not in seqs(store, "port proxy", budget=5_000)
    assert said[20] in seqs(store, "port proxy", budget=5_000, everywhere=True)


def test_a_fork_recalls_what_it_shares_and_what_was_said_in_it(store: Store) -> None:
    said = talk(store)
    fork = store.thread("talk").fork(at=said[25], name="fork")
    later = fork.append({"role": "user", "content": "And port 9000 for the metrics."})
    found = seqs(store, "port", "fork", budget=200)
    assert {said[20], later} <= set(found)
    assert all("9000" not in passage.text for passage in store.recall("port metrics", "talk", budget=5_000))


def test_threads_do_not_leak_into_one_another(store: Store) -> None:
    talk(store)
    store.thread("other", model=MODEL).append({"role": "user", "content": "The password is xyzzy."})
    assert all("xyzzy" not in passage.text for passage in store.recall("password xyzzy", "talk", budget=5_000))


def test_what_was_forgotten_is_not_found_again(store: Store) -> None:
    said = talk(store)
    assert said[20] in seqs(store, "port proxy")
    store.forget("talk", said[20])
    assert all("8443" not in passage.text for passage in store.recall("port 8443 proxy", "talk", budget=5_000))


def test_an_empty_thread_has_nothing_to_recall(store: Store) -> None:
    store.thread("talk", model=MODEL)
    assert store.recall("port", "talk") == ()


def test_no_term_of_a_forgotten_message_is_left_in_the_file(tmp_path: Path) -> None:
    with cf.open(tmp_path / "agent.db") as store:
        thread = store.thread("talk", model=MODEL)
        seq = thread.append({"role": "user", "content": "The password is xyzzyplugh."})
        assert seqs(store, "password") == [seq]
        store.forget("talk", seq)
    assert b"xyzzyplugh" not in readable(tmp_path)


def test_what_a_writer_without_the_index_wrote_is_found(tmp_path: Path) -> None:
    with cf.open(tmp_path / "agent.db") as store:
        said = talk(store)
        with cf.open(tmp_path / "agent.db", recall=False) as other:
            later = other.thread("talk").append({"role": "user", "content": "And 9000 for the metrics."})
        assert later in seqs(store, "metrics")
        assert said[20] in seqs(store, "proxy")


def test_a_store_that_keeps_no_index_answers_from_one_in_memory(tmp_path: Path) -> None:
    with cf.open(tmp_path / "agent.db", recall=False) as store:
        said = talk(store)
        assert said[20] in seqs(store, "proxy")
    with closing(apsw.Connection(str(tmp_path / "agent.db"))) as connection:
        assert connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'derived%'").fetchall() == []


def test_spaces_of_one_file_do_not_leak_into_one_another(tmp_path: Path) -> None:
    with cf.open(tmp_path / "agent.db", space="one") as one, cf.open(tmp_path / "agent.db", space="two") as two:
        talk(one)
        two.thread("talk", model=MODEL).append({"role": "user", "content": "Nothing here."})
        assert [passage.text for passage in two.recall("port proxy", "talk")] == ["Nothing here."]


def test_an_index_that_grew_equals_one_built_at_once(tmp_path: Path) -> None:
    with cf.open(tmp_path / "agent.db") as grown:
        talk(grown)
        seqs(grown, "port")
        talk(grown, "second")
        first = grown.recall("which port", "second"), grown.recall("which port", "talk")
    with Store(logs.open_sqlite(tmp_path / "agent.db")) as plain:
        plain.recall("which port", "talk")
        assert (plain.recall("which port", "second"), plain.recall("which port", "talk")) == first


@pytest.mark.finding("K13")
def test_a_store_in_memory_opens_no_index_before_it_is_asked_and_closes_it_with_itself() -> None:
    before = len(apsw.connections())
    with cf.open() as store:
        said = talk(store)
        assert len(apsw.connections()) == before
        assert said[20] in seqs(store, "port proxy")
        store.forget("talk", said[3])
        assert said[20] in seqs(store, "port proxy")
        assert len(apsw.connections()) == before + 1
    assert len(apsw.connections()) == before
