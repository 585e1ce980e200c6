"""Cache breakpoints: at most four, never on thinking, long-lived ones first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from contextfold.dialects.rulebook import WirePiece, read_pieces
from contextfold.domain import Problem

from .content import THINKING, every_piece
from .turns import MessagesRequest

MOST = 4


def _in_order(asked: MessagesRequest) -> Iterator[WirePiece]:
    """Everything that may carry a breakpoint, in the order the cache reads it: tools, system, messages."""
    for field in ("tools", "system"):
        value = asked.body.get(field)
        if isinstance(value, list | tuple):
            yield from read_pieces(field, value, [])
    yield from every_piece(asked)
    yield WirePiece("cache_control", asked.body)


def _breakpoints(asked: MessagesRequest) -> list[tuple[str, Mapping[str, object]]]:
    found = ((piece.path, piece.block.get("cache_control")) for piece in _in_order(asked))
    return [(path, control) for path, control in found if isinstance(control, Mapping)]


def too_many_breakpoints(asked: MessagesRequest) -> Iterator[Problem]:
    for path, _ in _breakpoints(asked)[MOST:]:
        yield Problem(path, "too-many-breakpoints", f"Keep at most {MOST} cache_control marks.")


def breakpoint_on_thinking(asked: MessagesRequest) -> Iterator[Problem]:
    for piece in every_piece(asked):
        if piece.kind in THINKING and piece.block.get("cache_control") is not None:
            yield Problem(
                piece.path, "breakpoint-on-thinking", "Put cache_control on another block: thinking is never marked."
            )


def breakpoint_order(asked: MessagesRequest) -> Iterator[Problem]:
    """Entries that live an hour stand before those that live five minutes."""
    short = False
    for path, control in _breakpoints(asked):
        if control.get("ttl") != "1h":
            short = True
        elif short:
            yield Problem(path, "breakpoint-order", "Put marks with ttl '1h' before all shorter ones.")
