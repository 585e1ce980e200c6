"""`contextfold.count`: tokens of messages as callers have them, before there is any thread."""

from __future__ import annotations

from collections.abc import Iterable

from contextfold import dialects, models, tokens
from contextfold.domain import Count
from contextfold.session import System, Tools


def count(messages: Iterable[object], *, model: str | None = None, system: System = None, tools: Tools = None) -> Count:
    """Tokens of a request, exactly or estimated, how, and in which parts."""
    found = models.find(model or "")
    default = dialects.spoken(found)
    said = [dialects.understand(message, default).message for message in dialects.together(messages)]
    return tokens.count(said, found, system, tools)
