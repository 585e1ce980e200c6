"""What a fold may cover: making a cover, and refusing one that would part what belongs together.

Only what is visible can be covered: whole atoms, blocks that can be stood in for, stand-ins that show. An open call and
a pinned message stay.
"""

from __future__ import annotations

from collections.abc import Iterable

from contextfold.errors import CannotCover

from .events import Cover
from .folds import visibility
from .path_items import PathItems
from .projection import Projection


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
    outermost = projection.folds.outermost()
    showing = {fold.seq for fold in outermost}
    hidden = [fold for fold in cover.folds if fold not in showing]
    if hidden:
        raise CannotCover(f"The stand-ins of folds {hidden} are not visible. Cover only what the view shows.")
    if cover.blocks and (cover.ranges or cover.folds):
        raise CannotCover("A fold covers whole messages or parts of messages. Make two folds.")
    mask = visibility(projection.items, outermost, projection.pins.messages)
    _check_messages(projection, cover, mask)
    _check_blocks(projection, cover, mask)


def _check_messages(projection: Projection, cover: Cover, mask: bytearray) -> None:
    path = projection.items
    covered = bytearray(len(path))
    inherited = [span for fold in cover.folds for span in projection.folds[fold].spans]
    _mark(mask, inherited)
    for first, last in cover.ranges:
        start, stop = path.span(first, last)
        if start >= stop or 0 in mask[start:stop]:
            raise CannotCover(f"Not all from seq {first} to {last} is visible. Cover only what the view shows.")
        _mark(covered, [(start, stop)])
    for seq in projection.pins.messages:
        place = path.place(seq)
        if place is not None and 1 in covered[slice(*path.atom(place))]:
            raise CannotCover(f"Message {seq} is pinned. Unpin it first, or leave it and what belongs to it out.")
    if covered and covered[-1] and path.is_open:
        raise CannotCover(
            "The last turn waits for tool results, or for what its reasoning leads to. Append that, or cover what "
            "comes before it."
        )
    _mark(covered, inherited)
    for first, last in cover.ranges:
        for place in path.span(first, last):
            _refuse_parting(path, covered, place)


def _mark(places: bytearray, spans: Iterable[tuple[int, int]]) -> None:
    for start, stop in spans:
        places[start:stop] = b"\x01" * (stop - start)


def _refuse_parting(path: PathItems, covered: bytearray, edge: int) -> None:
    """At an edge of a covered range, all of the atom there must be on one side."""
    if not 0 < edge < len(path) or path.starts[edge]:
        return
    start, stop = path.atom(edge)
    if 0 in covered[start:stop]:
        seqs = sorted({item.seq for item in path.items[start:stop]})
        raise CannotCover(
            f"Messages {seqs} stand or fall together (a call with its results, or reasoning with what it led to). "
            f"Cover all of them or none."
        )


def _check_blocks(projection: Projection, cover: Cover, mask: bytearray) -> None:
    path = projection.items
    taken = {(item.seq, part.block) for item in projection.edited_items() for part in item.folded}
    for seq, block in cover.blocks:
        place = path.place(seq)
        shape = path.items[place].shape if place is not None and mask[place] else None
        if shape is None or not 0 <= block < len(shape.blocks):
            raise CannotCover(f"There is no block {block} in a visible message {seq}. Look at the view's items.")
        if shape.blocks[block].kind == "call":
            raise CannotCover(f"Block {block} of message {seq} is a tool call. Cover its message with its results.")
        if shape.blocks[block].is_blank:
            raise CannotCover(f"Block {block} of message {seq} says nothing. There is nothing to stand in for.")
        if (seq, block) in taken:
            raise CannotCover(f"Block {block} of message {seq} is folded already, or named twice. Unfold it first.")
        taken.add((seq, block))


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
