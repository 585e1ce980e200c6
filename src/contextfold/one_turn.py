"""One turn without a store, for messages as callers have them: how large they are, and a request that fits."""

from __future__ import annotations

from collections.abc import Iterable

from contextfold import dialects, models, tokens
from contextfold.dialects import together
from contextfold.domain import Count
from contextfold.folding import Policy
from contextfold.session import Request, Session, System, Tools


def fit(
    messages: Iterable[object],
    *,
    model: str | None = None,
    system: System = None,
    tools: Tools = None,
    max_tokens: int | None = None,
    dialect: str | None = None,
    policy: Policy | str | None = None,
    cache: bool | None = None,
    **settings: object,
) -> Request:
    """The request for these messages, folded if it must be. Raises `CannotFit`. Nothing is kept."""
    with Session.open(model=model, policy=policy) as session:
        for message in together(messages):
            session.append(message)
        return session.prepare(
            system=system, tools=tools, max_tokens=max_tokens, dialect=dialect, cache=cache, **settings
        )


def count(messages: Iterable[object], *, model: str | None = None, system: System = None, tools: Tools = None) -> Count:
    """Tokens of a request, exactly or estimated, how, and in which parts."""
    found = models.find(model or "")
    default = dialects.spoken(found)
    said = [dialects.understand(message, default).message for message in together(messages)]
    return tokens.count(said, found, system, tools)
