"""Sessions of one thread in several Python threads: what one writes never spoils what another knows."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

import contextfold as cf

SESSIONS, TURNS = 4, 25


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def take_turns(session: cf.Session, name: int, begin: Barrier) -> list[int]:
    """Say things, prepare requests and answer them, without waiting for anybody."""
    begin.wait()
    seqs = []
    for turn in range(TURNS):
        seqs.append(session.append(said("user", f"question {name}.{turn}")))
        session.prepare(max_tokens=500)
        seqs.append(session.append(said("assistant", f"answer {name}.{turn}")))
    return seqs


@pytest.mark.finding("P7")
@pytest.mark.parametrize("is_in_memory", [True, False])
def test_sessions_of_one_thread_write_from_several_threads_and_nothing_is_spoilt(
    tmp_path: Path, is_in_memory: bool
) -> None:
    path = None if is_in_memory else tmp_path / "shared.db"
    with cf.open(path) as store:
        sessions = [cf.Session.on(store, "main", "claude-sonnet-4-5") for _ in range(SESSIONS)]
        begin = Barrier(SESSIONS)
        with ThreadPoolExecutor(SESSIONS) as pool:
            working = [pool.submit(take_turns, session, name, begin) for name, session in enumerate(sessions)]
            seqs = [work.result(timeout=120) for work in working]
        told = [seq for each in seqs for seq in each]
        assert len(set(told)) == len(told) == SESSIONS * TURNS * 2
        for name, own in enumerate(seqs):
            assert [sessions[0].thread.message(seq).text for seq in own[:2]] == [
                f"question {name}.0",
                f"answer {name}.0",
            ]
        assert [entry.seq for entry in sessions[0].thread.events] == list(range(1, len(sessions[0].thread.events) + 1))
        later = sessions[0].append(said("user", "and one more"))
        assert sessions[-1].thread.message(later).text == "and one more"
        assert store.verify() == []
        if path is not None:
            with cf.open(path) as again:
                assert again.thread("main").events == store.thread("main").events
                assert list(again.thread("main").view.items) == list(store.thread("main").view.items)


@pytest.mark.finding("P7")
def test_a_batch_and_a_session_in_two_threads_do_not_wait_for_each_other_for_ever(tmp_path: Path) -> None:
    with cf.open(tmp_path / "shared.db") as store:
        session = cf.Session.on(store, "main", "claude-sonnet-4-5")
        begin = Barrier(2)

        def batches() -> None:
            begin.wait()
            for number in range(TURNS):
                with store.batch():
                    for part in range(4):
                        store.thread("other").append(said("user", f"{number}.{part}"))

        with ThreadPoolExecutor(2) as pool:
            batched, talked = pool.submit(batches), pool.submit(take_turns, session, 0, begin)
            batched.result(timeout=120)
            assert len(talked.result(timeout=120)) == TURNS * 2
        assert len(store.thread("other").events) == TURNS * 4
