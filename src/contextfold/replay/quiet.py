"""What a session would log for whoever runs it is in the report here; a terminal need not hear it twice."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Keep our warnings off a terminal that nobody configured; handlers that somebody did configure still get them."""
    log, handler = logging.getLogger("contextfold"), logging.NullHandler()
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
