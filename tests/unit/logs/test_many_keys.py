"""One append may hold very many messages, each with a key of its own."""

from __future__ import annotations

import pytest

from contextfold.domain import Appended, NewEvent, Shape
from contextfold.errors import KeyConflict
from contextfold.logs.entries import earlier_append
from tests.effort import least


def drafts(many: int) -> list[NewEvent]:
    event = Appended(Shape("user", ()), "anthropic")
    return [NewEvent(event, number, 0.0, b"{}", f"key {number}") for number in range(many)]


@pytest.mark.finding("K13")
def test_the_keys_of_an_append_are_looked_at_once_each() -> None:
    def looked_at(many: int) -> float:
        given = drafts(many)
        return least(lambda: earlier_append(given, lambda _key: None, lambda _seq: ()), 3)

    assert looked_at(32_000) < 24 * max(looked_at(4_000), 0.001)


def test_a_key_that_stands_twice_in_one_append_is_named() -> None:
    given = [*drafts(3), *drafts(2)[1:]]
    with pytest.raises(KeyConflict, match="'key 1' stands twice"):
        earlier_append(given, lambda _key: None, lambda _seq: ())
