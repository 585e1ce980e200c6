"""`contextfold.count`: tokens of messages as callers have them, before there is any thread."""

from __future__ import annotations

from collections.abc import Iterable

from contextfold import dialects, models, tokens
from contextfold.domain import Count
from contextfold.session import System, Tools
from contextfold.thread.incoming import together, understand


def count(messages: Iterable[object], *, model: str | None = None, system: System = None, tools: Tools = None) -> Count:
    """Tokens of a request, exactly or estimated, how, and in which parts."""
    found = models.find(model or "")
    default = dialects.known(found.dialect) or "openai-chat"
    return tokens.count([understand(message, default).message for message in together(messages)], found, system, tools)
