"""The index finds what was said where it was said, and nothing of another space or of what was forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

import apsw
import pytest

from contextfold.domain import Appended, Logged, Message, Shape, Text
from contextfold.recall.index import Found, IndexReader, RecallIndex, sitting_of
from contextfold.recall.search import Hit, Inquiry, Passage, PassageSource, Stretch, headline, packed, ranked, search

HOUR = 3_600.0


class Thread(NamedTuple):
    space: int = 1
    thread: int = 1


class Library:
    """Some threads, indexed."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.messages: dict[int, Message] = {}
        self.index = RecallIndex(lambda logged, _: self.messages[logged.seq])
        self.index.install(connection)

    def say(self, *texts: str, to: Thread = Thread(), at: float = HOUR) -> None:  # noqa: B008  # an immutable value
        for text in texts:
            seq = len(self.messages) + 1
            self.messages[seq] = Message("user" if seq % 2 else "assistant", (Text(text),))
            logged = Logged(seq, seq - 1, at, Appended(Shape("user", ()), "anthropic"))
            self.index.apply(self.connection, to, [(logged, b"body")])

    def ask(self, question: str, of: Thread = Thread(), upto: int | None = None) -> list[Hit]:  # noqa: B008
        history = [Stretch(sitting_of(self.connection, of).number, upto)]
        return list(search(IndexReader(self.connection), Inquiry(question, of.space, history)))


@pytest.fixture
def library() -> Iterator[Library]:
    with closing(apsw.Connection(":memory:")) as connection:
        connection.pragma("secure_delete", True)  # as every store has it
        yield Library(connection)


def filled(library: Library, to: Thread = Thread()) -> None:  # noqa: B008
    library.say(*(f"Chapter {number} speaks of nothing in particular." for number in range(30)), to=to)


def test_the_words_of_a_question_find_the_passage_that_holds_them(library: Library) -> None:
    filled(library)
    library.say("We chose port 8443 for the proxy.")
    filled(library)
    assert library.ask("which port did we choose for the proxy?")[0].seq == 31


def test_an_answer_beside_the_question_is_found_before_anything_else(library: Library) -> None:
    filled(library)
    library.say("Which port shall the proxy have?", "8443, please.")
    filled(library)
    assert {hit.seq for hit in library.ask("port of the proxy")[:3]} == {30, 31, 32}


def test_a_hit_gives_half_to_its_neighbour_a_third_to_the_next_and_a_quarter_to_its_sitting() -> None:
    places = {place: Found(place, place, 0, 0, int(place >= 6), ("mel", "bo")[place % 2]) for place in range(10)}
    assert ranked({5: 8.0}, places) == pytest.approx({5: 8 + 2, 4: 4 + 2, 3: 2.8 + 2})  # 6 and 7: another sitting
    both = ranked({3: 8.0, 5: 4.0}, places)
    assert both == pytest.approx({3: 8 + 1.4 + 2, 5: 4 + 2.8 + 2, 4: 4 + 2 + 2, 2: 4 + 2, 1: 2.8 + 2})
    assert ranked({5: 8.0}, places, {"bo"})[5] == pytest.approx(1.4 * 10)


def test_another_sitting_inherits_nothing(library: Library) -> None:
    filled(library)
    library.say("Which port shall the proxy have?", at=HOUR)
    library.say("Good morning.", at=20 * HOUR)
    assert library.ask("port of the proxy")[1].seq == 30


def test_a_question_in_one_space_cannot_match_in_another(library: Library) -> None:
    filled(library)
    library.say("The secret word is rhubarb.", to=Thread(2, 1))
    assert all(hit.score == 0 for hit in library.ask("rhubarb", Thread(1, 1)))
    assert library.ask("rhubarb", Thread(2, 1))[0].score > 0


def test_what_was_said_on_a_day_is_found_by_that_day(library: Library) -> None:
    filled(library)
    library.say("It rained.", at=1_683_540_000.0)
    filled(library)
    for question in ("what did I say on 8 May 2023?", "May 8", "2023-05-08", "5月8日"):
        assert library.ask(question)[0].seq == 31


def test_when_nothing_matches_the_newest_of_whom_the_question_names_come_first(library: Library) -> None:
    filled(library)
    assert [hit.seq for hit in library.ask("what did I say of zeppelins?")[:3]] == [29, 27, 25]
    assert [hit.seq for hit in library.ask("zeppelins")[:3]] == [30, 29, 28]


def test_names_that_a_person_told_in_the_best_passage_are_asked_for_again(library: Library) -> None:
    filled(library)
    library.say("For the trip I borrowed a tent from Rosalind.", "Noted.", *("Well." for _ in range(6)))
    library.say("And Rosalind moved to Oslo.")
    history = [Stretch(sitting_of(library.connection, Thread()).number)]
    inquiry = Inquiry("whose tent?", 1, history, read=lambda hit: library.messages[hit.seq].text)
    (again,) = [hit for hit in search(IndexReader(library.connection), inquiry) if hit.seq == 39]
    assert again.score > next(hit.score for hit in library.ask("whose tent?") if hit.seq == 39)


def test_a_fork_does_not_see_what_was_said_after_it(library: Library) -> None:
    filled(library)
    library.say("The proxy listens on 8443.")
    assert all(hit.seq <= 20 for hit in library.ask("proxy", upto=20))


def test_nothing_of_a_forgotten_message_is_left_in_the_index(library: Library) -> None:
    filled(library)
    library.say("The password is xyzzyplugh.")
    library.index.forget(library.connection, Thread(), [31])
    assert all(hit.seq != 31 for hit in library.ask("xyzzyplugh"))
    assert b"xyzzyplugh" not in library.connection.serialize("main")


def test_passages_fill_the_budget_in_the_order_they_were_said(library: Library) -> None:
    filled(library)
    library.say("The proxy listens on 8443.")
    shown = packed(
        library.ask("proxy"),
        "proxy",
        budget=200,
        read=lambda hit: PassageSource(library.messages[hit.seq], HOUR, None),
        count=lambda text: len(text) // 4,
    )
    assert [passage.seq for passage in shown] == sorted(passage.seq for passage in shown)
    assert next(passage for passage in shown if passage.seq == 31).matched == ("proxy",)
    assert sum(len(passage.text) // 4 + 16 for passage in shown) <= 200
    assert len(shown) > 3


def test_a_long_output_is_cut_so_that_one_hit_brings_some_lines_and_not_all(library: Library) -> None:
    lines = [f"{number:04}: nothing of note was printed here" for number in range(2_000)]
    lines[1_234] = "1234: the zeppelin broke its moorings"
    library.say("Run it.", "\n".join(lines), "And then?")
    text = library.messages[2].text
    hits = library.ask("zeppelin moorings")
    assert hits[0].seq == 2
    assert "zeppelin" in text[hits[0].start : hits[0].start + 1_200]
    assert text[hits[0].start - 1] == "\n"
    source = PassageSource(library.messages[2], HOUR, None)
    shown = packed(hits[:1], "zeppelin", budget=10_000, read=lambda _: source, count=lambda text: len(text) // 4)
    assert 5 < len(shown[0].text.splitlines()) < 40


def test_a_time_that_no_calendar_has_is_left_out_of_the_line_above_a_passage() -> None:
    assert headline(Passage(7, 1e18, "user", "Hello.")) == "seq 7 · user"
