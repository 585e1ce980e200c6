"""What a provider says when a request is too long: how many tokens it would have taken.

Each words it in its own way, and some without a number. What is not recognised gives no number, never a guess; whether
an error is about length at all is for the caller to say.
"""

from __future__ import annotations

import re

_NUMBER = r"(\d[\d,_]*)"
_SAID = tuple(
    re.compile(pattern.replace("#", _NUMBER), re.IGNORECASE)
    for pattern in (
        r"tokens?\s*>\s*# maximum",  # Anthropic: prompt is too long
        r"exceed context limit: \d+ \+ \d+ > #",  # Anthropic, together with the answer
        r"maximum number of (?:input )?tokens allowed \(#\)",  # Gemini
        r"maximum context (?:length|window)(?: of this model)? (?:is|of)(?: only)? #",  # OpenAI, vLLM, OpenRouter
        r"with # maximum context length",  # Mistral
        r"available context size \(#",  # llama.cpp
        r"maximum prompt length is #",  # xAI
        r"model token limit:? #",  # Moonshot
        r"context (?:length|window) of(?: only)? #",  # Ollama, LM Studio
    )
)


def limit_in(refusal: object) -> int | None:
    """The number of tokens that a refusal, an error or its text, says would have been taken."""
    text = str(refusal)
    found = (match for pattern in _SAID if (match := pattern.search(text)))
    match = next(found, None)
    return int(re.sub(r"[,_]", "", match.group(1))) if match else None
