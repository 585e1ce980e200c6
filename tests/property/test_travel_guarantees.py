"""Time travel as a state machine: whatever is folded, unfolded, edited, left and returned to, in any order, the view is
what a plain reading of the branch from its beginning gives, a preview is what then happens, and nothing is lost.
"""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import ClassVar

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, run_state_machine_as_test

import contextfold as cf
from contextfold.domain import Message, Text, decode
from contextfold.session import Checkpoint
from contextfold.session.export import roo_task
from contextfold.testing.nasty_wire import WRITERS
from contextfold.thread import RewindReport
from tests.conftest import SOAK
from tests.property.held import MODELS, HeldInMemory, InMemory, in_words
from tests.property.machine import Guarantees, operation, operations_of
from tests.property.reference import Said
from tests.property.roo_model import cleanup_after_truncation

LEAST = 12  # times everything is done in a run
FOUND = (Phase.explicit, Phase.reuse, Phase.generate)  # a failing run is short enough to read without being shrunk


class HeldInSession(HeldInMemory):
    """The subject, moved by the verbs of a session."""

    @property
    def session(self) -> cf.Session:
        return cf.Session.on(self.store, self.thread.name)

    def unfold(self, fold: int) -> int:
        assert self.session.unfold(fold) == ()
        return self.view.head

    def rewind(self, to: int) -> None:
        later = [seq for seq in self.thread.branch.path if seq > to]
        ways: list[dict[str, int]] = [{"after": to}, {"to": to}, *([{"before": later[0]}] if later else [])]
        self.move(**self.random.choice(ways))
        assert self.view.head == to

    def move(self, **where: int | Checkpoint) -> RewindReport:
        """What a preview says comes true, and is what is there afterwards."""
        session = self.session
        before = list(self.view), len(self.thread.events)
        foretold = session.rewind(**where, preview=True)  # type: ignore[arg-type]  # any of its ways
        assert before == (list(self.view), len(self.thread.events))
        done = session.rewind(**where)  # type: ignore[arg-type]
        assert (foretold.messages, foretold.folds, foretold.kept) == (done.messages, done.folds, done.kept)
        assert done.kept == tuple(fold.id for fold in session.folds)
        assert done.head == self.view.head
        return done

    def redo(self) -> None:
        report = self.session.redo()
        assert report.kept == tuple(fold.id for fold in self.session.folds)

    def fork(self, at: int) -> HeldInSession:
        twin = HeldInSession.__new__(HeldInSession)
        twin.__dict__.update(self.__dict__)
        twin.thread = self.session.fork(at=at, name=f"fork {next(self.forks)}").thread
        twin.raws = {seq: raw for seq, raw in self.raws.items() if seq <= at}
        return twin

    def edit(self, seq: int) -> tuple[int, Said]:
        message = Message("user", (Text(f"edited {self.random.randrange(1000)}"),))
        (wire,) = WRITERS[self.dialect](message, self.random)
        raw = json.dumps(wire).encode()
        edited = self.session.edit(seq, raw)
        self.raws[edited] = raw
        return edited, in_words("message", self.thread.message(edited))

    def check_nothing_lost(self) -> None:
        """Bytes at every step, and often the export; requests are held to their rules by the machines of stores."""
        self.check_bytes(self.random.sample(sorted(self.raws), min(len(self.raws), 3)))
        if self.random.random() < 0.2:
            api = decode(roo_task(self.session.desk).api_list())
            assert cleanup_after_truncation(api) == api
            assert len({entry["ts"] for entry in api}) == len(api)


class TravelGuarantees(Guarantees):
    fired: ClassVar[Counter[str]] = Counter()
    subject: HeldInSession

    @initialize(dialect=st.sampled_from(sorted(MODELS)), seed=st.integers(0, 2**20))
    def open(self, dialect: str, seed: int) -> None:
        self.subject = HeldInSession(InMemory(), dialect, Random(seed))

    @operation
    def edit(self, random: Random) -> None:
        seq = random.choice(self.messages())
        edited, said = self.subject.edit(seq)
        self.reference.rewind(self.reference.events[seq][0])
        self.reference.happen(edited, said)
        self.talk.is_over()

    @operation
    def delete(self, random: Random) -> None:
        seq = random.choice(self.messages())
        report = self.subject.session.delete(seq)
        assert report.messages[0] == seq
        self.reference.rewind(self.reference.events[seq][0])
        self.talk.is_over()

    @operation
    def make_a_checkpoint(self, random: Random) -> None:
        made = self.subject.session.checkpoint(f"place {random.randrange(5)}")
        assert made.head == self.reference.head

    @operation
    def return_to_a_checkpoint(self, random: Random) -> None:
        if not self.subject.session.checkpoints:
            self.make_a_checkpoint(random)
        chosen = random.choice(self.subject.session.checkpoints)
        self.subject.move(to=chosen)
        self.reference.rewind(chosen.head)
        self.talk.is_over()

    @operation
    def go_anywhere(self, random: Random) -> None:
        """To any place of any branch, left or not."""
        self.something_to_fold()
        to = random.choice(sorted(self.reference.events))
        self.subject.move(to=to)
        self.reference.rewind(to)
        self.talk.is_over()

    @operation
    def fork_from_anywhere(self, random: Random) -> None:
        self.something_to_fold()
        at = random.choice(sorted(self.reference.events))
        self.subject, self.reference = self.subject.fork(at), self.reference.fork(at)
        self.talk.is_over()


@pytest.mark.slow
def test_a_session_holds_the_guarantees_wherever_it_goes() -> None:
    TravelGuarantees.fired = Counter()
    run_state_machine_as_test(
        TravelGuarantees,
        settings=settings(max_examples=30 * SOAK, stateful_step_count=40, phases=FOUND),
    )
    rare = {name: n for name in operations_of(TravelGuarantees) if (n := TravelGuarantees.fired[name]) < LEAST}
    assert not rare, f"hardly ever done: {rare}"
