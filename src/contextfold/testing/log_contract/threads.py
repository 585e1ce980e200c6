"""Threads, made once, listed, found by any name; forks that share the beginning of another; copies, links included.

The drafts that all tests of a log write with stand here too: as small as events can be, with whatever body a test
needs.
"""

from __future__ import annotations

import msgspec
import pytest

from contextfold.domain import GENESIS, Appended, EventLog, Logged, NewEvent, Origin, Sent, Shape, ThreadRow, digest
from contextfold.errors import Conflict, Corrupt, NotFound
from contextfold.logs import SealedLog

NASTY_TEXTS = ("", "plain", "名前", "a\x00b", "lone \ud800 surrogate", "\udfff", "' OR 1=1 --", "x" * 5000, "\r\n\t")
NASTY_BODIES = (
    b"{}",
    bytes(range(256)),
    b"\x00" * 40,
    b"\xff\xfe not text",
    '{"text": "日本語 🙂"}'.encode(),
    b'{"lone": "\\ud800"}',
    b"x" * 4096,
    b"y" * 4097,
    b"z" * 1_000_000,
)


def message(body: bytes = b"{}", *, parent: int = 0, key: str = "", at: float = 1.5) -> NewEvent:
    """Somebody spoke."""
    return NewEvent(Appended(Shape("user", (), len(body)), "anthropic"), parent, at, body, key)


def blob_sent(*, system: bytes, parent: int = 0) -> NewEvent:
    """A request that names a blob and has no body of its own."""
    return NewEvent(Sent(parent, "model", "anthropic", 7, system=digest(system)), parent, 1.5)


def appended(log: EventLog, thread: str, *bodies: bytes, key: str = "") -> tuple[Logged, ...]:
    """Messages added at the end of the thread, whatever its end is."""
    row = log.row(thread)
    last = 0 if row is None else row.last
    drafts = [message(body, parent=last + step, key=key) for step, body in enumerate(bodies)]
    return log.append(thread, drafts, expected=last)


# ruff: noqa: S101  # a test suite


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


# ruff: noqa: S101  # a test suite


class ForkContract:
    """A fork goes on where its origin was, with seqs and a chain of its own."""

    def test_a_fork_goes_on_after_its_origin(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2", b"3")
        row = log.create(ThreadRow("b", origin=Origin("a", 2)))
        assert (row.last, row.origin) == (2, Origin("a", 2))
        assert [logged.seq for logged in appended(log, "b", b"b3", b"b4")] == [3, 4]
        assert [logged.seq for logged in log.read("b")] == [3, 4]
        assert log.bodies("b", [1, 2, 3, 4]) == {3: b"b3", 4: b"b4"}
        assert log.bodies("a", [3]) == {3: b"3"}
        assert log.verify() == []

    def test_a_fork_can_be_made_of_nothing(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        log.create(ThreadRow("b", origin=Origin("a", 0)))
        assert appended(log, "b", b"first")[0].seq == 1
        assert log.verify() == []

    def test_forks_of_forks_may_begin_before_their_origin_does(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2", b"3", b"4")
        log.create(ThreadRow("b", origin=Origin("a", 3)))
        appended(log, "b", b"b4", b"b5")
        log.create(ThreadRow("c", origin=Origin("b", 5)))
        log.create(ThreadRow("d", origin=Origin("c", 2)))
        assert appended(log, "c", b"c6")[0].seq == 6
        assert appended(log, "d", b"d3")[0].seq == 3
        assert log.verify() == []

    @pytest.mark.parametrize("seq", [-1, 3, 99])
    def test_a_fork_needs_a_place_that_exists(self, log: EventLog, seq: int) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2")
        with pytest.raises(NotFound, match="fork"):
            log.create(ThreadRow("b", origin=Origin("a", seq)))
        with pytest.raises(NotFound, match="none"):
            log.create(ThreadRow("b", origin=Origin("none", 0)))
        assert [row.name for row in log.threads()] == ["a"]

    def test_links_follow_the_lineage(self, log: SealedLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2")
        log.create(ThreadRow("b", origin=Origin("a", 1)))
        appended(log, "b", b"b2")
        assert log.link_at("b", 0) == log.link_at("a", 0) == GENESIS
        assert log.link_at("b", 1) == log.link_at("a", 1)
        assert log.link_at("b", 2) != log.link_at("a", 2)

    def test_a_restored_thread_has_the_same_links(self, log: SealedLog) -> None:
        system = b"be brief"
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"secret", b"x" * 5000, key="")
        log.append("a", [blob_sent(system=system, parent=3), message(b"5", key="k")], expected=3, blobs=[system])
        log.forget("a", [2])
        entries = list(log.sealed("a"))
        row = log.restore(ThreadRow("copy", created=4.0), [system, *entries])
        assert (row.name, row.last, row.created) == ("copy", 5, 4.0)
        assert [entry.link for entry in log.sealed("copy")] == [entry.link for entry in entries]
        assert log.bodies("copy", range(1, 6)) == log.bodies("a", range(1, 6))
        assert log.forgotten("copy") == [2]
        assert log.append("copy", [message(b"5", key="k")], expected=0)[0].seq == 5
        assert log.blob(digest(system)) == system
        assert log.forget("copy", [1, 3]) == 2
        assert log.verify() == []

    def test_a_restored_thread_goes_on_where_it_ended(self, log: SealedLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2", b"3", b"4")
        entries = list(log.sealed("a"))
        log.restore(ThreadRow("copy"), entries[:2])
        for wrong in ([entries[3]], [msgspec.structs.replace(entries[2], body=b"another")]):
            with pytest.raises((Conflict, Corrupt)):
                log.resume("copy", [b"a blob", *wrong])
            assert log.row("copy").last == 2  # type: ignore[union-attr]
        with pytest.raises(Conflict):
            log.resume("copy", [entries[2], entries[2]])
        log.resume("copy", entries[2:])
        assert [entry.link for entry in log.sealed("copy")] == [entry.link for entry in entries]
        assert [logged.seq for logged in appended(log, "copy", b"5")] == [5]
        assert log.verify() == []

    def test_a_name_that_is_taken_cannot_be_restored_to(self, log: SealedLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1")
        with pytest.raises(Conflict, match="already"):
            log.restore(ThreadRow("a"), [])
        assert [row.last for row in log.threads()] == [1]

    def test_restoring_is_all_or_nothing(self, log: SealedLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2")
        half = (entry if entry.seq == 1 else 1 / 0 for entry in log.sealed("a"))
        with pytest.raises(ZeroDivisionError):
            log.restore(ThreadRow("copy"), half)  # type: ignore[arg-type]  # it never gets that far
        assert [row.name for row in log.threads()] == ["a"]
        assert log.verify() == []
