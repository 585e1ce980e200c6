"""What the gateway is told: where it listens, where providers are, how each client's conversations are treated.

Read strictly, from files that are trusted: an address from a stranger's file would get the user's keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from contextfold.dialects import all_known
from contextfold.errors import BadConfiguration
from contextfold.layers import System

Mode = Literal["observe", "fold", "strict"]
SummaryWriter = Literal["extractive", "same"]

HOST, PORT = "127.0.0.1", 8787
MEBI = 1 << 20
SMALL = 8 * 1024  # bytes of a request that fits any model's window: a token is a byte at least


class ClientPolicy(Struct, frozen=True, forbid_unknown_fields=True):
    """How some conversations are treated; None and empty where the general word holds."""

    mode: Mode | None = None
    policy: str = ""
    window: int | None = None
    limit: int | None = None
    recall: bool | None = None  # whether the model may ask for what folds hide
    pins: int | None = None  # messages at a conversation's beginning that are never folded
    summarizer: SummaryWriter | None = (
        None  # who writes summaries: the embedded digest, or whoever the client speaks to
    )
    system: System | None = None  # layer L0: said behind the client's own system prompt

    def over(self, general: ClientPolicy) -> ClientPolicy:
        """This, and what it leaves open from another."""
        return ClientPolicy(
            self.mode or general.mode,
            self.policy or general.policy,
            self.window if self.window is not None else general.window,
            self.limit if self.limit is not None else general.limit,
            self.recall if self.recall is not None else general.recall,
            self.pins if self.pins is not None else general.pins,
            self.summarizer or general.summarizer,
            self.system if self.system is not None else general.system,
        )


class GatewaySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[gateway]` of a settings file."""

    host: str = HOST
    port: int = PORT
    socket: str = ""  # a Unix socket instead of a port
    hosts: tuple[str, ...] = ()  # names beside the loopback ones under which it may be asked
    is_public: bool = msgspec.field(
        default=False, name="public"
    )  # beyond this machine, knowingly, without TLS of its own
    upstreams: dict[str, str] = {}  # addresses of providers, by name; others are reached under /NAME/
    by_name: bool = False  # every path must begin with the name of an upstream: none is guessed
    mode: Mode = "fold"
    policy: str = ""
    window: int | None = None
    limit: int | None = None
    recall: bool = False
    pins: int = 0
    summarizer: SummaryWriter = "extractive"
    system: System | None = None
    clients: dict[str, ClientPolicy] = {}
    models: dict[str, ClientPolicy] = {}
    most_bytes: int = 64 * MEBI  # of a request's body
    most_new_messages: int = 10_000  # that one request may bring to be kept; each takes about 3 KB of memory
    most_answer_bytes: int = 64 * MEBI  # of an answer that is read; longer ones pass unread
    most_event_bytes: int = 16 * MEBI  # of one event of a stream that is read
    most_at_once: int = 1_000  # requests of one tenant
    patience: float = 60.0  # seconds without a byte of a request's body
    most_head_bytes: int = 64 * 1024  # of a request's line and headers
    head_patience: float = 10.0  # seconds until a request's head is complete, from its connection or first byte

    def __post_init__(self) -> None:
        for name, address in self.upstreams.items():
            parts = urlsplit(address)
            if parts.scheme not in ("http", "https") or parts.username is not None:
                shown = address.rpartition("@")[2]  # what stands before it may be a password
                raise BadConfiguration(
                    f"gateway.upstreams.{name} is {shown!r}. Give an address that begins with https:// or http://."
                )
        if not 0 <= self.port < 1 << 16:
            raise BadConfiguration(f"gateway.port is {self.port}. Give a number from 0 to 65535.")

    def policy_of(self, client: str, model: str) -> ClientPolicy:
        """How this client's conversations with this model are treated."""
        general = ClientPolicy(
            self.mode, self.policy, self.window, self.limit, self.recall, self.pins, self.summarizer, self.system
        )
        return self.clients.get(client, ClientPolicy()).over(self.models.get(model, ClientPolicy()).over(general))

    def passes_at_once(self, policy: ClientPolicy, size: int) -> bool:
        """Whether a body of so many bytes goes out as it came whatever is in it, so that it need not be read first."""
        if policy.mode == "observe":
            return True
        told = (policy, *self.clients.values(), *self.models.values())
        narrow = (most for each in told for most in (each.window, each.limit) if most is not None)
        is_usual = not any(each.policy or each.mode == "strict" or each.system is not None for each in told)
        return policy.mode == "fold" and is_usual and size <= min(narrow, default=SMALL) and size <= SMALL

    @property
    def recalls(self) -> bool:
        """Whether anybody may ask for what is hidden, so that an index of every word is worth its time."""
        told = (*self.clients.values(), *self.models.values())
        return self.recall or any(each.recall for each in told)

    def addresses(self) -> dict[str, str]:
        """Where every provider is: the usual places, and what is set; only that where paths must name an upstream."""
        if self.by_name:
            return self.upstreams
        usual = {each.endpoint.provider for each in all_known() if each.endpoint is not None}
        return {**{provider.name: provider.address for provider in usual}, **self.upstreams}

    def check_reach(self) -> None:
        """Refuse to be reached from elsewhere by accident: what passes here would pass in the open."""
        if not self.socket and self.host not in (HOST, "localhost", "::1") and not self.is_public:
            raise BadConfiguration(
                f"The gateway would listen on {self.host}, beyond this machine and without TLS. Put a proxy with TLS "
                f"in front of it and set gateway.public = true, or listen on {HOST}."
            )


def gateway_settings(table: Mapping[str, Any], place: str = "[gateway]") -> GatewaySettings:
    """The settings in a table as TOML gives it."""
    try:
        return msgspec.convert(dict(table), GatewaySettings)
    except (msgspec.ValidationError, BadConfiguration) as error:
        raise BadConfiguration(f"{place}: {error}") from error
