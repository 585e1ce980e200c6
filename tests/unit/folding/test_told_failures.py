"""What a report says of a failed attempt holds no key."""

from __future__ import annotations

import pytest

from contextfold.folding.writers import words_of


@pytest.mark.finding("K13")
@pytest.mark.parametrize(
    "key", ["sk-ant-api03-AbCdEf0123456789", "AIzaSyA-0123456789abcdefghij", "0123456789abcdef" * 2]
)
def test_a_key_in_the_text_of_an_exception_is_not_repeated(key: str) -> None:
    told = words_of(RuntimeError(f"401 for Authorization: Bearer {key}"))
    assert key not in told
    assert told.startswith("RuntimeError: 401 for Authorization: Bearer")
