"""What a client tells of itself beside its messages: which conversation this is, and whether it is compacting it.

An id names a family, not a thread: titles, sub-agents, and what follows a compaction share one. Nothing here is needed
to recognise a conversation; it only keeps those apart that happen to begin alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from contextfold.domain import decode
from contextfold.errors import BadMessage

from .door import Visit

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
_WANTS_A_SUMMARY = re.compile(rb"Respond with TEXT ONLY")  # what Claude Code says when it compacts
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
    client = _client(visit)
    for header, name in _NAMED_IN:
        if found := visit.header(header):
            agent = visit.header(_AGENT_HEADER)
            return ClientName(name, _plain(f"{found}.{agent}" if agent else found))
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
    return _WANTS_A_SUMMARY.search(last) is not None


def _client(visit: Visit) -> str:
    agent = visit.header(b"user-agent")
    return _plain(re.split(r"[\s/(]", agent, maxsplit=1)[0].lower()) or "client"


def _plain(name: str) -> str:
    """A name that is easily typed; a very long one by its digest."""
    plain = re.sub(r"[^\w.:-]+", "-", name).strip("-")
    return plain if len(plain) <= _MOST_LETTERS else blake2b(name.encode(), digest_size=12).hexdigest()
