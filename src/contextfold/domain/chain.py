"""The hash chain of a thread: each link seals the event, its place and a commitment to its body.

The commitment is salted, so that a forgotten body cannot be guessed from it, while the links after it still verify.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec

from .events import Event, Sent

GENESIS = bytes(32)
SALT_BYTES = 16

_event_encoder = msgspec.json.Encoder()
_event_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode_event(event: Event) -> bytes:
    """The event as it is stored and sealed."""
    return _event_encoder.encode(event)


def decode_event(stored: bytes) -> Event:
    return _event_decoder.decode(stored)


def commitment(salt: bytes, body: bytes) -> bytes:
    """What stands for the body in the chain, also after the body and its salt are gone."""
    return sha256(salt + body).digest()


def link(previous: bytes, seq: int, parent: int, at: float, key: str, stored: bytes, committed: bytes) -> bytes:
    """The next link: changing any earlier event, its order, parent, time, key or body changes it."""
    named = key.encode("utf-8", "surrogatepass")
    head = f"{seq} {parent} {at!r} {len(named)} {len(stored)}".encode()
    return sha256(b"\n".join((previous, head, named, stored, committed))).digest()


def digest(blob: bytes) -> str:
    """The name a blob is kept under."""
    return sha256(blob).hexdigest()


def blobs_of(event: Event) -> tuple[str, ...]:
    """Digests of the blobs this event names; they are kept as long as one event that names them is."""
    return tuple(name for name in (event.system, event.tools) if name) if isinstance(event, Sent) else ()
