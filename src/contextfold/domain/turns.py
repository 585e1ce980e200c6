"""Broken turns: which calls are still open, and what to do when life goes on without their results.

Interrupted calls, late results and doubled results are daily life. The log keeps them as they came; here is decided,
from what came before alone, how a view completes them, so that bytes already sent never change.
"""

from __future__ import annotations

from typing import NamedTuple

from .shapes import Shape


class Arrival(NamedTuple):
    """What a new message means for the open calls before it."""

    late: tuple[int, ...]  # its result blocks that answer no open call
    abandoned: tuple[str, ...]  # calls that get a synthetic result in front of it
    open: tuple[str, ...]  # calls that wait after it


_QUIET = Arrival((), (), ())


def arrive(waiting: tuple[str, ...], shape: Shape) -> Arrival:
    """A message that only answers open calls keeps the turn; anything else that shows closes it."""
    if not waiting and _is_plain(shape):
        return _QUIET
    if shape.is_blank:
        return Arrival((), (), waiting)
    unanswered, late = _answer(waiting, shape)
    if _only_answers(shape, late):
        return Arrival((), (), unanswered)
    calls = shape.calls if shape.role == "assistant" else ()
    return Arrival(late, unanswered, calls)


def _is_plain(shape: Shape) -> bool:
    """Neither calls nor results: most messages, so this is asked first."""
    for block in shape.blocks:  # noqa: SIM110  # a generator here would cost more than the question
        if block.kind == "call" or block.kind == "result":
            return False
    return True


def _answer(waiting: tuple[str, ...], shape: Shape) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The calls still open after these results, and the results that no call was waiting for.

    A result that is not the user's side speaking answers nothing: no provider takes it from the assistant.
    """
    unanswered, late = list(waiting), []
    for index, block in enumerate(shape.blocks):
        if block.kind == "result":
            if block.call in unanswered and shape.role == "user":
                unanswered.remove(block.call)
            else:
                late.append(index)
    return tuple(unanswered), tuple(late)


def _only_answers(shape: Shape, late: tuple[int, ...]) -> bool:
    return shape.role == "user" and not late and all(block.kind == "result" or block.is_blank for block in shape.blocks)
