"""Who a request belongs to: a keyed hash of its credential names a space of the store, and nothing else is kept of it.

The key is made once and kept in the user's own state directory, like the token: a store that is copied elsewhere tells
nobody which credential its spaces belong to. Credentials themselves live as long as their request.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from urllib.parse import parse_qsl

from contextfold.errors import StoreError
from contextfold.private import write_private
from contextfold.store import Store
from contextfold.store import open as open_store

from .door import Visit
from .ledger import Ledger
from .settings import GatewaySettings

_CREDENTIALS = (b"x-api-key", b"authorization", b"x-goog-api-key")
_IN_QUERY = "key"
_TOKEN, _KEY = "gateway-token", "gateway-key"
_KEPT_BYTES = 8 << 20  # of a tenant's conversations that nobody works on
_MOST_TENANTS = 64  # whose stores are open at once; others are opened again when they come


@dataclass(frozen=True, slots=True)
class GatewaySecrets:
    """What belongs to one user's gateway alone."""

    token: str = field(repr=False)
    tenant_key: bytes = field(repr=False)


def secrets_in(directory: Path) -> GatewaySecrets:
    """The token and the key kept in a directory, made where there are none yet; readable by their owner alone."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        token = _kept(directory / _TOKEN, lambda: secrets.token_urlsafe(24).encode())
        return GatewaySecrets(token.decode("ascii"), _kept(directory / _KEY, lambda: secrets.token_hex(32).encode()))
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(
            f"The gateway's token cannot be kept in {directory} ({error}). Make the directory writable."
        ) from error


def _kept(path: Path, make: Callable[[], bytes]) -> bytes:
    found = path.read_bytes().strip() if path.exists() else b""
    if not found:
        if path.exists() and not path.read_bytes().strip():
            path.unlink(missing_ok=True)
        beside = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        write_private(beside, make())
        with suppress(FileExistsError):
            os.link(beside, path)  # of several gateways that begin together one makes it
        beside.unlink()
        found = path.read_bytes().strip()
    elif os.name == "posix" and path.stat().st_mode & 0o077:
        path.chmod(0o600)
    return found


def space_of(visit: Visit, key: bytes) -> str:
    """The space of whoever sent this; the same credential is the same tenant, whatever header it came in."""
    sent = next((value for name in _CREDENTIALS if (value := visit.header(name))), "")
    if not sent:
        sent = next((value for name, value in parse_qsl(visit.query.decode("latin-1")) if name == _IN_QUERY), "")
    credential = sent.removeprefix("Bearer ").removeprefix("bearer ").encode()
    return f"tenant-{blake2b(credential, key=key[:64], digest_size=8).hexdigest()}"


def spaces_in(address: str | os.PathLike[str] | None, settings: GatewaySettings) -> Callable[[str], Store]:
    """What opens the spaces of a store; each holds little of what nobody works on, since there may be many of them."""
    return lambda space: open_store(address, space=space, keep_bytes=_KEPT_BYTES, recall=settings.recalls)


class Tenants:
    """The ledgers of everybody who was here, and how many requests each has under way."""

    def __init__(self, key: bytes, settings: GatewaySettings, open_space: Callable[[str], Store]) -> None:
        self._key, self._settings, self._open = key, settings, open_space
        self._ledgers: dict[str, Ledger] = {}
        self._under_way: dict[str, int] = {}

    @property
    def ledgers(self) -> Sequence[Ledger]:
        """Those of whoever was here last, the newest first."""
        return tuple(reversed(self._ledgers.values()))

    def ledger(self, space: str) -> Ledger:
        """The conversations of a tenant."""
        found = self._ledgers.pop(space, None) or Ledger(lambda: self._open(space), self._settings)
        self._ledgers[space] = found
        return found

    def left(self) -> Sequence[Ledger]:
        """Ledgers to close, since there are too many: of whoever was here longest ago and waits for nothing."""
        idle = [space for space, ledger in self._ledgers.items() if space not in self._under_way and ledger.is_idle]
        spare = idle[: max(0, len(self._ledgers) - _MOST_TENANTS)]
        return [self._ledgers.pop(space) for space in spare]

    def take(self, settings: GatewaySettings) -> None:
        """Go by other settings from now on."""
        self._settings = settings
        for ledger in self._ledgers.values():
            ledger.go_by(settings)

    def space(self, visit: Visit) -> str:
        return space_of(visit, self._key)

    @contextmanager
    def entered(self, space: str) -> Iterator[bool]:
        """A request of this tenant for as long as it takes; False where there are too many."""
        now = self._under_way.get(space, 0)
        if now >= self._settings.most_at_once:
            yield False
            return
        self._under_way[space] = now + 1
        try:
            yield True
        finally:
            self._under_way[space] -= 1
            if not self._under_way[space]:
                del self._under_way[space]

    def close(self) -> None:
        for ledger in self._ledgers.values():
            ledger.close()
        self._ledgers.clear()
