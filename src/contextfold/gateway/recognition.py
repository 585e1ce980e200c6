"""Which conversation a stateless request goes on with: prefixes of messages, compared in their normal form.

A client sends its whole history every time. Each message is brought into a form without what changes by itself (marks for
caches, reasoning, renamed ids, reminders), and every prefix of the list gets one number that depends on all of it. The
longest prefix that was seen before names the thread and the place in it. Pure: where prefixes are kept is the index's
business.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from contextfold.dialects.endpoint import Endpoint
from contextfold.domain import decode

SIZE = 16  # bytes of a prefix's number
EMPTY = bytes(SIZE)
_MOST_KEPT = 20_000  # messages whose normal form is remembered by their bytes

# What clients put into messages by themselves, and change without a word of the user's: reminders, dates, surroundings.
_REMINDER = re.compile(r"<(system-reminder|environment_details|env|context)>[^<]*+(?:<(?!/\1>)[^<]*+)*+</\1>")
_DATED = re.compile(r"(?m)^(?:Today's date|Current (?:date|time)|Today is)[^\n]{0,200}$")


class Prefix(NamedTuple):
    """A history up to and including one message: its number, and which message that is."""

    number: bytes
    place: int


class Normaliser:
    """Normal forms by bytes: a history that only grows costs what is new."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._known: dict[bytes, bytes] = {}

    def prefixes(self, messages: Sequence[bytes]) -> list[Prefix]:
        """Every prefix of a history that ends with something said, shortest first."""
        return list(rolled(self._forms(messages)))

    def _forms(self, messages: Sequence[bytes]) -> Iterator[bytes]:
        for raw in messages:
            key = blake2b(raw, digest_size=SIZE).digest()
            form = self._known.get(key)
            if form is None:
                if len(self._known) >= _MOST_KEPT:
                    self._known.clear()
                form = self._known[key] = normal(self._endpoint, raw)
            yield form


def normal(endpoint: Endpoint, raw: bytes) -> bytes:
    """The number of one message's normal form; empty where nothing is said in it."""
    value = decode(raw)
    message = value if isinstance(value, dict) else {"role": "user", "content": value}
    form = endpoint.normal(message, said)
    if form is None:
        return b""
    return blake2b(msgspec.json.encode(form, order="sorted"), digest_size=SIZE).digest()


def said(text: str) -> str:
    """A text without what clients add to it by themselves."""
    return _DATED.sub("", _REMINDER.sub("", text)).strip()


def rolled(forms: Iterable[bytes]) -> Iterator[Prefix]:
    """Each message's number depends on everything before it; one that says nothing changes nothing."""
    number = EMPTY
    for place, form in enumerate(forms):
        if form:
            number = blake2b(number + form, digest_size=SIZE).digest()
            yield Prefix(number, place)
