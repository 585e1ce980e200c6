"""Lists of threads in pages, names that change, threads that are put away, and what happened since."""

from __future__ import annotations

import pytest

from contextfold.domain import (
    Cover,
    EventLog,
    Folded,
    NewEvent,
    Origin,
    Pinned,
    Shape,
    ThreadOrder,
    ThreadPage,
    ThreadRow,
)
from contextfold.errors import BadConfiguration, Conflict, NotFound
from contextfold.logs import SealedLog

from .threads import NASTY_TEXTS, appended, message

# ruff: noqa: S101  # a test suite


ORDERS: tuple[ThreadOrder, ...] = ("created", "activity", "name")


def titles(log: EventLog, order: ThreadOrder = "name", **page: object) -> list[str]:
    return [row.title for row in log.page(ThreadPage(order, **page))]  # type: ignore[arg-type]  # as a test says it


def much_that_fails(log: EventLog) -> None:
    log.create(ThreadRow("b"))
    appended(log, "a", b"2")
    appended(log, "b", b"1")
    log.rename("a", "c")
    log.archive("a", True)
    raise ZeroDivisionError


class ListingContract:
    """What holds of lists and of the feed."""

    def test_a_thread_is_found_by_its_name_alone(self, log: EventLog) -> None:
        log.create(ThreadRow("a", created=2.0, settings={"model": "m"}))
        log.create(ThreadRow("b"))
        appended(log, "a", b"1")
        assert log.row("a") == ThreadRow("a", 1, None, 2.0, {"model": "m"})
        assert log.row("none") is None

    def test_a_row_tells_what_a_list_shows(self, log: EventLog) -> None:
        log.create(ThreadRow("a", created=1.0, settings={"model": "m"}))
        fold = NewEvent(Folded("window", Cover(((1, 1),)), Shape("user")), 2, 7.5, b"gone")
        log.append("a", [message(b"12345"), message(b"678"), fold, NewEvent(Pinned(2), 3, 9.25)], expected=0)
        (row,) = log.page(ThreadPage())
        assert (row.title, row.model, row.last, row.created, row.at) == ("a", "m", 4, 1.0, 9.25)
        assert (row.messages, row.folds, row.size) == (2, 1, 12)
        assert not row.is_archived
        assert not row.is_forgotten

    def test_an_empty_thread_was_last_active_when_it_was_made(self, log: EventLog) -> None:
        log.create(ThreadRow("a", created=3.5))
        assert [(row.at, row.messages) for row in log.page(ThreadPage("activity"))] == [(3.5, 0)]

    def test_a_fork_counts_what_is_its_own(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2")
        log.create(ThreadRow("b", origin=Origin("a", 2)))
        appended(log, "b", b"333")
        row = log.page(ThreadPage("activity"))[0]
        assert (row.name, row.origin, row.last, row.messages, row.size) == ("b", Origin("a", 2), 3, 1, 3)

    def test_the_newest_activity_comes_first(self, log: EventLog) -> None:
        for name in ("a", "b", "c"):
            log.create(ThreadRow(name))
        appended(log, "a", b"1")
        log.append("b", [NewEvent(Pinned(1), 0, 1.5)], expected=0)
        assert titles(log, "activity") == ["b", "a", "c"]
        assert titles(log, "created") == ["a", "b", "c"]

    @pytest.mark.parametrize("order", ["activity", "name"])
    def test_pages_hold_every_thread_once(self, log: EventLog, order: ThreadOrder) -> None:
        names = [f"t{number:02}" for number in range(23)]
        for name in names:
            log.create(ThreadRow(name))
        log.archive("t07", True)
        found, after = [], None
        while page := log.page(ThreadPage(order, after, 5)):
            found += [row.title for row in page]
            after = page[-1].changed if order == "activity" else page[-1].title
        assert found == (names if order == "name" else names[::-1])

    def test_pages_by_activity_never_show_a_thread_twice_while_others_write(self, log: EventLog) -> None:
        for number in range(12):
            log.create(ThreadRow(f"t{number:02}"))
        first = log.page(ThreadPage("activity", limit=4))
        appended(log, "t00", b"moves to the front")
        rest = log.page(ThreadPage("activity", first[-1].changed))
        assert [row.title for row in (*first, *rest)] == [f"t{number:02}" for number in range(11, 0, -1)]
        assert [change.thread for change in log.changes(after=first[0].changed)] == ["t00"]

    @pytest.mark.parametrize("order", ORDERS)
    def test_a_prefix_picks_the_names_that_begin_with_it(self, log: EventLog, order: ThreadOrder) -> None:
        for name in ("a", "ab", "abc", "b", "日本", "日記"):
            log.create(ThreadRow(name))
        assert sorted(titles(log, order, prefix="ab")) == ["ab", "abc"]
        assert sorted(titles(log, order, prefix="日")) == ["日本", "日記"]
        assert titles(log, order, prefix="zz") == []

    @pytest.mark.parametrize("order", ORDERS)
    def test_any_name_can_be_listed(self, log: EventLog, order: ThreadOrder) -> None:
        for name in NASTY_TEXTS:
            log.create(ThreadRow(name))
        assert sorted(titles(log, order)) == sorted(NASTY_TEXTS)

    def test_names_go_by_their_bytes(self, log: EventLog) -> None:
        for name in NASTY_TEXTS:
            log.create(ThreadRow(name))
        assert titles(log) == sorted(NASTY_TEXTS, key=lambda name: name.encode("utf-8", "surrogatepass"))
        assert titles(log, after="", limit=1) == titles(log)[1:2]

    @pytest.mark.parametrize(("order", "after"), [("created", "a"), ("created", 1), ("name", 1), ("activity", "a")])
    def test_a_place_that_does_not_fit_the_order_is_refused(
        self, log: EventLog, order: ThreadOrder, after: str | int
    ) -> None:
        log.create(ThreadRow("a"))
        with pytest.raises(BadConfiguration, match="cannot go on after"):
            log.page(ThreadPage(order, after))

    @pytest.mark.parametrize("order", ORDERS)
    def test_what_is_put_away_can_be_left_out_or_asked_for(self, log: EventLog, order: ThreadOrder) -> None:
        for name in ("a", "b"):
            log.create(ThreadRow(name))
        log.archive("a", True)
        assert titles(log, order, archived=False) == ["b"]
        assert titles(log, order, archived=True) == ["a"]
        assert sorted(titles(log, order)) == ["a", "b"]
        log.archive("a", False)
        assert sorted(titles(log, order, archived=False)) == ["a", "b"]

    def test_a_renamed_thread_is_found_by_all_its_names(self, log: EventLog) -> None:
        log.create(ThreadRow("old"))
        appended(log, "old", b"1")
        log.rename("old", "new")
        row = log.row("new")
        assert row is not None
        assert (row.name, row.alias, row.title) == ("old", "new", "new")
        assert log.row("old") == row == log.create(ThreadRow("new")) == log.create(ThreadRow("old"))
        appended(log, "new", b"2")
        assert log.bodies("old", [1, 2]) == {1: b"1", 2: b"2"}
        assert titles(log) == ["new"]
        assert titles(log, prefix="ol") == []
        assert log.verify() == []

    def test_a_thread_can_have_its_first_name_back(self, log: EventLog) -> None:
        log.create(ThreadRow("old"))
        log.rename("old", "new")
        log.rename("new", "old")
        assert [(row.alias, row.title) for row in log.page(ThreadPage())] == [("", "old")]

    def test_a_name_of_another_thread_cannot_be_taken(self, log: EventLog) -> None:
        for name in ("a", "b"):
            log.create(ThreadRow(name))
        log.rename("b", "c")
        for taken in ("b", "c"):
            with pytest.raises(Conflict, match="already"):
                log.rename("a", taken)
        assert titles(log) == ["a", "c"]

    def test_a_fork_of_a_renamed_thread_knows_where_it_comes_from(self, log: EventLog) -> None:
        log.create(ThreadRow("old"))
        appended(log, "old", b"1")
        log.rename("old", "new")
        assert log.create(ThreadRow("fork", origin=Origin("new", 1))).origin == Origin("old", 1)
        assert log.forks("new") == log.forks("old") == ["fork"]
        assert log.verify() == []

    def test_forks_are_those_made_from_a_thread_itself(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        for name, origin in (("b", "a"), ("c", "b"), ("d", "a")):
            log.create(ThreadRow(name, origin=Origin(origin, 0)))
        assert (log.forks("a"), log.forks("b"), log.forks("c")) == (["b", "d"], ["c"], [])

    def test_a_forgotten_thread_is_listed_as_one_and_with_nothing_in_it(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"secret", b"more")
        log.forget("a", [1])
        assert [(row.size, row.is_forgotten) for row in log.page(ThreadPage())] == [(4, False)]
        log.forget("a")
        (row,) = log.page(ThreadPage())
        assert (row.messages, row.folds, row.size, row.is_forgotten) == (0, 0, 0, True)
        appended(log, "a", b"new")
        (row,) = log.page(ThreadPage())
        assert (row.messages, row.size, row.is_forgotten) == (1, 3, False)

    def test_everything_that_happened_can_be_followed_in_order(self, log: EventLog) -> None:
        log.create(ThreadRow("a", created=1.0))
        log.append("a", [message(b"1", at=2.0), NewEvent(Pinned(1), 1, 3.0)], expected=0)
        log.create(ThreadRow("b", created=4.0))
        appended(log, "b", b"x" * 6000)
        found = log.changes()
        assert [(each.thread, each.seq, each.kind) for each in found] == [
            ("a", 0, "thread"),
            ("a", 1, "appended"),
            ("a", 2, "pinned"),
            ("b", 0, "thread"),
            ("b", 1, "appended"),
        ]
        assert [each.at for each in found[1:3]] == [2.0, 3.0]
        assert [each.cursor for each in found] == sorted({each.cursor for each in found})
        assert log.changes(after=found[1].cursor, limit=2) == found[2:4]
        assert log.changes(after=found[-1].cursor) == []

    def test_what_becomes_of_a_whole_thread_is_followed_too(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        cursor = log.changes()[-1].cursor
        log.rename("a", "b")
        log.archive("b", True)
        log.forget("b")
        assert [(each.thread, each.seq, each.kind) for each in log.changes(after=cursor)] == [("b", 0, "thread")] * 3

    def test_a_list_goes_back_with_a_batch_that_fails(self, log: EventLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1")
        before, happened = log.page(ThreadPage("activity")), log.changes()
        with pytest.raises(ZeroDivisionError), log.batch():
            much_that_fails(log)
        assert log.page(ThreadPage("activity")) == before
        assert log.changes() == happened
        assert log.row("c") is None
        assert log.create(ThreadRow("c")).name == "c"

    def test_a_restored_thread_is_counted(self, log: SealedLog) -> None:
        log.create(ThreadRow("a"))
        appended(log, "a", b"12", b"345")
        log.forget("a", [1])
        log.restore(ThreadRow("copy", created=4.0), list(log.sealed("a")))
        row = log.page(ThreadPage("activity", limit=1))[0]
        assert (row.name, row.last, row.messages, row.size, row.at) == ("copy", 2, 2, 3, 1.5)

    def test_what_is_not_there_cannot_be_renamed_put_away_or_asked_for_forks(self, log: EventLog) -> None:
        for attempt in (lambda: log.rename("none", "x"), lambda: log.archive("none", True), lambda: log.forks("none")):
            with pytest.raises(NotFound, match="none"):
                attempt()
