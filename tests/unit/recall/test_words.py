"""A question finds a text by its words, whatever the script and however identifiers are written."""

import pytest

from contextfold.recall.search import named
from contextfold.recall.words import LONGEST, asked_terms, date_terms, names_in, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Rename the parser.", ["rename", "the", "parser"]),
        ("parse_args", ["parse", "args", "parseargs"]),
        ("parseArgs", ["parse", "args", "parseargs"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("src/app.py", ["src", "app", "py", "apppy"]),
        ("出雲大社", ["出雲", "雲大", "大社"]),
        ("駅", ["駅"]),
        ("API設計v2", ["api", "設計", "v2"]),
        ("ＡＢＣ", ["abc"]),
    ],
)
def test_a_text_is_kept_by_its_words_and_their_parts(text: str, expected: list[str]) -> None:
    assert list(terms(text)) == expected


def test_plain_words_and_pairs_of_hiragana_do_not_count_in_a_question() -> None:
    assert asked_terms("Which port did we choose for the proxy?") == ("port", "choose", "proxy")
    assert "につ" not in asked_terms("予算について教えてください")
    assert "予算" in asked_terms("予算について教えてください")


def test_a_question_of_plain_words_alone_still_asks_for_something() -> None:
    assert asked_terms("what was it") == ("what", "was", "it")


def test_data_without_an_end_gives_one_bounded_term() -> None:
    assert list(terms("a" * 1_000_000)) == ["a" * LONGEST]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 8 May, 2023", ("2023", "may", "may8")),
        ("May 8th", ("may", "may8")),
        ("2023/05/08 (Mon) 02:21", ("2023", "may", "may8")),
        ("Sept. 2023", ("2023", "september")),
        ("2023年5月8日", ("2023", "may", "may8")),
        ("5月", ("may",)),
        ("since May", ("may",)),
        ("you may come in may be", ()),
        ("31 February", ()),
        ("13月", ()),
    ],
)
def test_a_day_has_the_same_terms_however_it_is_written(text: str, expected: tuple[str, ...]) -> None:
    assert date_terms(text) == expected


def test_names_inside_a_sentence_and_days_are_told_apart_from_other_words() -> None:
    assert names_in("Yesterday I met Rosalind and Mary Ann on 8 May.") == ("rosalind", "mary", "ann", "may8")
    assert names_in("The end. Nothing else, I think.") == ()


def test_a_speaker_is_named_by_a_short_form_but_not_by_a_word_that_only_begins_alike() -> None:
    speakers = {"melanie", "carol", "william", "user"}
    assert named("What did Mel buy?", speakers) == {"melanie"}
    assert named("Which car is it? Will it do?", speakers) == frozenset()
    assert named("What did we say to Carol?", speakers) == {"carol", "user"}


@pytest.mark.finding("K2")
def test_no_sign_makes_a_text_grow_beyond_measure() -> None:
    for sign in ("\ufdfa", "\ufdfb", "㌖", "⑽", "ﬃ"):
        text = sign * 1_000
        assert sum(map(len, terms(text))) <= 12 * len(text), sign
    assert list(terms("\ufdfa")) == list(terms("صلعم"))
