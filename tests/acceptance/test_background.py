"""A summary written in the background: nothing waits for it, nothing is lost, and it is used, rebased or dropped."""

from __future__ import annotations

import asyncio
import os
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event

import pytest

import contextfold as cf
from contextfold.folding import Answer, Summarizer
from contextfold.summaries import Prompt, Refusal

MODEL = "claude-sonnet-4-5"
SAID = "The parser in src/parse.py keeps the port 8443 and the flag --strict. " * 12
SUMMARY = "The user works on src/parse.py. The port is 8443, the flag is --strict. Next: run the tests again." * 4


class Held:
    """A summarizer that answers when it is let."""

    def __init__(self, text: str = SUMMARY) -> None:
        self.asked, self.released, self.text, self.calls = Event(), Event(), text, 0

    def __call__(self, _prompt: Prompt) -> Answer:
        self.calls += 1
        self.asked.set()
        assert self.released.wait(60)
        return Answer(self.text, "end_turn", "small-model", 1_234, 56)


def session_with(summarizer: Summarizer, monkeypatch: pytest.MonkeyPatch) -> cf.Session:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "12000")
    policy = cf.recipes.summary(summarizer=summarizer).with_(background=True)
    return cf.Session.open(model=MODEL, policy=policy)


def talk(session: cf.Session, turns: int, start: int = 0) -> list[int]:
    seqs = []
    for number in range(start, start + turns):
        seqs.append(session.append({"role": "user", "content": f"Question {number}. {SAID}"}))
        seqs.append(session.append({"role": "assistant", "content": f"Answer {number}. {SAID}"}))
    return seqs


def until_asked(session: cf.Session, held: Held) -> int:
    """Talk and prepare until the summary is being written; how many turns that took."""
    for turn in range(60):
        talk(session, 1, turn)
        session.append({"role": "user", "content": "Go on."})
        request = session.prepare(max_tokens=500)
        assert not request.report.folds
        session.append({"role": "assistant", "content": "Done."})
        if held.asked.wait(0):
            return turn
        if session.desk.background.ahead is not None:
            assert held.asked.wait(60)
            return turn
    raise AssertionError("no summary was asked for")


def settled(session: cf.Session, held: Held) -> cf.Request:
    """Let the summary come, and prepare."""
    ahead = session.desk.background.ahead
    assert ahead is not None
    held.released.set()
    ahead.running.exception(60)  # type: ignore[attr-defined]  # a future, which knows how to wait
    session.append({"role": "user", "content": "And now?"})
    assert session.will_fold
    return session.prepare(max_tokens=500)


def test_messages_said_meanwhile_stay_in_order_and_the_fold_is_rebased(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    with session_with(held, monkeypatch) as session:
        until_asked(session, held)
        said = []
        for number in range(20):
            role = "user" if number % 2 == 0 else "assistant"
            said.append(session.append({"role": role, "content": f"Meanwhile {number}."}))
            assert not session.will_fold
        request = settled(session, held)
        (fold,) = request.report.folds
        assert fold.kind == "summary"
        assert request.report.trigger == "ahead"
        shown = [message.text for message in session.view.messages]
        kept = [text for text in shown if text.startswith("Meanwhile")]
        assert kept == [f"Meanwhile {number}." for number in range(20)]
        assert all(session.recall(seq=seq) for seq in said)
        assert held.calls == 1


def test_a_covered_part_that_changed_drops_the_summary_with_its_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    with session_with(held, monkeypatch) as session:
        until_asked(session, held)
        ahead = session.desk.background.ahead
        assert ahead is not None
        covered = ahead.plan.folds[0].seqs[-1]
        session.thread.pin(covered)
        request = settled(session, held)
        attempt = next(each for each in request.report.attempts if each.refusal is Refusal.STALE)
        assert "pinned" in attempt.error
        assert (attempt.model, attempt.input_tokens, attempt.output_tokens) == ("small-model", 1_234, 56)
        assert session.thread.message(covered).text in [message.text for message in session.view.messages]


def test_a_rewind_makes_it_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    with session_with(held, monkeypatch) as session:
        until_asked(session, held)
        session.thread.rewind(before=session.view.items[-3].seq)
        request = settled(session, held)
        assert not session.folds
        assert any(
            each.refusal is Refusal.STALE and "rewound" in each.error and each.output_tokens == 56
            for each in request.report.attempts
        )


def test_when_it_no_longer_fits_nothing_waits_for_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    with session_with(held, monkeypatch) as session:
        turns = until_asked(session, held)
        talk(session, 12, turns + 1)
        session.append({"role": "user", "content": "Now."})
        request = session.prepare(max_tokens=500)
        assert request.report.folds
        assert held.calls == 1
        held.released.set()


def test_a_failing_summarizer_is_reported_and_the_digest_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Event()

    def fail(_prompt: Prompt) -> str:
        asked.set()
        raise ConnectionError("no route to the model")

    held = Held()
    held.asked = asked
    with session_with(fail, monkeypatch) as session:
        until_asked(session, held)
        request = settled(session, held)
        assert request.report.folds
        assert any(each.refusal is Refusal.FAILED for each in request.report.attempts)


def test_closing_lets_go_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    session = session_with(held, monkeypatch)
    until_asked(session, held)
    ahead = session.desk.background.ahead
    assert ahead is not None
    session.close()
    assert ahead.running.cancelled()  # type: ignore[attr-defined]
    held.released.set()


async def test_the_same_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "12000")
    released, asked = asyncio.Event(), asyncio.Event()

    async def summarize(_prompt: Prompt) -> Answer:
        asked.set()
        await released.wait()
        return Answer(SUMMARY, "end_turn", "small-model", 1_234, 56)

    policy = cf.recipes.summary(summarizer=summarize).with_(background=True)
    async with await cf.aio.Session.open(model=MODEL, policy=policy) as session:
        for turn in range(40):
            await session.append({"role": "user", "content": f"Question {turn}. {SAID}"})
            await session.prepare(max_tokens=500)
            await session.append({"role": "assistant", "content": f"Answer {turn}. {SAID}"})
            if session.desk.background.ahead is not None:
                break
        await asyncio.wait_for(asked.wait(), 60)
        await session.append({"role": "user", "content": "Meanwhile."})
        assert not (await session.prepare(max_tokens=500)).report.folds
        released.set()
        ahead = session.desk.background.ahead
        assert ahead is not None
        await asyncio.wait_for(asyncio.wrap_future(ahead.running), 60)  # type: ignore[arg-type]
        assert await session.will_fold
        request = await session.prepare(max_tokens=500)
        assert [fold.kind for fold in request.report.folds] == ["summary"]


def _killed_while_writing(say: Connection, path: str) -> None:
    """In a process of its own: talk until a summary is being written, say so, and never get it."""
    os.environ["CONTEXTFOLD_MAX_INPUT_TOKENS"] = "12000"
    held = Held()
    policy = cf.recipes.summary(summarizer=held).with_(background=True)
    session = cf.Session.open(path, model=MODEL, policy=policy)
    until_asked(session, held)
    say.send_bytes(b"asked")
    held.released.wait(60)


def test_a_process_killed_meanwhile_leaves_a_clean_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "12000")
    path = tmp_path / "a.db"
    context = get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_killed_while_writing, args=(there, str(path)))
    process.start()
    assert here.recv_bytes() == b"asked"
    process.kill()
    process.join()
    here.close()
    there.close()
    with cf.Session.open(path, policy=cf.recipes.summary()) as session:
        assert not session.folds
        assert session.store.verify() == []
        session.append({"role": "user", "content": "Go on."})
        assert session.prepare(max_tokens=500).body["messages"]
