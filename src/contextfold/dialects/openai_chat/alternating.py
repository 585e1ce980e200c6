"""Speakers strictly in turn, on the joined bytes: only neighbours that clash are taken apart.

Looks at the first bytes of each message for its speaker, so that a long request stays a join.
"""

from __future__ import annotations

import re

from contextfold.domain import decode, encode

from .suit import OPENER, PREAMBLE, Message, as_users, is_same, merged

# A message nearly always names its speaker first; the others are decoded.
_FIRST = re.compile(rb'\A\s*+\{\s*+"role"\s*+:\s*+"(\w++)"')
_LAST = b'},{"role":"user"'  # what we write behind results: in a string the quotes would be escaped


def in_turn(chunks: list[bytes]) -> list[bytes]:
    """The chunks with neighbours of one speaker joined, system messages in front only, and the user first."""
    done: list[bytes] = []
    last = ""
    for chunk in chunks:
        role, end = _speakers(chunk)
        if role in PREAMBLE and last not in ("", *PREAMBLE):
            chunk, role, end = encode(as_users(_messages(chunk)[0])), "user", "user"
        if role == "assistant" and last in ("", *PREAMBLE):
            done.append(encode(OPENER))
        if is_same(last, role):
            done[-1] = _merged(done[-1], chunk)
        else:
            done.append(chunk)
        last = end
    return done


def _speakers(chunk: bytes) -> tuple[str, str]:
    """Who speaks first in the chunk, and who last."""
    found = _FIRST.match(chunk)
    role = found[1].decode() if found else str(_messages(chunk)[0].get("role"))
    if role == "tool":
        return role, "user" if _LAST in chunk else "tool"
    return role, role


def _messages(chunk: bytes) -> list[Message]:
    found: list[Message] = decode(b"[" + chunk + b"]")
    return found


def _merged(before: bytes, chunk: bytes) -> bytes:
    *rest, first = _messages(before)
    second, *others = _messages(chunk)
    return b",".join(encode(message) for message in (*rest, merged(first, second), *others))
