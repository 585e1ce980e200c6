"""The gateway: any client's requests pass here, are kept, and fit. An ASGI application and what it is told.

What needs its web client, which is an extra, is imported when it is asked for: the door is used by rooms without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .settings import ClientPolicy, GatewaySettings, gateway_settings

if TYPE_CHECKING:
    from .app import Gateway
    from .tenants import GatewaySecrets, secrets_in, spaces_in

__all__ = [
    "ClientPolicy",
    "Gateway",
    "GatewaySecrets",
    "GatewaySettings",
    "gateway_settings",
    "secrets_in",
    "spaces_in",
]
_LATE = {"Gateway": "app", "GatewaySecrets": "tenants", "secrets_in": "tenants", "spaces_in": "tenants"}  # need aiohttp


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f".{_LATE[name]}", __name__), name)
    return found
