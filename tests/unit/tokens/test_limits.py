"""Where counts meet limits: the room's numbers in the decision that uses them."""

import pytest

from contextfold.folding import FoldDecision, budget_for
from contextfold.models import find


@pytest.mark.seed("F7")
@pytest.mark.parametrize(("used", "fits"), [(99, True), (100, True), (101, False)])
def test_exactly_the_limit_fits(used: int, fits: bool) -> None:
    assert FoldDecision("send", "", "", used, 100).fits is fits


@pytest.mark.seed("X2")
@pytest.mark.parametrize("window", [1_000, 8_192, 32_768, 200_000, 2_000_000])
def test_what_is_kept_free_is_a_number_of_its_own_and_never_most_of_the_window(window: int) -> None:
    model = find("nobody-knows", environ={"CONTEXTFOLD_MAX_INPUT_TOKENS": str(window)})
    budget = budget_for(model, fixed=100)
    assert budget.window == window == budget.limit + budget.reserve + budget.fixed
    assert 0 < budget.reserve <= window / 4
