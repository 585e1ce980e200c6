"""Models that write summaries, each by its official SDK: `cf.providers.anthropic("claude-haiku-5-5")`.

Each SDK is an extra and is imported when a model is first asked. Keys are read by the SDK from its own configuration;
none is ever given to contextfold, stored by it, or repeated in a report or a log.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from contextfold.errors import BadConfiguration
from contextfold.models import find, meant_by

from .anthropic import AnthropicSdk as _Anthropic
from .gemini import GeminiSdk as _Gemini
from .openai import OpenAISdk as _OpenAI
from .provider import Listening, Provider

__all__ = ["Provider", "anthropic", "gemini", "named", "openai"]

Client: TypeAlias = Callable[[], AbstractAsyncContextManager[Any]] | None


def anthropic(
    model: str,
    *,
    base_url: str = "",
    client: Client = None,
    on_text: Listening = None,
    timeout: float | None = 120.0,
) -> Provider:
    """A Claude model. `client` makes another asynchronous client of the SDK, as for Bedrock or Vertex."""
    return Provider(_Anthropic(), model, base_url, client, on_text, timeout)


def openai(
    model: str,
    *,
    base_url: str = "",
    client: Client = None,
    on_text: Listening = None,
    timeout: float | None = 120.0,
) -> Provider:
    """A model of OpenAI, or of any server that speaks Chat Completions: Ollama, vLLM, DeepSeek, OpenRouter."""
    return Provider(_OpenAI(), model, base_url, client, on_text, timeout)


def gemini(
    model: str,
    *,
    base_url: str = "",
    client: Client = None,
    on_text: Listening = None,
    timeout: float | None = 120.0,
) -> Provider:
    """A Gemini model."""
    return Provider(_Gemini(), model, base_url, client, on_text, timeout)


def named(model: str) -> Provider:
    """The provider of a model, by its family; one that no SDK here is for is looked for at OPENAI_BASE_URL."""
    for speaker in (_Anthropic(), _OpenAI(), _Gemini()):
        if speaker.speaks_to(model, ""):
            return Provider(speaker, model)
    if address := os.environ.get("OPENAI_BASE_URL", ""):
        return Provider(_OpenAI(), model, address)
    whose = find(model).provider
    known = f"{whose} has no SDK here" if whose else "nobody knows whose model that is"
    if meant := meant_by(model):
        known += f" (did you mean {meant!r}?)"
    raise BadConfiguration(
        f"{model!r} cannot be asked by its name: {known}. Use cf.providers.openai({model!r}, base_url=...) instead."
    )
