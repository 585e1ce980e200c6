"""Appending and reading back: order, bytes, conflicts, blobs."""

# ruff: noqa: S101  # a test suite

from __future__ import annotations

import math

import pytest

from contextfold.domain import Attached, Checkpointed, EventLog, Logged, NewEvent, Pinned, Shape, ThreadRow, digest
from contextfold.errors import BadConfiguration, BadMessage, Conflict, NotFound

from .messages import NASTY_BODIES, appended, blob_sent, message


class AppendingContract:
    """What was appended can be read back, byte for byte, in order."""

    def test_events_are_numbered_from_one(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        first = log.append("a", [message(b"1"), message(b"2", parent=1)], expected=0)
        second = log.append("a", [message(b"3", parent=2)], expected=2)
        assert [logged.seq for logged in (*first, *second)] == [1, 2, 3]

    def test_an_event_is_read_as_it_was_written(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        drafts = [
            NewEvent(Attached("file", Shape("user"), {"path": "ä", "n": 1, "x": 1.5, "is": True}), 0, 1e9, b"b", "k"),
            NewEvent(Pinned(1), 1, -0.125),
        ]
        written = log.append("a", drafts, expected=0)
        assert written == tuple(
            Logged(seq, draft.parent, draft.at, draft.event, draft.key) for seq, draft in enumerate(drafts, 1)
        )
        assert tuple(log.read("a")) == written

    def test_a_time_given_as_a_whole_number_still_verifies(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        log.append("a", [message(b"1", at=3)], expected=0)
        assert log.verify() == []

    @pytest.mark.parametrize("at", [math.nan, math.inf, -math.inf])
    def test_a_time_that_is_no_number_is_refused(self, log: EventLog, at: float) -> None:
        log.create(ThreadRow("a"))
        with pytest.raises(BadConfiguration, match="time"):
            log.append("a", [message(b"1"), message(b"2", at=at)], expected=0)
        assert list(log.read("a")) == []

    def test_an_event_that_has_no_utf8_is_refused(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        with pytest.raises(BadMessage, match="UTF-8"):
            log.append("a", [message(b"1"), NewEvent(Checkpointed("lone \ud800", 1), 1, 1.0)], expected=0)
        assert list(log.read("a")) == []

    @pytest.mark.parametrize("body", NASTY_BODIES, ids=lambda body: f"{len(body)} bytes")
    def test_bodies_come_back_byte_for_byte(self, log: EventLog, body: bytes) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", body, b"next", body)
        assert log.bodies("a", [1, 2, 3]) == {1: body, 2: b"next", 3: body}
        assert log.verify() == []

    def test_an_event_without_a_body_has_an_empty_one(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        log.append("a", [NewEvent(Pinned(1), 0, 1.0)], expected=0)
        assert log.bodies("a", [1]) == {1: b""}

    def test_bodies_that_do_not_exist_are_missing(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2", b"3", b"4")
        assert log.bodies("a", [4, 2, 9, 0, -1, 2]) == {2: b"2", 4: b"4"}
        assert log.bodies("a", []) == {}

    def test_reading_can_begin_and_end_anywhere(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", *(b"x" for _ in range(10)))
        assert [logged.seq for logged in log.read("a", after=3, upto=6)] == [4, 5, 6]
        assert [logged.seq for logged in log.read("a", after=8)] == [9, 10]
        assert [logged.seq for logged in log.read("a", upto=2)] == [1, 2]
        assert [logged.seq for logged in log.read("a", after=10)] == []
        assert [logged.seq for logged in log.read("a", after=5, upto=4)] == []

    def test_a_long_thread_is_read_in_order(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", *(b"%d" % number for number in range(1, 9001)))
        assert [logged.seq for logged in log.read("a")] == list(range(1, 9001))
        assert list(log.bodies("a", range(1, 9001)).values()) == [b"%d" % number for number in range(1, 9001)]

    def test_a_reader_that_stops_halfway_holds_nobody_up(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2", b"3")
        reading = log.read("a")
        assert next(reading).seq == 1
        appended(log, "a", b"4")
        assert log.forget("a", [1]) == 1
        assert [logged.seq for logged in log.read("a")] == [1, 2, 3, 4]

    def test_appending_after_another_seq_than_the_last_is_a_conflict(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2")
        for expected in (0, 1, 3):
            with pytest.raises(Conflict) as caught:
                log.append("a", [message(b"lost?")], expected=expected)
            assert (caught.value.expected, caught.value.actual) == (expected, 2)
        assert log.bodies("a", [1, 2, 3]) == {1: b"1", 2: b"2"}

    def test_appending_nothing_writes_nothing(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        assert log.append("a", [], expected=0) == ()
        assert list(log.read("a")) == []

    def test_a_blob_is_kept_under_its_digest(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        system, tools = b"You are " * 900, b"[]"
        log.append("a", [blob_sent(system=system)], expected=0, blobs=[system, tools, system])
        assert (log.blob(digest(system)), log.blob(digest(tools))) == (system, tools)

    @pytest.mark.parametrize("name", ["", "0" * 64, "../../etc/passwd", "F" * 64, "zz", "é" * 64])
    def test_a_blob_that_was_never_kept_is_not_found(self, log: EventLog, name: str) -> None:
        with pytest.raises(NotFound):
            log.blob(name)

    def test_our_own_writing_leaves_the_log_current(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1")
        assert log.is_current()
        assert log.is_current()
