"""What a summary would leave in view, whatever it is asked to come down to: kept in step, one new message at a time.

A fold costs what it leaves to be written anew, so its price must know what no fold takes: the first message in front of
it, and behind it the newest exchange, the live request, pins and the user's own words. It mirrors `Summary` over a
`Survey`, which read the whole view, and chooses nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from contextfold.domain import Item, View

from .survey import is_person


@dataclass(slots=True)
class Staying:
    """Raw tokens that stay, by where they stand to a summary."""

    first: int = 0  # up to the first message, in front of it: still cached afterwards
    newest: int = 0  # the newest exchange: most of it was never sent
    pinned: int = 0
    live: int = 0  # the newest words of a person, where they stand in front of the newest exchange
    said: int = 0  # older words of people
    _array: object = None
    _length: int = 0
    _first: int = -1
    _newest: int = 0
    _spoke: int = -1
    _words: int = 0

    def follow(self, view: View) -> None:
        """Take what is new in the view."""
        if view.array is not self._array or view.length < self._length:
            self._array, self._length, self._first, self._newest, self._spoke = view.array, 0, -1, 0, -1
            self.first = self.pinned = self.said = self._words = 0
        for place in range(self._length, view.length):
            self._take(place, view.item(place), view)
        self._length = view.length
        self.newest = view.tokens(max(self._newest, self._first + 1))
        self.live = self._words if self._spoke < self._newest else 0

    def _take(self, place: int, item: Item, view: View) -> None:
        is_system = item.shape.role == "system"
        if self._first < 0 and not is_system:
            self._first = place if item.kind == "message" else place - 1
            self.first = view.tokens(0, self._first + 1)
        if item.kind != "attachment" and not item.shape.results:
            self._newest = place
        if place <= self._first:
            return
        tokens = view.tokens(place, place + 1)
        if is_person(item):
            self.said += self._words
            self._spoke, self._words = place, tokens
        elif is_system or (item.seq in view.pinned and item.kind != "stand_in"):
            self.pinned += tokens
