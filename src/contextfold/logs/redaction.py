"""What is left of an event when it is forgotten: its place and its sizes, and none of the words in its outline.

Names of tools, call ids, digests and details go with the body; of a key a hash is left. The id of a call stays where
a message that was not forgotten still holds the other half: it is in that message's bytes anyway, and a view must find
the pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from contextfold.domain import (
    Appended,
    Attached,
    BlockShape,
    Checkpointed,
    Detail,
    Event,
    Folded,
    Noted,
    Rewound,
    Sent,
    ToolsProjected,
)

_GONE: Final = "forgotten"
_KEY: Final = "forgotten:"


def holds_words(event: Event, key: str, *, is_whole: bool) -> bool:
    """Whether something in the event itself goes with its body; `is_whole` where all of its thread is forgotten."""
    if isinstance(event, Appended):  # told by looking: nearly all events are messages
        return bool(key) or any(block.call or block.name for block in event.shape.blocks)
    return bool(key) or Redaction(frozenset()).of(0, event, is_whole=is_whole) != event


def calls_of(events: Iterable[Event]) -> set[str]:
    """The ids of calls in these events' outlines."""
    said = (event.shape for event in events if isinstance(event, Appended))
    return {block.call for shape in said for block in shape.blocks if block.call}


def forgotten_key(key: str) -> str:
    """What stands for a key that is gone, so that a retry with it is still known for one."""
    if not key or key.startswith(_KEY):
        return key
    return _KEY + sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class Redaction:
    """Takes words out of events of one thread, and gives the same new id to both halves of a call."""

    def __init__(self, kept: Set[str]) -> None:
        self._kept = kept  # ids that stay
        self._ids: dict[str, str] = {}

    def of(self, seq: int, event: Event, *, is_whole: bool) -> Event:
        match event:
            case Appended():
                blocks = enumerate(event.shape.blocks)
                left = tuple(self._block(f"{_GONE}_{seq}_{place}", block) for place, block in blocks)
                return replace(event, shape=replace(event.shape, blocks=left))
            case Folded() | Attached() | Noted():
                return replace(event, details=_numbers(event.details))
            case Checkpointed() if is_whole:
                return replace(event, name=_GONE, snapshot="", details={})
            case Sent():  # digests are not salted: whoever guesses what was said could try it
                details = _numbers(event.details) if is_whole else event.details
                return replace(event, details=details, system="", tools="", settings="", body="")
            case Rewound() if is_whole:
                return replace(event, details=_numbers(event.details))
            case ToolsProjected() if is_whole:
                return replace(event, visible=(), details=_numbers(event.details))
            case _:
                return event

    def _block(self, new: str, block: BlockShape) -> BlockShape:
        call = block.call
        if call and call not in self._kept and not call.startswith(f"{_GONE}_"):
            call = self._ids.setdefault(call, new)
        return replace(block, call=call, name=_GONE if block.name and block.kind == "call" else "")


def _numbers(details: dict[str, Detail]) -> dict[str, Detail]:
    return {name: value for name, value in details.items() if not isinstance(value, str)}
