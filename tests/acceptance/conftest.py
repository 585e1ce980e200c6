"""Sessions of both kinds, so that a scenario written once is run twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from tests.acceptance.scenario import MODEL, Open, got


@pytest.fixture(params=["plain", "awaited"])
async def opened(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Open]:
    """Open a session of either kind whose window has this many tokens; closed when the test ends."""
    kind = cf.Session if request.param == "plain" else cf.aio.Session
    sessions: list[Any] = []

    async def open_session(window: int, path: Path | None = None, **options: Any) -> Any:
        monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", str(window))
        sessions.append(await got(kind.open(path, model=options.pop("model", MODEL), **options)))
        return sessions[-1]

    yield open_session
    for session in reversed(sessions):
        await got(session.close())
