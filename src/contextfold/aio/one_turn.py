"""One turn without a store, awaited."""

from __future__ import annotations

from collections.abc import Iterable

from contextfold.dialects import together
from contextfold.folding import Policy
from contextfold.session import Request, System, Tools

from .session import Session


async def fit(
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
    async with await Session.open(model=model, policy=policy) as session:
        for message in together(messages):
            await session.append(message)
        return await session.prepare(
            system=system, tools=tools, max_tokens=max_tokens, dialect=dialect, cache=cache, **settings
        )
