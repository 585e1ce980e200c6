"""Idempotency keys: a retry never duplicates, and never drops something else."""

# ruff: noqa: S101  # a test suite

from __future__ import annotations

import pytest

from contextfold.domain import Cover, EventLog, Folded, Measured, NewEvent, Pinned, Shape, ThreadRow
from contextfold.errors import KeyConflict

from .messages import NASTY_TEXTS, appended, message


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
