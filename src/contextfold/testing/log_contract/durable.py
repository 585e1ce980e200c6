"""What a log that outlives its object must do beside the contract: come back as it was, and be shared.

Forgetting: bodies go for good, everything else still verifies.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from contextfold.domain import EventLog, NewEvent, Origin, Pinned, ThreadRow, digest
from contextfold.errors import Conflict, NotFound
from contextfold.logs import SealedLog

from .threads import appended, blob_sent, message

# ruff: noqa: S101  # a test suite


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

    def test_a_heartbeat_is_a_write_that_says_nothing(self, log: EventLog, reopen: Callable[[], EventLog]) -> None:
        log.heartbeat()
        log.create(ThreadRow("a"))
        appended(log, "a", b"1")
        changes = list(log.changes())
        log.heartbeat(room=1 << 16)
        with log.batch():
            log.heartbeat()
            appended(log, "a", b"2")
        again = reopen()
        assert [row.name for row in again.threads()] == ["a"]
        assert again.bodies("a", [1, 2]) == {1: b"1", 2: b"2"}
        assert len(list(again.changes())) == len(changes) + 1
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


# ruff: noqa: S101  # a test suite


class ForgettingContract:
    """A forgotten event keeps its place, its outline and its commitment."""

    def test_a_forgotten_body_is_gone_and_the_rest_verifies(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"secret", b"3")
        assert log.forget("a", [2]) == 1
        assert log.bodies("a", [1, 2, 3]) == {1: b"1", 3: b"3"}
        assert log.forgotten("a") == [2]
        assert [logged.seq for logged in log.read("a")] == [1, 2, 3]
        assert log.verify() == []

    def test_a_whole_thread_can_be_forgotten(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        log.create(ThreadRow("b"))
        appended(log, "a", b"1", b"x" * 9000)
        appended(log, "b", b"x" * 9000)
        assert log.forget("a") == 2
        assert log.bodies("a", [1, 2]) == {}
        assert log.bodies("b", [1]) == {1: b"x" * 9000}
        assert log.verify() == []

    def test_forgetting_again_erases_nothing_more(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2")
        assert log.forget("a", [2, 2]) == 1
        assert log.forget("a", [2]) == 0
        assert log.forget("a") == 1

    def test_an_event_that_says_nothing_has_nothing_to_forget(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        log.append("a", [NewEvent(Pinned(1), 0, 1.0)], expected=0)
        assert log.forget("a") == 0
        assert log.forgotten("a") == []

    def test_the_thread_goes_on_after_forgetting(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1")
        log.forget("a")
        appended(log, "a", b"2")
        assert log.bodies("a", [1, 2]) == {2: b"2"}
        assert log.verify() == []

    def test_equal_bytes_elsewhere_stay(self, log: EventLog) -> None:
        large = b"same" * 2000
        log.create(ThreadRow("a"))
        appended(log, "a", large, b"small", large, b"small")
        log.forget("a", [1, 2])
        assert log.bodies("a", [1, 2, 3, 4]) == {3: large, 4: b"small"}
        log.forget("a", [3])
        assert log.bodies("a", [3, 4]) == {4: b"small"}
        appended(log, "a", large)
        assert log.bodies("a", [5]) == {5: large}
        assert log.verify() == []

    def test_a_blob_goes_with_the_last_event_that_names_it(self, log: EventLog) -> None:
        system = b"the key is 1234"
        log.create(ThreadRow("a"))
        log.append("a", [blob_sent(system=system)], expected=0, blobs=[system])
        log.append("a", [blob_sent(system=system, parent=1)], expected=1, blobs=[system])
        assert log.forget("a", [1]) == 1
        assert log.blob(digest(system)) == system
        assert log.forget("a", [2]) == 1
        with pytest.raises(NotFound):
            log.blob(digest(system))
        assert log.verify() == []

    def test_a_body_that_an_event_also_names_as_a_blob_stays_for_it(self, log: EventLog) -> None:
        system = b"long system prompt " * 500
        log.create(ThreadRow("a"))
        log.append("a", [message(system), blob_sent(system=system, parent=1)], expected=0, blobs=[system])
        log.forget("a", [1])
        assert log.blob(digest(system)) == system
        assert log.verify() == []

    def test_only_a_threads_own_events_can_be_forgotten_there(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2")
        log.create(ThreadRow("b", origin=Origin("a", 2)))
        appended(log, "b", b"3")
        for thread, seq in (("b", 2), ("b", 4), ("a", 0), ("a", 3)):
            with pytest.raises(NotFound, match=str(seq)):
                log.forget(thread, [seq])
        assert log.forget("b") == 1
        assert log.bodies("a", [1, 2]) == {1: b"1", 2: b"2"}

    def test_no_salt_is_left_to_guess_with(self, log: SealedLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"yes")
        before = next(log.sealed("a"))
        log.forget("a")
        after = next(log.sealed("a"))
        assert (after.salt, after.body, after.link) == (b"", None, before.link)
        assert len(after.committed) == 32

    def test_equal_bodies_do_not_look_equal_in_the_chain(self, log: SealedLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"yes", b"yes")
        log.forget("a")
        first, second = log.sealed("a")
        assert first.committed != second.committed
