"""Fields of requests beside the conversation: those that wire formats know, so that a misspelled one can be told; and
those that are secrets, so that nobody writes them down.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SETTINGS = frozenset(
    [
        "audio",
        "background",
        "betas",
        "cache_control",
        "cachedContent",
        "container",
        "context_management",
        "conversation",
        "extra_body",
        "extra_headers",
        "frequency_penalty",
        "generationConfig",
        "include",
        "instructions",
        "labels",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_output_tokens",
        "max_tool_calls",
        "mcp_servers",
        "metadata",
        "modalities",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
        "reasoning_effort",
        "response_format",
        "safetySettings",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "stop_sequences",
        "store",
        "stream",
        "stream_options",
        "systemInstruction",
        "temperature",
        "text",
        "thinking",
        "tool_choice",
        "toolConfig",
        "top_k",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
        "verbosity",
        "web_search_options",
    ]
)

# Headers of a call are no part of its body, and a server's key is nobody's business but the provider's.
_SECRETS = frozenset(["extra_headers", "extra_query", "headers", "authorization", "authorization_token"])


def without_secrets(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings without keys and headers, at any depth; the very same where there are none."""
    bare = _bare(settings)
    return settings if bare == settings else bare


def _bare(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _bare(each) for name, each in value.items() if name not in _SECRETS}
    return [_bare(each) for each in value] if isinstance(value, list | tuple) else value
