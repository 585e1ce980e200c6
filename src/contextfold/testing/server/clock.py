"""A clock that tests set: cache entries grow old when told to, and nobody waits for it."""

from __future__ import annotations

from typing import Final

_START: Final = 1_790_000_000.0


class Clock:
    """Shows seconds since 1970 and moves only when somebody moves it."""

    def __init__(self, start: float = _START) -> None:
        self._now = start

    def __call__(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Let this much time pass."""
        if seconds < 0:
            raise ValueError(f"Time does not go back by {-seconds} seconds. Use a new clock.")
        self._now += seconds
