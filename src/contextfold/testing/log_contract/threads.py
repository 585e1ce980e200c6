"""Threads: made once, listed, found by any name."""

# ruff: noqa: S101  # a test suite

from __future__ import annotations

import pytest

from contextfold.domain import EventLog, ThreadRow
from contextfold.errors import NotFound

from .messages import NASTY_TEXTS, appended, message


class ThreadContract:
    """What holds of threads as a whole."""

    def test_a_new_log_holds_no_thread_and_verifies(self, log: EventLog) -> None:
        assert list(log.threads()) == []
        assert log.verify() == []

    def test_a_thread_is_made_as_it_was_given(self, log: EventLog) -> None:
        row = ThreadRow("a", created=12.25, settings={"model": "m", "語": "値"})
        assert log.create(row) == row
        assert list(log.threads()) == [row]

    def test_making_a_thread_again_answers_with_the_first(self, log: EventLog) -> None:
        first = log.create(ThreadRow("a", created=1.0, settings={"model": "m"}))
        assert log.create(ThreadRow("a", created=2.0, settings={"model": "other"})) == first
        assert list(log.threads()) == [first]

    def test_threads_are_listed_in_the_order_they_were_made(self, log: EventLog) -> None:
        for name in ("b", "a", "c"):
            log.create(ThreadRow(name))
        assert [row.name for row in log.threads()] == ["b", "a", "c"]

    def test_a_thread_tells_its_newest_seq(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2")
        assert [row.last for row in log.threads()] == [2]
        assert log.create(ThreadRow("a")).last == 2

    @pytest.mark.parametrize("name", NASTY_TEXTS, ids=ascii)
    def test_any_text_is_a_name(self, log: EventLog, name: str) -> None:
        log.create(ThreadRow(name, settings={"model": name}))
        log.create(ThreadRow(name + " other"))
        appended(log, name, b"mine")
        assert [row.name for row in log.threads()] == [name, name + " other"]
        assert log.threads()[0].settings == {"model": name}
        assert log.bodies(name, [1]) == {1: b"mine"}

    def test_threads_do_not_mix(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        log.create(ThreadRow("b"))
        appended(log, "a", b"of a")
        appended(log, "b", b"of b", b"more of b")
        appended(log, "a", b"again of a")
        assert log.bodies("a", [1, 2, 3]) == {1: b"of a", 2: b"again of a"}
        assert log.bodies("b", [1, 2, 3]) == {1: b"of b", 2: b"more of b"}

    def test_a_thread_that_was_never_made_is_not_found(self, log: EventLog) -> None:
        for attempt in (
            lambda: log.append("none", [message()], expected=0),
            lambda: list(log.read("none")),
            lambda: log.bodies("none", [1]),
            lambda: log.forget("none"),
            lambda: log.forgotten("none"),
        ):
            with pytest.raises(NotFound, match="none"):
                attempt()
