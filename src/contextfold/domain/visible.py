"""From all items on the path to those that show: uncovered ones, pins, and a stand-in for each outermost fold.

Runs at the speed of slices, because it happens after each fold, unfold, pin and rewind, in threads of any length.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress

from msgspec.structs import replace

from .fold_tree import Fold
from .items import Item
from .path_items import PathItems
from .shown import Shown


def build(path: PathItems, edited: Mapping[int, Item], folds: Sequence[Fold], pinned: Iterable[int]) -> Shown:
    """The array of visible items. `folds` are the outermost live ones, by place."""
    mask = visibility(path, folds, pinned)
    items: list[Item] = []
    cuts = bytearray()
    done = 0
    for fold in (*folds, None):
        stop = len(path) if fold is None else fold.place
        _show(path, edited, mask, done, stop, items, cuts)
        if fold is not None:
            items.append(Item(fold.seq, "stand_in", fold.event.shape))
            cuts.append(1)
        done = stop
    if path.has_system:
        _place_system(items)
    return Shown(items, cuts)


def _place_system(items: list[Item]) -> None:
    before = ""
    for index, item in enumerate(items):
        if item.shape.role == "system" and before != "user":
            items[index] = replace(item, displaced=True)
        if not item.shape.is_blank:
            before = item.shape.role


def placed(item: Item, shown: Sequence[Item]) -> Item:
    """The item as it stands behind these: a system message is displaced where nobody of the user's side spoke last.

    What is visible decides, not what was said: a fold may put a stand-in before it, or take the user's words away.
    """
    if item.shape.role != "system":
        return item
    before = next((each.shape.role for each in reversed(shown) if not each.shape.is_blank), "")
    return item if before == "user" else replace(item, displaced=True)


def visibility(path: PathItems, folds: Sequence[Fold], pinned: Iterable[int]) -> bytearray:
    """1 for each position that shows."""
    mask = bytearray(b"\x01") * len(path)
    for fold in folds:
        for start, stop in fold.spans:
            mask[start:stop] = bytes(stop - start)
    for seq in pinned:
        place = path.place(seq)
        if place is not None:
            start, stop = path.atom(place)
            mask[start:stop] = b"\x01" * (stop - start)
    return mask


def _show(
    path: PathItems,
    edited: Mapping[int, Item],
    mask: bytearray,
    start: int,
    stop: int,
    items: list[Item],
    cuts: bytearray,
) -> None:
    places = list(compress(range(start, stop), mask[start:stop]))
    first = len(items)
    items.extend(map(path.items.__getitem__, places))
    cuts.extend(map(path.starts.__getitem__, places))
    if edited:
        for index, place in enumerate(places, first):
            if place in edited:
                items[index] = edited[place]
    if places:
        cuts[first] = 1  # what follows a stand-in begins anew, also in the middle of what was one piece
