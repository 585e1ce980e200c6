"""What JSON has no number for is refused where it comes in, not written as null."""

from __future__ import annotations

import math

import pytest

import contextfold as cf
from contextfold.domain import encode
from contextfold.errors import BadMessage


@pytest.mark.finding("K13")
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_have_is_refused_and_nothing_is_written(number: float) -> None:
    with cf.open() as store:
        thread = store.thread("a")
        use = {"type": "tool_use", "id": "1", "name": "plot", "input": {"points": [1.0, (number,)]}}
        with pytest.raises(BadMessage, match="not a JSON number"):
            thread.append({"role": "assistant", "content": [use]})
        assert thread.view.length == 0


def test_null_is_null() -> None:
    assert encode({"a": [None, 1.5, "null"]}) == b'{"a":[null,1.5,"null"]}'
