"""A question finds a text by its words, whatever the script and however identifiers are written."""

import pytest

from contextfold.recall.words import LONGEST, asked_terms, terms


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
