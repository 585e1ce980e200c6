"""Batches: several appends, one commit."""

# ruff: noqa: S101  # a test suite

from __future__ import annotations

import pytest

from contextfold.domain import EventLog, ThreadRow
from contextfold.errors import Conflict, KeyConflict, NotFound

from .messages import appended, message


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
