"""What messages hold of what will be needed again."""

from __future__ import annotations

from contextfold.domain import Message, Text
from contextfold.summaries import SourceMessage, reuse


def told(*texts: str) -> tuple[SourceMessage, ...]:
    return tuple(
        SourceMessage(seq, Message("assistant" if seq % 2 else "user", (Text(text),)))
        for seq, text in enumerate(texts, 1)
    )


def test_names_are_worth_more_than_talk_of_the_same_length() -> None:
    found = reuse(told("Hm, let me think about that for a while.", "Then?", "It is `open_deck` in src/cards/deck.py."))
    assert found[1] == 0
    assert 0 < found[3] < 1


def test_a_name_counts_for_the_newest_message_that_has_it() -> None:
    found = reuse(told("It is open_deck in src/cards/deck.py.", "Sure?", "It is open_deck in src/cards/deck.py."))
    assert found[1] == 0
    assert found[3] > 0


def test_the_same_names_among_more_words_are_worth_less() -> None:
    found = reuse(told("See open_deck_a here.", "And?", "See open_deck_b here, " + "as was said before, " * 20))
    assert found[1] > found[3] > 0


def test_what_says_nothing_has_no_entry() -> None:
    assert reuse(told("---", "")) == {}
    assert reuse(()) == {}


def test_what_the_newest_message_brought_is_fresh_however_long_that_message_is() -> None:
    long = "It is open_deck_c here, " + "as was said before, " * 4_000
    after_short, after_long = (reuse(told("Go.", "See open_deck_a.", last))[2] for last in ("See open_deck_c.", long))
    assert after_long == after_short > 0
