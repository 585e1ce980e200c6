"""The strict server as tests use it: start it, script it, point a client at it, look at what it saw."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from .flavours import Flavour, flavour_named
from .provider import Exchange, Provider, Settings
from .running import Running
from .script import Step
from .usage import Usage


class StrictServer:
    """A provider on the loopback interface that refuses what real ones refuse.

    `url` is the base for every SDK; `token` is the only key it takes.
    """

    def __init__(self, provider: Provider, port: int) -> None:
        self._provider = provider
        self.token = provider.settings.token
        self.url = f"http://127.0.0.1:{port}"

    def answer(self, *steps: Step) -> None:
        """Say these next, in this order: texts, `Say`, faults, `Held`, or functions of the request."""
        self._provider.script.add(*steps)

    def always(self, step: Step) -> None:
        """Say this whenever the script is at its end."""
        self._provider.script.always = step

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """Every request so far, refused ones too."""
        return tuple(self._provider.exchanges)

    @property
    def last(self) -> Exchange:
        return self._provider.exchanges[-1]

    @property
    def refused(self) -> Sequence[Exchange]:
        """Requests that broke a rule; scripted faults are not among them."""
        return [each for each in self.exchanges if each.refused is not None and each.refused.rule != "fault"]

    @property
    def usage(self) -> Usage:
        """Everything billed so far."""
        return sum((each.usage for each in self.exchanges), Usage())

    @property
    def cost(self) -> float:
        """USD billed so far, at the catalogue's prices."""
        return sum(each.cost for each in self.exchanges)

    def forget_cache(self) -> None:
        self._provider.cache.forget()

    def forget(self) -> None:
        """Start afresh: no script, no exchanges, an empty cache. What was signed stays valid."""
        self._provider.script.clear()
        self._provider.exchanges.clear()
        self._provider.cache.forget()

    def wait_for(self, requests: int, timeout: float = 30.0) -> None:
        """Until so many requests have come to an end."""
        if not self._provider.wait_for(requests, timeout):
            raise TimeoutError(f"{len(self.exchanges)} of {requests} requests came within {timeout:g} seconds.")


@contextmanager
def strict_server(
    *,
    token: str | None = None,
    window: int | None = None,
    flavour: str | Flavour = "openai",
    trust_foreign_seals: bool = False,
    bind_prefix: bool = True,
    clock: Callable[[], float] = time.time,
    seed: bytes | None = None,
    models: Iterable[str] = (),
) -> Iterator[StrictServer]:
    """A server for the length of a `with` block.

    `window` replaces every model's own. `flavour` is that of chat completions. With `trust_foreign_seals` reasoning and
    compaction items that this server did not make are taken as valid, for recorded histories. `bind_prefix=False` is an
    account from before prefixes were checked. `seed` makes ids and signatures the same in every run. With `models` only
    these names are served, letter by letter; any other is not found.
    """
    key = seed if seed is not None else secrets.token_bytes(16)
    said = flavour_named(flavour) if isinstance(flavour, str) else flavour
    settings = Settings(
        token or f"sk-strict-{secrets.token_urlsafe(12)}",
        window,
        said,
        trust_foreign_seals,
        bind_prefix,
        names=frozenset(models),
    )
    provider = Provider(settings, clock, key)
    running = Running(provider)
    running.start()
    try:
        yield StrictServer(provider, running.port)
    finally:
        running.stop()
