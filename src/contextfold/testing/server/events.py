"""Server-sent events as bytes, and words in pieces as a model would let them go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

_PIECE: Final = 24  # characters: several pieces even for a short answer


def sse(data: Any, event: str = "") -> bytes:
    """One event. Providers that name their events name them twice: here, and in the data."""
    body = data if isinstance(data, bytes) else msgspec.json.encode(data)
    return (f"event: {event}\n".encode() if event else b"") + b"data: " + body + b"\n\n"


def in_pieces(text: str, size: int = _PIECE) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))
