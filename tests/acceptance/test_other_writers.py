"""A thread that others write to at the same time: what is prepared meanwhile is a request that a provider takes."""

from __future__ import annotations

import threading
from multiprocessing import get_context
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.folding import Policy
from contextfold.summaries import Prompt

pytestmark = pytest.mark.finding("K13")

MODEL = "claude-sonnet-5-5"
WORDS = "The parser in src/parse.py keeps the port 8443. " * 20
ROUNDS = 24


def begun(path: Path, policy: Policy) -> cf.Session:
    session = cf.Session.open(path, thread="shared", model=MODEL, policy=policy, window=8_000)
    for number in range(30):
        session.append({"role": ("user", "assistant")[number % 2], "content": f"{number}. {WORDS}"})
    session.append({"role": "user", "content": "What now?"})
    return session


@pytest.mark.parametrize("words", ["I went on elsewhere.", f"I went on elsewhere. {WORDS * 8}"], ids=["short", "long"])
def test_an_answer_that_another_writer_gives_while_this_one_folds_is_answered_in_turn(
    tmp_path: Path, words: str
) -> None:
    with cf.open(tmp_path / "store.db") as elsewhere:
        shared = elsewhere.thread("shared", model=MODEL)
        spoken: list[int] = []

        def summarize(_: Prompt) -> str:
            if not spoken:
                spoken.append(shared.append({"role": "assistant", "content": words}))
            return "The parser keeps port 8443."

        session = begun(tmp_path / "store.db", cf.recipes.summary(summarizer=summarize))
        request = session.prepare(max_tokens=500)
        assert spoken
        assert request.body["messages"][-1]["role"] == "user"
        assert request.report.folds
        session.close()


def speak(path: Path) -> None:
    """Another process that says both parts of a conversation into the same thread."""
    with cf.open(path) as store:
        thread = store.thread("shared", model=MODEL)
        for number in range(ROUNDS):
            thread.append({"role": ("assistant", "user")[number % 2], "content": f"elsewhere {number}. {WORDS}"})


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_every_request_beside_two_other_writers_is_taken(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "store.db"
    session = begun(path, cf.recipes.summary())
    make = threading.Thread if kind == "threads" else get_context("spawn").Process
    others = [make(target=speak, args=(path,)) for _ in range(2)]
    for other in others:
        other.start()
    ends = {session.prepare(max_tokens=500).body["messages"][-1]["role"] for _ in range(ROUNDS)}
    while any(other.is_alive() for other in others):
        ends.add(session.prepare(max_tokens=500).body["messages"][-1]["role"])
    for other in others:
        other.join()
    assert ends == {"user"}
    session.append({"role": "user", "content": "Is everything there?"})
    said = [event for event in session.thread.events if type(event.event).__name__ == "Appended"]
    assert len(said) == 32 + 2 * ROUNDS
    session.close()
