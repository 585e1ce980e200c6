from __future__ import annotations

import pytest

from contextfold.models import Prices


@pytest.mark.finding("H10")
def test_a_provider_that_names_no_price_for_its_cache_is_paid_as_for_input() -> None:
    assert (Prices(3.0, 15.0).read, Prices(3.0, 15.0).write) == (3.0, 3.0)


@pytest.mark.finding("H10")
def test_a_named_price_of_the_cache_counts_even_if_it_is_nothing() -> None:
    prices = Prices(3.0, 15.0, cache_read=0.0, cache_write=3.75)
    assert (prices.read, prices.write) == (0.0, 3.75)
