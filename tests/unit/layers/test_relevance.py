"""Scores from 0 to 1, by words."""

from collections.abc import Sequence

import pytest

from contextfold.layers import HALF_LIFE, THRESHOLD, Lexical
from contextfold.layers.relevance import decayed, scores


@pytest.mark.seed("E10")
def test_the_scale_is_the_part_of_words_that_two_texts_share() -> None:
    ten = "alpha bravo charlie delta echo foxtrot golf hotel india juliet"
    three = "alpha bravo charlie kilo lima mike november oscar papa quebec"
    assert Lexical()(ten, [ten, three, "nothing alike"]) == pytest.approx([1.0, THRESHOLD, 0.0])


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("rotate the keys", "Rotating keys"),
        ("移行を完了する", "データの移行を行う"),
        ("포트를 옮기다", "포트를 확인"),
        ("порт сервера", "новый порт"),
    ],
)
def test_words_are_found_in_any_script_case_and_form(query: str, text: str) -> None:
    (score,) = Lexical()(query, [text])
    assert 0 < score <= 1


def test_without_a_query_everything_matters() -> None:
    assert Lexical()("", ["a", "b"]) == [1.0, 1.0]


def test_whoever_scores_is_held_to_the_scale() -> None:
    class Wild:
        def __call__(self, query: str, texts: Sequence[str]) -> Sequence[float]:  # noqa: ARG002  # it does not care
            return [float("nan"), 7.0, -1.0, 0.4][: len(texts)]

    assert scores(Wild(), "q", ["a", "b", "c", "d"]) == [0.0, 1.0, 0.0, 0.4]
    with pytest.raises(ValueError, match="5 texts"):
        scores(Wild(), "q", ["a"] * 5)


@pytest.mark.seed("E11")
def test_a_score_halves_with_the_order() -> None:
    assert decayed(1.0, 0) == 1.0
    assert decayed(0.8, HALF_LIFE) == pytest.approx(0.4)
