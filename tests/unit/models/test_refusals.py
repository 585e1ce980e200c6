"""What providers say when a request is too long."""

import pytest

from contextfold.models import limit_in


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("prompt is too long: 210123 tokens > 200000 maximum", 200_000),
        ("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length", 200_000),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ("This model's maximum context length is 128,000 tokens. However, you requested 130001 tokens", 128_000),
        ("This endpoint's maximum context length is 131072 tokens.", 131_072),
        ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768),
        ("the request exceeds the available context size (8192 tokens), try increasing it", 8_192),
        ("This model's maximum prompt length is 131072 but the request contains 140000 tokens", 131_072),
        ("Invalid request: Your request exceeded model token limit: 262144", 262_144),
        (
            "The prompt overflows; the model is loaded with a context length of only 4096 tokens",
            4096,
        ),
    ],
)
def test_the_number_a_provider_names_is_read(said: str, limit: int) -> None:
    assert limit_in(said) == limit


def test_an_error_is_read_by_its_text() -> None:
    assert limit_in(ValueError("prompt is too long: 5 tokens > 4 maximum")) == 4


@pytest.mark.parametrize(
    "said", ["Input is too long for requested model.", "Too many requests: limit 200000", "", "413"]
)
def test_words_without_a_limit_give_no_number(said: str) -> None:
    assert limit_in(said) is None
