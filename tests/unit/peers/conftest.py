"""Sessions of any window, as the peers' cases need them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from tests.unit.peers.talk import SONNET

Opening = Callable[..., cf.Session]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opening]:
    """Open a session whose window has this many tokens; closed when the test ends."""
    with ExitStack() as stack:

        def open_session(
            window: int, place: Path | cf.Store | None = None, model: str = SONNET, **options: Any
        ) -> cf.Session:
            monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", str(window))
            if isinstance(place, cf.Store):
                return cf.Session.on(place, "main", model, **options)
            return stack.enter_context(cf.Session.open(place, model=model, **options))

        yield open_session
