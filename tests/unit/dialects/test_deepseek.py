"""DeepSeek's own names get what DeepSeek wants back."""

import pytest

from contextfold import dialects, models


@pytest.mark.finding("S8")
def test_the_reasoner_is_spoken_to_in_its_flavour() -> None:
    assert dialects.suited("openai-chat", models.find("deepseek-reasoner")) == "openai-chat:deepseek"
    assert dialects.suited("openai-chat", models.find("deepseek-chat")) == "openai-chat"
