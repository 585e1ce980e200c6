"""Appending and reading back: order, bytes, conflicts, blobs.

Batches: several appends, one commit.

Idempotency keys: a retry never duplicates, and never drops something else.
"""

from __future__ import annotations

import math

import pytest

from contextfold.domain import (
    Attached,
    Checkpointed,
    Cover,
    EventLog,
    Folded,
    Logged,
    Measured,
    NewEvent,
    Pinned,
    Shape,
    ThreadRow,
    digest,
)
from contextfold.errors import BadConfiguration, BadMessage, Conflict, KeyConflict, NotFound

from .threads import NASTY_BODIES, NASTY_TEXTS, appended, blob_sent, message

# ruff: noqa: S101  # a test suite


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


# ruff: noqa: S101  # a test suite


class BatchContract:
    """Appends inside share their fate only when the block itself fails."""

    def test_what_was_appended_in_a_batch_is_there(self, log: EventLog) -> None:
        with log.batch():
            log.create(ThreadRow("a"))
            appended(log, "a", b"1")
            appended(log, "a", b"2", b"3")
        assert log.bodies("a", [1, 2, 3]) == {1: b"1", 2: b"2", 3: b"3"}
        assert log.verify() == []

    def test_a_batch_sees_what_it_wrote(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        with log.batch():
            appended(log, "a", b"1")
            assert [logged.seq for logged in log.read("a")] == [1]
            assert log.bodies("a", [1]) == {1: b"1"}

    def test_an_append_that_fails_spoils_no_other(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        with log.batch():
            log.append("a", [message(b"1", key="k")], expected=0)
            with pytest.raises(Conflict):
                log.append("a", [message(b"late")], expected=0)
            with pytest.raises(KeyConflict):
                log.append("a", [message(b"other", key="k")], expected=1)
            with pytest.raises(NotFound):
                log.append("none", [message(b"nowhere")], expected=0)
            appended(log, "a", b"2")
        assert log.bodies("a", [1, 2, 3]) == {1: b"1", 2: b"2"}
        assert log.verify() == []

    def test_nothing_is_kept_when_the_block_fails(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1")
        with pytest.raises(ZeroDivisionError):
            _append_and_fail(log)
        assert [(row.name, row.last) for row in log.threads()] == [("a", 1)]
        assert log.append("a", [message(b"another", key="k")], expected=1)[0].seq == 2
        log.create(ThreadRow("c"))
        appended(log, "c", b"of c")
        assert log.bodies("c", [1]) == {1: b"of c"}
        assert log.verify() == []

    def test_an_inner_batch_is_part_of_the_outer_one(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        with pytest.raises(ZeroDivisionError):
            _append_inside_and_fail(log)
        assert list(log.read("a")) == []

    def test_an_empty_batch_is_nothing(self, log: EventLog) -> None:
        with log.batch():
            pass
        assert log.verify() == []

    def test_forgetting_works_inside_a_batch(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        with log.batch():
            appended(log, "a", b"1", b"2")
            assert log.forget("a", [1]) == 1
            appended(log, "a", b"3")
        assert log.bodies("a", [1, 2, 3]) == {2: b"2", 3: b"3"}
        assert log.verify() == []


def _append_and_fail(log: EventLog) -> None:
    with log.batch():
        log.append("a", [message(b"2", key="k")], expected=1)
        log.create(ThreadRow("b"))
        appended(log, "b", b"of b")
        _ = 1 / 0


def _append_inside_and_fail(log: EventLog) -> None:
    with log.batch():
        with log.batch():
            appended(log, "a", b"1")
        _ = 1 / 0


# ruff: noqa: S101  # a test suite


class KeyContract:
    """Same key, same bytes: the event of then. Same key, other bytes: `KeyConflict`. Keys never expire."""

    def test_a_retry_answers_with_the_event_of_then(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        (first,) = log.append("a", [message(b"1", key="k")], expected=0)
        appended(log, "a", b"2", b"3")
        assert log.append("a", [message(b"1", key="k", at=99.0, parent=3)], expected=3) == (first,)
        assert [logged.seq for logged in log.read("a")] == [1, 2, 3]

    def test_a_retry_succeeds_whatever_it_expects(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        written = log.append("a", [message(b"1", key="k")], expected=0)
        assert log.append("a", [message(b"1", key="k")], expected=0) == written
        assert log.append("a", [message(b"1", key="k")], expected=77) == written

    def test_the_same_key_with_other_bytes_is_a_conflict(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        log.append("a", [message(b"1", key="k")], expected=0)
        with pytest.raises(KeyConflict, match="'k'"):
            log.append("a", [message(b"other", key="k")], expected=1)
        assert log.bodies("a", [1, 2]) == {1: b"1"}

    def test_the_same_key_for_another_kind_of_event_is_a_conflict(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        log.append("a", [message(b"", key="k"), NewEvent(Pinned(1), 1, 1.0, key="p")], expected=0)
        for event in (Pinned(1), Pinned(2)):
            with pytest.raises(KeyConflict):
                log.append("a", [NewEvent(event, 1, 1.0, key="k")], expected=2)
        with pytest.raises(KeyConflict):
            log.append("a", [NewEvent(Pinned(2), 1, 1.0, key="p")], expected=2)

    def test_a_fold_of_something_else_is_not_a_retry(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2")
        fold = Folded("summary", Cover(((1, 1),)), Shape("user"), before=10)
        log.append("a", [NewEvent(fold, 2, 1.0, b"{}", "k")], expected=2)
        other = Folded("summary", Cover(((1, 2),)), Shape("user"), before=10)
        with pytest.raises(KeyConflict):
            log.append("a", [NewEvent(other, 2, 1.0, b"{}", "k")], expected=3)
        counted_again = Folded("summary", Cover(((1, 1),)), Shape("user"), before=12)
        assert log.append("a", [NewEvent(counted_again, 2, 1.0, b"{}", "k")], expected=3)[0].seq == 3

    def test_keys_belong_to_their_thread(self, log: EventLog) -> None:
        for name in ("a", "b"):
            log.create(ThreadRow(name))
            log.append(name, [message(name.encode(), key="k")], expected=0)
        assert (log.bodies("a", [1]), log.bodies("b", [1])) == ({1: b"a"}, {1: b"b"})

    @pytest.mark.parametrize("key", [text for text in NASTY_TEXTS if text], ids=ascii)
    def test_any_text_is_a_key(self, log: EventLog, key: str) -> None:
        log.create(ThreadRow("a"))
        written = log.append("a", [message(b"1", key=key)], expected=0)
        assert log.append("a", [message(b"1", key=key)], expected=1) == written
        assert [logged.key for logged in log.read("a")] == [key]
        assert log.verify() == []

    def test_a_retry_of_several_answers_with_all_of_them(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"before")
        drafts = [message(b"1", key="k1"), message(b"2"), message(b"3", key="k3")]
        written = log.append("a", drafts, expected=1)
        appended(log, "a", b"after")
        assert log.append("a", drafts, expected=5) == written
        assert len(list(log.read("a"))) == 5

    def test_what_accompanied_a_message_may_differ_in_a_retry(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        written = log.append("a", [message(b"1", key="k"), NewEvent(Measured(0, "m", 5), 1, 1.0)], expected=0)
        assert log.append("a", [message(b"1", key="k"), NewEvent(Measured(0, "m", 6), 1, 1.0)], expected=2) == written
        assert log.append("a", [message(b"1", key="k")], expected=2) == written

    def test_a_message_is_never_dropped_because_of_its_neighbours_key(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        log.append("a", [message(b"1", key="k")], expected=0)
        appended(log, "a", b"2")
        with pytest.raises(KeyConflict, match="without a key"):
            log.append("a", [message(b"1", key="k"), message(b"2")], expected=2)
        with pytest.raises(KeyConflict):
            log.append("a", [message(b"1", key="k"), message(b"3", key="new")], expected=2)

    def test_one_key_twice_in_one_append_is_a_conflict(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        with pytest.raises(KeyConflict, match="twice"):
            log.append("a", [message(b"1", key="k"), message(b"1", key="k")], expected=0)
        assert list(log.read("a")) == []

    def test_a_retry_does_not_bring_back_what_was_forgotten(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        log.append("a", [message(b"secret", key="k")], expected=0)
        log.forget("a", [1])
        assert [each.seq for each in log.append("a", [message(b"secret", key="k")], expected=1)] == [1]
        assert log.bodies("a", [1]) == {}

    def test_keys_are_found_again_in_one_look(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        log.create(ThreadRow("b"))
        log.append("a", [message(b"1", key="k1"), message(b"2"), message(b"3", key="k3")], expected=0)
        log.append("b", [message(b"1", key="other")], expected=0)
        assert log.keyed("a", ["k3", "unknown", "k1", "other"]) == {"k1": 1, "k3": 3}
        assert log.keyed("a", []) == {}

    def test_the_key_of_a_forgotten_message_is_found(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        log.append("a", [message(b"secret", key="k")], expected=0)
        log.forget("a", [1])
        assert log.keyed("a", ["k"]) == {"k": 1}

    @pytest.mark.parametrize("key", [text for text in NASTY_TEXTS if text], ids=ascii)
    def test_any_key_is_found_again(self, log: EventLog, key: str) -> None:
        log.create(ThreadRow("a"))
        log.append("a", [message(b"1", key=key)], expected=0)
        assert log.keyed("a", [key]) == {key: 1}
