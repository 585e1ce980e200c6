"""Any number of sessions on one conversation, from as many Python threads: nothing is lost, the projection is true."""

from __future__ import annotations

import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import contextfold as cf
from contextfold.errors import CannotFit, Conflict
from tests.conftest import SOAK

MODEL, WINDOW = "claude-sonnet-4-5", 6_000
PATIENCE = 60.0  # seconds after which something hangs

step = st.sampled_from(["say", "say", "say many", "prepare", "fold", "pin", "look"])
plans = st.lists(st.lists(step, min_size=1, max_size=6), min_size=2, max_size=4)


class Speaker:
    """One session on its own Python thread, and what it was told that it had written."""

    def __init__(self, store: cf.Store, number: int, plan: list[str]) -> None:
        self.session = cf.Session.on(store, "shared", MODEL, window=WINDOW)
        self.number, self.plan = number, plan
        self.said: dict[int, str] = {}
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._speak, daemon=True)

    def _speak(self) -> None:
        try:
            for place, what in enumerate(self.plan):
                self._do(what, f"speaker {self.number} at {place}: handler_{self.number}_{place} " * 30)
        except BaseException as error:  # noqa: BLE001  # told by the test's own thread
            self.error = error

    def _do(self, what: str, words: str) -> None:
        session = self.session
        match what:
            case "say":
                self.said[session.append({"role": "user", "content": words})] = words
            case "say many":
                seqs = session.extend([{"role": "user", "content": words}, {"role": "user", "content": words}])
                self.said |= dict.fromkeys(seqs, words)
            case "pin" if self.said:
                session.thread.pin(min(self.said))
            case "prepare" | "fold":
                try:
                    session.prepare(max_tokens=100) if what == "prepare" else session.fold(to=2_000)
                except (CannotFit, Conflict):
                    return  # pins fill the window; somebody was faster
            case _:
                assert session.view.length >= 0


@pytest.mark.finding("P7")
@settings(max_examples=12 * SOAK, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plans)
def test_sessions_on_many_python_threads_share_one_conversation(plans: list[list[str]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        with cf.open(path) as store:
            store.thread("shared", model=MODEL).append({"role": "user", "content": "begin"})
            speakers = [Speaker(store, number, plan) for number, plan in enumerate(plans)]
            for speaker in speakers:
                speaker.thread.start()
            for speaker in speakers:
                speaker.thread.join(PATIENCE)
            assert not any(speaker.thread.is_alive() for speaker in speakers)
            assert [speaker.error for speaker in speakers if speaker.error is not None] == []
            said = {seq: words for speaker in speakers for seq, words in speaker.said.items()}
            assert len(said) == sum(len(speaker.said) for speaker in speakers), "no seq was given twice"
            thread = store.thread("shared")
            thread.append({"role": "user", "content": "after all of them"})
            seen = [(item.kind, item.seq) for item in thread.view.items]
            assert store.verify() == []
        with cf.open(path) as again:
            thread = again.thread("shared")
            assert [(item.kind, item.seq) for item in thread.view.items] == seen, "as it was in memory"
            assert {seq: thread.message(seq).text for seq in said} == said
