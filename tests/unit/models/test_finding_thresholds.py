"""A threshold in the project's file reaches the model that a session folds by."""

from contextfold.models import config_from, find


def test_a_threshold_for_all_models_reaches_each_and_a_models_own_goes_first() -> None:
    config = config_from({"threshold": 60, "models": {"gpt-6-sol": {"threshold": 90}}})
    assert find("claude-sonnet-5-5", environ={}, config=config).threshold == 60
    assert find("gpt-6-sol", environ={}, config=config).threshold == 90
    assert find("gpt-6-sol", environ={}, config=config_from({})).threshold is None
