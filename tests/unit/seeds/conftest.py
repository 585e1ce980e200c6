"""Small windows for whole sessions: what a limit in the environment gives any user."""

from collections.abc import Callable

import pytest

from contextfold import models

MODEL = "claude-sonnet-4-5"


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Give a model a window of so many input tokens; returns the model's name."""

    def limited(tokens: int, model: str = MODEL) -> str:
        monkeypatch.setenv(models.variable(model), str(tokens))
        return model

    return limited
