from typing import Any

import pytest

from contextfold import dialects
from contextfold.domain import Bill

ANTHROPIC = {"input_tokens": 7, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 5000, "output_tokens": 9}


@pytest.mark.parametrize(
    ("usage", "provider", "billed"),
    [
        (ANTHROPIC, "anthropic", 5207),
        (ANTHROPIC, "", 5207),
        ({"input_tokens": 7, "cache_read_input_tokens": None}, "anthropic", 7),
        ({"prompt_tokens": 900, "prompt_tokens_details": {"cached_tokens": 800}}, "openai-chat", 900),
        ({"prompt_tokens": 900, "prompt_cache_hit_tokens": 800, "prompt_cache_miss_tokens": 100}, "", 900),
        ({"input_tokens": 900, "input_tokens_details": {"cached_tokens": 800}}, "openai-responses", 900),
        ({"input_tokens": 900, "input_tokens_details": {"cached_tokens": 800}}, "", 900),
        ({"promptTokenCount": 900, "cachedContentTokenCount": 800}, "gemini", 900),
        ({"prompt_token_count": 900}, "", 900),
        ({}, "", 0),
        ({"output_tokens": 3}, "anthropic", 0),
        ({"input_tokens": "many"}, "openai-chat", 0),
        ({"input_tokens": True}, "openai-chat", 0),
        ({"input_tokens": -5}, "anthropic", 0),
    ],
)
def test_cached_and_fresh_input_are_summed_as_each_provider_means_them(
    usage: dict[str, Any], provider: str, billed: int
) -> None:
    assert (dialects.find(provider).bill(usage) if provider else dialects.bill(usage)).input == billed


def test_a_request_that_compacted_is_billed_by_its_iterations() -> None:
    usage = {**ANTHROPIC, "iterations": [ANTHROPIC, {"input_tokens": 1000}]}
    assert dialects.find("anthropic").bill(usage).input == 6207


def test_a_bill_keeps_what_was_read_from_the_cache_and_what_was_written_to_it_apart() -> None:
    usage = {**ANTHROPIC, "cache_creation": {"ephemeral_1h_input_tokens": 50, "ephemeral_5m_input_tokens": 150}}
    assert dialects.find("anthropic").bill(usage) == Bill(5207, 9, 5000, 200, 50)
    assert dialects.find("anthropic").bill({"input_tokens": 7}) == Bill(7, 0, None, 0, 0)
