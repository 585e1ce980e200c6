"""Where clients read a provider's address, and how that address ends: a table of variables."""

from __future__ import annotations

from msgspec import Struct


class BaseUrl(Struct, frozen=True, kw_only=True):
    """A variable from which clients read a provider's address, and how that address ends."""

    clients: str
    variable: str
    provider: str
    ending: str = ""
    request: str = ""  # what clients add where it is missing, so that an address may end with it too


BASE_URLS = (
    BaseUrl(clients="Claude Code, Anthropic SDK", variable="ANTHROPIC_BASE_URL", provider="anthropic"),
    BaseUrl(
        clients="aider, mini-swe-agent (Claude)",
        variable="ANTHROPIC_API_BASE",
        provider="anthropic",
        request="/v1/messages",
    ),
    BaseUrl(clients="OpenAI SDK, llm", variable="OPENAI_BASE_URL", provider="openai", ending="/v1"),
    BaseUrl(clients="aider, mini-swe-agent (OpenAI)", variable="OPENAI_API_BASE", provider="openai", ending="/v1"),
    BaseUrl(clients="Gemini CLI", variable="GOOGLE_GEMINI_BASE_URL", provider="gemini"),
)
BY_VARIABLE = {each.variable: each for each in BASE_URLS}
PROVIDERS = tuple(dict.fromkeys(each.provider for each in BASE_URLS))
