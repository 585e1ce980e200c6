"""What a log that outlives its object must do beside the contract: come back as it was, and be shared."""

# ruff: noqa: S101  # a test suite

from __future__ import annotations

from collections.abc import Callable

import pytest

from contextfold.domain import EventLog, Origin, ThreadRow, digest
from contextfold.errors import Conflict

from .messages import appended, blob_sent, message


class DurableLogContract:
    """`reopen` opens the log of the `log` fixture once more, beside it or after it was closed."""

    def test_everything_is_there_after_reopening(self, log: EventLog, reopen: Callable[[], EventLog]) -> None:
        log.create(ThreadRow("a", created=2.0, settings={"model": "m"}))
        appended(log, "a", b"1", b"2" * 5000, b"3", key="")
        log.append("a", [blob_sent(system=b"s", parent=3), message(b"5", key="k")], expected=3, blobs=[b"s"])
        log.create(ThreadRow("b", origin=Origin("a", 2)))
        appended(log, "b", b"b3")
        log.forget("a", [1])
        rows, events = list(log.threads()), [list(log.read(name)) for name in ("a", "b")]
        log.close()
        again = reopen()
        assert (list(again.threads()), [list(again.read(name)) for name in ("a", "b")]) == (rows, events)
        assert again.bodies("a", range(1, 6)) == {2: b"2" * 5000, 3: b"3", 4: b"", 5: b"5"}
        assert (again.blob(digest(b"s")), again.forgotten("a")) == (b"s", [1])
        assert again.append("a", [message(b"5", key="k")], expected=0)[-1].seq == 5
        assert again.verify() == []

    def test_two_see_what_the_other_wrote(self, log: EventLog, reopen: Callable[[], EventLog]) -> None:
        log.create(ThreadRow("a"))
        other = reopen()
        assert other.is_current()
        appended(log, "a", b"1")
        assert not other.is_current()
        assert other.is_current()
        assert other.bodies("a", [1]) == {1: b"1"}
        appended(other, "a", b"2")
        assert other.is_current()
        assert not log.is_current()
        assert [logged.seq for logged in log.read("a", after=1)] == [2]

    def test_two_writers_cannot_append_after_the_same_event(
        self, log: EventLog, reopen: Callable[[], EventLog]
    ) -> None:
        log.create(ThreadRow("a"))
        other = reopen()
        appended(log, "a", b"1")
        with pytest.raises(Conflict) as caught:
            other.append("a", [message(b"too late")], expected=0)
        assert (caught.value.expected, caught.value.actual) == (0, 1)
        assert other.append("a", [message(b"2", parent=1)], expected=1)[0].seq == 2
        assert log.verify() == other.verify() == []

    def test_two_create_one_thread(self, log: EventLog, reopen: Callable[[], EventLog]) -> None:
        other = reopen()
        first = log.create(ThreadRow("a", created=1.0))
        assert other.create(ThreadRow("a", created=2.0)) == first
        appended(other, "a", b"1")
        assert log.bodies("a", [1]) == {1: b"1"}

    def test_a_batch_is_not_seen_before_it_ends(self, log: EventLog, reopen: Callable[[], EventLog]) -> None:
        log.create(ThreadRow("a"))
        other = reopen()
        with log.batch():
            appended(log, "a", b"1")
            assert list(other.read("a")) == []
        assert [logged.seq for logged in other.read("a")] == [1]

    def test_a_key_used_by_one_is_known_to_the_other(self, log: EventLog, reopen: Callable[[], EventLog]) -> None:
        log.create(ThreadRow("a"))
        other = reopen()
        written = log.append("a", [message(b"1", key="k")], expected=0)
        assert other.append("a", [message(b"1", key="k")], expected=0) == written
