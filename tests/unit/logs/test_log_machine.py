"""Any sequence of operations leaves every log with what a plain list would hold."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from contextfold.domain import Origin, ThreadRow
from contextfold.errors import Conflict, KeyConflict, NotFound
from contextfold.logs import MemoryLog, SealedLog, export_lines, import_lines, open_sqlite
from contextfold.testing.log_contract import message
from tests.crash.disk import UNSYNCED


@dataclass
class Expected:
    """One thread as a list: what was said after `start`, None where it was forgotten."""

    start: int = 0
    bodies: list[bytes | None] = field(default_factory=list)
    keys: dict[str, tuple[int, bytes]] = field(default_factory=dict)

    @property
    def last(self) -> int:
        return self.start + len(self.bodies)

    def kept(self) -> dict[int, bytes]:
        return {seq: body for seq, body in enumerate(self.bodies, self.start + 1) if body is not None}


bodies = st.sampled_from([b"a", b"bc" * 300, b"d" * 4097, b"e" * 20_000, bytes(range(256))])
keys = st.sampled_from(["k1", "k2", "\ud800"])


class LogMachine(RuleBasedStateMachine):
    threads: Bundle[str] = Bundle("threads")

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.model: dict[str, Expected] = {}
        self.memory = MemoryLog()
        self.files = [self._open_file(), self._open_file()]

    def _open_file(self) -> SealedLog:
        return open_sqlite(self.folder / "store.db", vfs=UNSYNCED.name)

    @property
    def logs(self) -> list[SealedLog]:
        """One in memory, and one of the two that share a file, in turn."""
        self.files.reverse()
        return [self.memory, self.files[0]]

    @rule(target=threads)
    def create(self) -> str:
        name = f"t{len(self.model)}"
        for log in self.logs:
            assert log.create(ThreadRow(name)).last == 0
        self.model[name] = Expected()
        return name

    @rule(target=threads, origin=threads, back=st.integers(0, 5))
    def fork(self, origin: str, back: int) -> str:
        name, seq = f"t{len(self.model)}", max(0, self.model[origin].last - back)
        for log in self.logs:
            assert log.create(ThreadRow(name, origin=Origin(origin, seq))).last == seq
        self.model[name] = Expected(seq)
        return name

    @rule(thread=threads, said=st.lists(bodies, min_size=1, max_size=3))
    def append(self, thread: str, said: list[bytes]) -> None:
        expected = self.model[thread]
        drafts = [message(body, parent=expected.last + step) for step, body in enumerate(said)]
        for log in self.logs:
            written = log.append(thread, drafts, expected=expected.last)
            assert [logged.seq for logged in written] == [expected.last + 1 + step for step in range(len(said))]
        expected.bodies += said

    @rule(thread=threads, body=bodies, key=keys)
    def append_with_key(self, thread: str, body: bytes, key: str) -> None:
        expected = self.model[thread]
        for log in self.logs:
            if key not in expected.keys:
                (logged,) = log.append(thread, [message(body, parent=expected.last, key=key)], expected=expected.last)
                assert logged.seq == expected.last + 1
            elif expected.keys[key][1] == body or expected.keys[key][0] not in expected.kept():
                (logged,) = log.append(thread, [message(body, key=key)], expected=0)
                assert logged.seq == expected.keys[key][0]
            else:
                with pytest.raises(KeyConflict):
                    log.append(thread, [message(body, key=key)], expected=expected.last)
        if key not in expected.keys:
            expected.bodies.append(body)
            expected.keys[key] = (expected.last, body)

    @rule(thread=threads, off=st.sampled_from([-1, 1, 7]))
    def append_elsewhere(self, thread: str, off: int) -> None:
        for log in self.logs:
            with pytest.raises(Conflict) as caught:
                log.append(thread, [message(b"x")], expected=self.model[thread].last + off)
            assert caught.value.actual == self.model[thread].last

    @rule(thread=threads, other=threads, body=bodies, fails=st.booleans())
    def batch(self, thread: str, other: str, body: bytes, fails: bool) -> None:
        before = {name: list(self.model[name].bodies) for name in (thread, other)}
        for log in self.logs:
            for name, kept in before.items():
                self.model[name].bodies[:] = kept
            try:
                self._append_in_batch(log, (thread, other), body, fails)
            except ZeroDivisionError:
                assert fails
        if fails:
            for name, kept in before.items():
                self.model[name].bodies[:] = kept

    def _append_in_batch(self, log: SealedLog, names: tuple[str, str], body: bytes, fails: bool) -> None:
        with log.batch():
            for name in names:
                expected = self.model[name]
                log.append(name, [message(body, parent=expected.last)], expected=expected.last)
                expected.bodies.append(body)
                with pytest.raises(Conflict):
                    log.append(name, [message(b"late")], expected=expected.last - 1)
            _ = 1 / (0 if fails else 1)

    @rule(thread=threads, data=st.data())
    def forget(self, thread: str, data: st.DataObject) -> None:
        expected = self.model[thread]
        kept = expected.kept()
        seqs = data.draw(st.none() | st.lists(st.sampled_from(sorted(kept)), max_size=3)) if kept else None
        named = set(kept if seqs is None else seqs)
        for log in self.logs:
            assert log.forget(thread, seqs) == len(named)
            with pytest.raises(NotFound):
                log.forget(thread, [expected.last + 1])
        for seq in named:
            expected.bodies[seq - expected.start - 1] = None

    @rule(target=threads, thread=threads)
    def copy(self, thread: str) -> str:
        """Through lines of JSON, from memory into the file and from the file into memory."""
        name, source = f"t{len(self.model)}", self.model[thread]
        lines = [list(export_lines(log, thread)) for log in self.logs]
        for log, given in zip(self.logs, reversed(lines), strict=True):
            assert import_lines(log, given, name) == name
        flat = dict(self._lineage(thread))
        self.model[name] = Expected(0, [flat.get(seq) for seq in range(1, source.last + 1)])
        self.model[name].keys = self._inherited_keys(thread)
        return name

    def _lineage(self, thread: str) -> list[tuple[int, bytes]]:
        row = next(row for row in self.memory.threads() if row.name == thread)
        own = list(self.model[thread].kept().items())
        if row.origin is None:
            return own
        return [(seq, body) for seq, body in self._lineage(row.origin.thread) if seq <= row.origin.seq] + own

    def _inherited_keys(self, thread: str) -> dict[str, tuple[int, bytes]]:
        row = next(row for row in self.memory.threads() if row.name == thread)
        found = {} if row.origin is None else self._inherited_keys(row.origin.thread)
        found = {key: place for key, place in found.items() if row.origin and place[0] <= row.origin.seq}
        return found | self.model[thread].keys

    @rule()
    def reopen(self) -> None:
        self.files[0].close()
        self.files[0] = self._open_file()

    @invariant()
    def every_log_holds_what_a_list_would(self) -> None:
        if not hasattr(self, "model"):
            return
        for log in self.logs:
            assert {row.name: row.last for row in log.threads()} == {name: t.last for name, t in self.model.items()}
            for name, expected in self.model.items():
                assert log.bodies(name, range(1, expected.last + 1)) == expected.kept()

    def teardown(self) -> None:
        if hasattr(self, "model"):
            assert (self.memory.verify(), *(file.verify() for file in self.files)) == ([], [], [])
            for file in self.files:
                file.close()
            shutil.rmtree(self.folder)


def test_any_sequence_of_operations_leaves_postgresql_with_what_a_list_would_hold(postgres_tables: str) -> None:
    from contextfold.logs.postgres import open_postgres  # noqa: PLC0415  # an extra

    class ServerMachine(LogMachine):
        """Two gateways in one space of a server; every example has a space of its own."""

        def _open_file(self) -> SealedLog:
            return open_postgres(postgres_tables, space=self.folder.name)

    examples = 3 * int(os.environ.get("CONTEXTFOLD_SOAK", "1"))
    few = settings(max_examples=examples, stateful_step_count=15, deadline=None)
    run_state_machine_as_test(ServerMachine, settings=few)


TestLogMachine = pytest.mark.slow(LogMachine.TestCase)
TestLogMachine.settings = settings(max_examples=40, stateful_step_count=30)
