"""The gateway: any client's requests pass here, are kept, and fit. An ASGI application and what it is told."""

from .app import Gateway
from .settings import ClientPolicy, GatewaySettings, gateway_settings
from .tenants import GatewaySecrets, secrets_in

__all__ = ["ClientPolicy", "Gateway", "GatewaySecrets", "GatewaySettings", "gateway_settings", "secrets_in"]
