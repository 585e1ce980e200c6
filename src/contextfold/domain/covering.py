"""Making a cover, and refusing one that would part what belongs together.

A fold may cover only what is visible: whole atoms, blocks that can be stood in for, stand-ins that show. An open
call and a pinned message stay.
"""

from __future__ import annotations

from collections.abc import Iterable

from contextfold.errors import CannotCover

from .cover import Cover
from .path_items import PathItems
from .projection import Projection
from .visible import visibility


def cover_of(
    projection: Projection,
    seqs: Iterable[int] = (),
    blocks: Iterable[tuple[int, int]] = (),
    folds: Iterable[int] = (),
) -> Cover:
    """The cover of these messages, blocks and stand-ins, in the fewest ranges."""
    path = projection.items
    places = sorted({_place(path, seq) for seq in seqs})
    return Cover(tuple(_ranges(path, places)), tuple(blocks), tuple(folds))


def check_cover(projection: Projection, cover: Cover) -> None:
    """Raise `CannotCover` unless the fold would be legal on this thread as it is now."""
    if not cover:
        raise CannotCover("This fold covers nothing. Name messages, blocks or stand-ins that are visible.")
    showing = {fold.seq for fold in projection.folds.outermost()}
    hidden = [fold for fold in cover.folds if fold not in showing]
    if hidden:
        raise CannotCover(f"The stand-ins of folds {hidden} are not visible. Cover only what the view shows.")
    _check_messages(projection, cover)
    _check_blocks(projection, cover)


def _check_messages(projection: Projection, cover: Cover) -> None:
    path = projection.items
    mask = visibility(path, projection.folds.outermost(), projection.pins.messages)
    covered = bytearray(len(path))
    for first, last in cover.ranges:
        start, stop = path.span(first, last)
        if 1 not in mask[start:stop]:
            raise CannotCover(f"Nothing from seq {first} to {last} is visible. Cover only what the view shows.")
        covered[start:stop] = b"\x01" * (stop - start)
    for seq in projection.pins.messages:
        _refuse_pinned(path, covered, seq)
    if path.open_calls and covered and covered[-1]:
        raise CannotCover("The last turn waits for tool results. Append them, or cover what comes before it.")
    for first, last in cover.ranges:
        for place in path.span(first, last):
            _refuse_parting(path, mask, covered, place)


def _refuse_pinned(path: PathItems, covered: bytearray, seq: int) -> None:
    place = path.place(seq)
    if place is not None and 1 in covered[slice(*path.atom(place))]:
        raise CannotCover(f"Message {seq} is pinned. Unpin it first, or leave it and what belongs to it out.")


def _refuse_parting(path: PathItems, mask: bytearray, covered: bytearray, edge: int) -> None:
    """At an edge of a covered range, all that shows of the atom there must be on one side."""
    if not 0 < edge < len(path) or path.starts[edge]:
        return
    start, stop = path.atom(edge)
    visible = [place for place in range(start, stop) if mask[place]]
    if 0 < sum(covered[place] for place in visible) < len(visible):
        seqs = sorted({path.items[place].seq for place in visible})
        raise CannotCover(
            f"Messages {seqs} stand or fall together (a call with its results, or reasoning with what it led to). "
            f"Cover all of them or none."
        )


def _check_blocks(projection: Projection, cover: Cover) -> None:
    path = projection.items
    taken = {(item.seq, part.block) for item in projection.edited_items() for part in item.folded}
    for seq, block in cover.blocks:
        place = path.place(seq)
        shape = None if place is None else path.items[place].shape
        if shape is None or not 0 <= block < len(shape.blocks):
            raise CannotCover(f"There is no block {block} in a message {seq} on this branch. Look at the view's items.")
        if shape.blocks[block].kind == "call":
            raise CannotCover(f"Block {block} of message {seq} is a tool call. Cover its message with its results.")
        if (seq, block) in taken:
            raise CannotCover(f"Block {block} of message {seq} is folded already. Unfold that first.")


def _place(path: PathItems, seq: int) -> int:
    place = path.place(seq)
    if place is None:
        raise CannotCover(f"There is no message {seq} on this branch. Cover messages that the view shows.")
    return place


def _ranges(path: PathItems, places: list[int]) -> Iterable[tuple[int, int]]:
    """Inclusive seq ranges over neighbouring places; a completion goes with what it completes."""
    start = previous = -1
    for place in places:
        if start >= 0 and all(path.items[between].kind == "completion" for between in range(previous + 1, place)):
            previous = place
            continue
        if start >= 0:
            yield path.items[start].seq, path.items[previous].seq
        start = previous = place
    if start >= 0:
        yield path.items[start].seq, path.items[previous].seq
