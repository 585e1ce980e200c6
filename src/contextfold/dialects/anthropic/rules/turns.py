"""A request as the Anthropic API reads it: messages of one role in a row are one turn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import NamedTuple

from msgspec import Struct

from contextfold.dialects.anthropic.programs import LoneHalves, lone_halves
from contextfold.dialects.rulebook import WireMessage, WirePiece
from contextfold.dialects.wire import Json


class Allowed(Struct, frozen=True):
    """What a model takes. The defaults are those of current models; the model's profile knows better."""

    prefill: bool = False  # a last message of the assistant's, to be continued: not since 4.7
    sampling: bool = True  # temperature, top_p, top_k: not since 4.7
    thinking_budget: bool = True  # an explicit budget: not since 4.7
    forced_tool: bool = True  # tool_choice "any" or "tool": not on Fable 5.1 and Sonnet 5.5
    thinking_optional: bool = True  # older models want a calling last turn to start with thinking


class MergedTurn(NamedTuple):
    """Neighbouring messages of one role, merged."""

    role: object
    pieces: tuple[WirePiece, ...]
    messages: tuple[WireMessage, ...]


class MessagesRequest(NamedTuple):
    """A request, read once for all rules."""

    body: Json
    messages: list[WireMessage]
    turns: list[MergedTurn]
    allowed: Allowed

    def pairs(self) -> Iterator[tuple[MergedTurn | None, MergedTurn | None]]:
        """Each turn with the next, from nothing before the first to nothing after the last."""
        return pairwise((None, *self.turns, None))

    def lone_halves(self) -> LoneHalves:
        """Calls and results of tools that run at Anthropic, where one lacks the other."""
        return lone_halves([(turn.role, [piece.block for piece in turn.pieces]) for turn in self.turns])

    def pieces_in(self, found: set[int]) -> Iterator[WirePiece]:
        """The blocks of these identities, with their places."""
        return (piece for turn in self.turns for piece in turn.pieces if id(piece.block) in found)


def merged(messages: list[WireMessage]) -> list[MergedTurn]:
    turns = []
    for role, group in groupby(messages, key=lambda message: message.role):
        together = tuple(group)
        turns.append(MergedTurn(role, tuple(piece for message in together for piece in message.pieces), together))
    return turns


def calls(turn: MergedTurn | None) -> list[WirePiece]:
    """The tool calls of an assistant's turn."""
    if turn is None or turn.role != "assistant":
        return []
    return [piece for piece in turn.pieces if piece.kind == "tool_use"]


def results(turn: MergedTurn | None) -> list[WirePiece]:
    """The tool results of a user's turn."""
    if turn is None or turn.role != "user":
        return []
    return [piece for piece in turn.pieces if piece.kind == "tool_result"]
