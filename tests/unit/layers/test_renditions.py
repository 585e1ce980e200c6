"""Whole, shorter, or not at all: for texts, lists and structured things."""

from collections.abc import Mapping
from typing import Any

import pytest

from contextfold import layers as L
from contextfold.layers import Outcome, fit_item, fit_list, fit_mapping, fit_text


def length(text: str) -> int:
    return len(text)


def sizes(content: Mapping[str, Any]) -> int:
    return sum(len(str(each)) for each in content.values())


@pytest.mark.seed("E16")
@pytest.mark.parametrize(
    ("budget", "outcome"),
    [(100, Outcome.FITTED), (99, Outcome.SHORTENED), (30, Outcome.SHORTENED), (3, Outcome.CANNOT_FIT)],
)
def test_a_text_is_cut_at_its_middle_and_measured_again(budget: int, outcome: Outcome) -> None:
    found = fit_text("a" * 50 + "z" * 50, budget, length)
    assert found.outcome is outcome
    if found.content is None:
        assert found.tokens == 100
    else:
        assert len(found.content) == found.tokens <= budget
        assert found.content[0] == "a"
        assert found.content[-1] == "z"


@pytest.mark.seed("E14", "E15", "E16")
def test_a_list_keeps_what_fits_by_priority_in_its_order() -> None:
    items = ["low", "x" * 100, "high", "mid"]
    rank = {"low": 1.0, "high": 9.0, "mid": 5.0}.get
    found = fit_list(items, 7, len, lambda item: rank(item, 99.0))
    assert found.content == ["high", "mid"]
    assert found.outcome is Outcome.SHORTENED
    assert fit_list(items, 1_000, len, lambda _: 0.0).outcome is Outcome.FITTED
    assert fit_list(items, 1, len, lambda _: 0.0).outcome is Outcome.CANNOT_FIT


@pytest.mark.seed("E16")
def test_a_structured_value_loses_its_longest_text_first() -> None:
    record = {"id": 7, "title": "short", "log": "l" * 200}
    found = fit_mapping(record, 60, sizes)
    assert found.outcome is Outcome.SHORTENED
    assert found.content is not None
    assert (found.content["id"], found.content["title"]) == (7, "short")
    assert sizes(found.content) == found.tokens <= 60
    assert fit_mapping(record, 500, sizes).content == record
    assert fit_mapping({"n": 10**50}, 5, sizes).outcome is Outcome.CANNOT_FIT


@pytest.mark.seed("E16")
def test_an_item_keeps_its_fields_and_shortens_its_words() -> None:
    def weigh(item: L.Item) -> int:
        return len(L.element(item, ""))

    found = fit_item(L.Observation("o" * 300, tool="bash"), 120, weigh)
    assert isinstance(found.content, L.Observation)
    assert found.content.tool == "bash"
    assert weigh(found.content) == found.tokens <= 120
    assert fit_item(L.Checklist("c", ("p" * 300,)), 120, weigh).outcome is Outcome.CANNOT_FIT
    assert fit_item(L.Observation("o" * 300, tool="t" * 300), 120, weigh).outcome is Outcome.CANNOT_FIT
    assert fit_item(L.Fact("x"), 120, weigh).outcome is Outcome.FITTED
