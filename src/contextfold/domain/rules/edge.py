"""Two neighbours in a thread, as the cut rules see them."""

from __future__ import annotations

from typing import NamedTuple

from contextfold.domain.items import Item


class Edge(NamedTuple):
    """The place between two items, the calls still open there, and whether reasoning there waits for its successor."""

    before: Item
    after: Item
    open: tuple[str, ...] = ()
    leads: bool = False
