"""What every web server of ours holds of a client before it knows who that is: little, and not for long.

The head of a request (its line and headers) has so many bytes, headers and seconds; connections without a request have
a number. All of it is decided below the application, which sees whole heads only and decides about bodies itself.
"""

from __future__ import annotations

import asyncio
from typing import Any

from .limits import HeadLimits, IdleConnections

__all__ = ["HeadLimits", "IdleConnections", "limited_http"]


def limited_http(limits: HeadLimits) -> dict[str, Any]:
    """The options of `uvicorn.Config` that hold a server to these limits, with whichever parser is installed."""
    idle = IdleConnections(limits)
    protocol: type[asyncio.Protocol]
    try:
        from .httptools_heads import httptools_protocol  # noqa: PLC0415  # the faster parser, not on every system

        protocol = httptools_protocol(limits, idle)
    except ImportError:
        from .h11_heads import h11_protocol  # noqa: PLC0415  # what uvicorn always brings

        protocol = h11_protocol(limits, idle)
    return {"http": protocol, "h11_max_incomplete_event_size": limits.bytes}
