"""The gateway: any client's requests pass here, are kept, and fit. An ASGI application and what it is told.

The application is imported when it is asked for: its web client is an extra, and the door is used by rooms without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .settings import ClientPolicy, GatewaySettings, gateway_settings
from .tenants import GatewaySecrets, secrets_in, spaces_in

if TYPE_CHECKING:
    from .app import Gateway

__all__ = [
    "ClientPolicy",
    "Gateway",
    "GatewaySecrets",
    "GatewaySettings",
    "gateway_settings",
    "secrets_in",
    "spaces_in",
]


def __getattr__(name: str) -> object:
    if name != "Gateway":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .app import Gateway  # noqa: PLC0415  # needs aiohttp

    return Gateway
