"""A request at the door: whether it may come in, and what its client tells of itself beside its messages.

A token, a Host we serve, and no web page of somebody else: decided on the parsed request alone, before anything is read
or sent. The token stands as the first segment of the path, so that the base URL of every SDK can carry it, or in a
header; it is compared in constant time and never passed on.

A client tells which conversation this is, and whether it is compacting it. An id names a family, not a thread: titles,
sub-agents, and what follows a compaction share one. Nothing of it is needed to recognise a conversation; it only keeps
those apart that happen to begin alike.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from contextfold.domain import decode
from contextfold.errors import BadMessage

TOKEN_HEADER = b"x-contextfold-token"
MOST_HEADERS = 64 * 1024  # bytes
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class Visit:
    """A request that was let in, with the path that is left when the token is taken off. Its keys are never shown."""

    method: str
    path: bytes
    query: bytes = field(repr=False)
    headers: tuple[tuple[bytes, bytes], ...] = field(repr=False)
    address: str = field(default="", repr=False)  # where the connection is from

    def header(self, name: bytes) -> str:
        """The first value of a header, empty where it was not sent."""
        return next((value.decode("latin-1") for key, value in self.headers if key == name), "")

    def values(self, name: bytes) -> list[bytes]:
        """All values of a header that may have been sent several times."""
        return [value for key, value in self.headers if key == name]


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """A request that was not let in, and what its sender is told."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Door:
    """The rules of one listener. `hosts` are names beside the loopback ones."""

    token: str = field(repr=False)
    hosts: Collection[str] = ()
    port: int = 0
    free: Collection[bytes] = ()  # paths that need no token
    run_token: str = field(default="", repr=False)  # a second one, which others on this machine may get to see
    owners: Collection[bytes] = ()  # paths that the second token does not open

    def admit(self, scope: Mapping[str, Any]) -> Visit | TurnedAway:
        """Let a request in, or say why not."""
        headers = tuple((name.lower(), value) for name, value in scope["headers"])
        sent = dict(headers)
        host = sent.get(b"host", b"").decode("latin-1").lower()
        name, colon, port = host.rpartition(":")
        if not colon or host.endswith("]"):
            name, port = host, ""
        is_other_port = bool(port and self.port) and port != str(self.port)
        if is_other_port or (name not in _LOOPBACK and name not in self.hosts):
            return TurnedAway(421, "This host name is not served here. Use 127.0.0.1 or add it to gateway.hosts.")
        if sent.get(b"origin") is not None or sent.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            return TurnedAway(403, "Requests from web pages are not taken here.")
        if sum(len(name) + len(value) for name, value in headers) > MOST_HEADERS:
            return TurnedAway(431, "The headers of this request are too large.")
        path = bytes(scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0]
        rest, given = path, sent.get(TOKEN_HEADER)
        if path not in self.free and given is None:
            given, slash, behind = path.removeprefix(b"/").partition(b"/")
            rest = slash + behind or b"/"
        if path not in self.free and not self._opens(given or b"", rest):
            return TurnedAway(401, "The token is missing or wrong: put it first in the base URL's path.")
        kept = tuple(pair for pair in headers if pair[0] != TOKEN_HEADER)
        address = str((scope.get("client") or ("",))[0])
        return Visit(str(scope["method"]), rest, bytes(scope.get("query_string", b"")), kept, address)

    def _opens(self, given: bytes, path: bytes) -> bool:
        """Whether a token opens a path; both are compared whatever the first one says."""
        is_owner, is_run = (
            bool(token) and hmac.compare_digest(given, token.encode()) for token in (self.token, self.run_token)
        )
        return is_owner or (is_run and path not in self.owners)


THREAD_HEADER = b"x-contextfold-thread"
# In which header which client names a conversation, the plainest first.
_NAMED_IN: Sequence[tuple[bytes, str]] = (
    (THREAD_HEADER, "named"),
    (b"x-claude-code-session-id", "claude-code"),
    (b"thread-id", "codex"),
    (b"x-session-id", "opencode"),
    (b"session_id", "pi"),
    (b"session-id", "codex"),
    (b"x-litellm-session-id", "litellm"),
)
_AGENT_HEADER = b"x-claude-code-agent-id"
_TURN_HEADER = b"x-codex-turn-metadata"
SESSION_HEADERS = frozenset([*(header for header, _ in _NAMED_IN), _AGENT_HEADER, _TURN_HEADER])
_WANTS_A_SUMMARY = b"Respond with TEXT ONLY"  # what Claude Code says when it compacts
_MOST_LETTERS = 80


@dataclass(frozen=True, slots=True)
class ClientName:
    """What a family is called: the client, and its own id for the conversation where it gave one."""

    client: str
    family: str

    @property
    def thread(self) -> str:
        """The name of the family's first thread."""
        return f"{self.client}/{self.family}"


def client_name(visit: Visit, in_body: str, first_words: str) -> ClientName:
    """How to call the conversation: by the client's id for it, else by how it begins."""
    for header, name in _NAMED_IN:
        if found := visit.header(header):
            agent = visit.header(_AGENT_HEADER)
            return ClientName(name, _plain(f"{found}.{agent}" if agent else found))
    agent = visit.header(b"user-agent")
    client = _plain(re.split(r"[\s/(]", agent, maxsplit=1)[0].lower()) or "client"
    return ClientName(client, _plain(in_body) or first_words)


def is_named(visit: Visit, in_body: str) -> bool:
    """Whether the client gave the conversation an id."""
    return bool(in_body) or any(visit.header(header) for header, _ in _NAMED_IN)


def is_compacting(visit: Visit, last: bytes) -> bool:
    """Whether the client asks for a summary with which it wants to go on."""
    told = visit.header(_TURN_HEADER)
    if told:
        try:
            turn = decode(told)
        except BadMessage:
            return False
        return isinstance(turn, dict) and turn.get("request_kind") == "compaction"
    return _WANTS_A_SUMMARY in last


def _plain(name: str) -> str:
    """A name that is easily typed; a very long one by its digest."""
    plain = re.sub(r"[^\w.:-]+", "-", name).strip("-")
    return plain if len(plain) <= _MOST_LETTERS else blake2b(name.encode(), digest_size=12).hexdigest()
