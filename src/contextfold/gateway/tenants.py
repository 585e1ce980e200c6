"""Who a request belongs to: a space of the store for each tenant, named by keyed hashes; nothing else is kept of keys.

The key is made once and kept in the user's own state directory, like the token: a store that is copied elsewhere tells
nobody which credential its spaces belong to. Credentials themselves live as long as their request.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from contextfold.errors import StoreError
from contextfold.private import write_private
from contextfold.store import Store, open_existing
from contextfold.store import open as open_store

from .credentials import Identity, identity_of, session_mark
from .door import Visit, client_name, is_named
from .families import Asking
from .ledger import Ledger
from .settings import GatewaySettings
from .tenant_store import OpenSpace, SpaceOpener

_TOKEN, _KEY = "gateway-token", "gateway-key"
_USUAL_SPACE = "default"
_KEPT_BYTES = 8 << 20  # of a tenant's conversations that nobody works on
_MOST_TENANTS = 64  # whose stores are open at once; others are opened again when they come
_MOST_SPACES = 4  # in which a session of such a client is looked for
_MOST_ACCEPTED = 10_000  # tokens, and sessions of clients that renew theirs, that are remembered


@dataclass(frozen=True, slots=True)
class GatewaySecrets:
    """What belongs to one user's gateway alone."""

    token: str = field(repr=False)
    tenant_key: bytes = field(repr=False)
    run_token: str = field(default="", repr=False)  # for one command's requests, as long as this gateway runs


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
    """The space of this very credential."""
    return identity_of(visit, key).own


def spaces_in(address: str | os.PathLike[str] | None, settings: GatewaySettings) -> OpenSpace:
    """What opens the spaces of a store; each holds little of what nobody works on, since there may be many of them."""

    def opened(space: str, *, create: bool = True) -> Store:
        begin = open_store if create else open_existing
        return begin(address, space=space, keep_bytes=_KEPT_BYTES, recall=settings.recalls)

    return opened


class Tenants:
    """The ledgers of everybody who was here, and how many requests each has under way."""

    def __init__(self, key: bytes, settings: GatewaySettings, open_space: OpenSpace) -> None:
        self._key, self._settings, self._open = key, settings, SpaceOpener(open_space)
        self._ledgers: dict[str, Ledger] = {}
        self._under_way: dict[str, int] = {}
        self._accepted: dict[Identity, None] = {}  # whose claims the provider believes
        self._sessions: dict[bytes, tuple[str, ...]] = {}  # where sessions are kept whose clients renew their tokens

    @property
    def ledgers(self) -> Sequence[Ledger]:
        """Those of whoever was here last, the newest first."""
        return tuple(reversed(self._ledgers.values()))

    @property
    def in_use(self) -> Sequence[Ledger]:
        """Those whose logs must take writes; before anybody was here, that of the usual space."""
        return self.ledgers or (self.ledger(_USUAL_SPACE),)

    def ledger(self, space: str) -> Ledger:
        """The conversations of a tenant."""
        found = self._ledgers.pop(space, None) or Ledger(partial(self._open, space), self._settings)
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

    def identity(self, visit: Visit, upstream: str) -> Identity:
        return identity_of(visit, self._key, upstream)

    def accept(self, identity: Identity) -> None:
        """The provider took a request with this credential: what it claims is true."""
        if identity.account:
            _remember(self._accepted, identity, None)

    async def home(self, identity: Identity, visit: Visit, upstream: str, asking: Asking | None) -> str:
        """The space that a request belongs to.

        Another credential's only where the provider has believed that it is the same account, or where the request
        itself holds everything that was said there: then nothing is told that its sender does not know.
        """
        if identity.account:
            is_known = identity in self._accepted or await self._holds(identity.account, asking)
            return identity.account if is_known else identity.own
        in_body = "" if asking is None else asking.envelope.family
        session = client_name(visit, in_body, "").thread if is_named(visit, in_body) else ""
        mark = session_mark(identity, session, upstream, self._key)
        if not mark:
            return identity.own
        spaces = self._sessions.get(mark, ())
        space = identity.own
        for known in spaces if any(each != identity.own for each in spaces) else ():
            if await self._holds(known, asking):
                space = known
                break
        others = [each for each in self._sessions.get(mark, ()) if each != space]
        _remember(self._sessions, mark, (space, *others[: _MOST_SPACES - 1]))
        return space

    async def _holds(self, space: str, asking: Asking | None) -> bool:
        if asking is None:
            return False
        ledger = self.ledger(space)
        return await ledger.clerk.kept(lambda: ledger.holds(asking))

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


K = TypeVar("K")
V = TypeVar("V")


def _remember(known: dict[K, V], name: K, value: V) -> None:
    """Remember something, and forget what was not used for longest."""
    known.pop(name, None)
    known[name] = value
    if len(known) > _MOST_ACCEPTED:
        del known[next(iter(known))]
