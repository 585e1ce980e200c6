"""A view: what the model sees next. A read-only window on an array that others may go on extending."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import overload

from .blocks import Block
from .counts import Count
from .items import Item, ItemKind
from .messages import Message, Role
from .shown import Lens, Shown


class ViewMessage:
    """One message of a view. Its words are read when they are asked for."""

    __slots__ = ("_lens", "item")

    def __init__(self, item: Item, lens: Lens) -> None:
        self.item, self._lens = item, lens

    @property
    def seq(self) -> int:
        """The event behind it: the message's own, the fold's for a stand-in."""
        return self.item.seq

    @property
    def kind(self) -> ItemKind:
        """A message, or what contextfold put there: a stand-in, an attachment, a completion."""
        return self.item.kind

    @property
    def role(self) -> Role:
        """Who says it, in neutral words: a tool's answer is the user's side."""
        return self.item.shape.role

    @property
    def tokens(self) -> int:
        """Its share of the view's raw count."""
        return self._lens.weigh(self.item)

    @property
    def message(self) -> Message:
        """The message itself, read from the log when it is first asked for."""
        return self._lens.read(self.item)

    @property
    def raw(self) -> bytes:
        """The original bytes, as they were appended; empty for what contextfold put there itself."""
        return self.message.raw

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Its pieces in order."""
        return self.message.blocks

    @property
    def text(self) -> str:
        """Its words; what tools answered is not among them."""
        return self.message.text

    def __repr__(self) -> str:
        return f"<{self.kind} seq={self.seq} role={self.role}>"


class ViewMessages(Sequence[ViewMessage]):
    """The messages of a view, made one by one as they are looked at."""

    def __init__(self, items: Sequence[Item], lens: Lens) -> None:
        self._items, self._lens = items, lens

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> ViewMessage: ...
    @overload
    def __getitem__(self, index: slice) -> ViewMessages: ...
    def __getitem__(self, index: int | slice) -> ViewMessage | ViewMessages:
        if isinstance(index, slice):
            return ViewMessages(self._items[index], self._lens)
        return ViewMessage(self._items[index], self._lens)


class View:
    """What the model sees next: items in order, where they may be cut, and what they amount to."""

    __slots__ = ("_lens", "_shown", "head", "length", "open_calls", "pinned")

    def __init__(
        self,
        shown: Shown,
        lens: Lens,
        head: int,
        open_calls: tuple[str, ...] = (),
        pinned: frozenset[int] = frozenset(),
    ) -> None:
        self._shown, self._lens = shown, lens
        self.head, self.length = head, len(shown.items)
        self.open_calls = open_calls  # calls of the last turn that still wait for their results
        self.pinned = pinned  # seqs that no fold may take, with everything that stands or falls with them

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __repr__(self) -> str:
        count = self.count
        about = "" if count.exact else "about "
        return f"<View of {self.length} messages at {self.head}: {about}{count.tokens:,} tokens>"

    @property
    def items(self) -> Sequence[Item]:
        """The outlines in order. A copy: take it once."""
        return self._shown.items[: self.length]

    def item(self, index: int) -> Item:
        """One outline without copying the others; counted from the end where negative."""
        return self._shown.items[range(self.length)[index]]

    @property
    def messages(self) -> ViewMessages:
        """The same items as messages: sizes at once, words when they are looked at."""
        return ViewMessages(self.items, self._lens)

    @property
    def array(self) -> Shown:
        """The shared array behind this view, for whoever extends something in step with it."""
        return self._shown

    @property
    def count(self) -> Count:
        """Tokens, exact or estimated, and how."""
        return self._lens.count(*self._shown.totals(self._lens, self.length))

    def tokens(self, start: int = 0, stop: int | None = None) -> int:
        """Raw tokens of the items from `start` to before `stop`."""
        stop = self.length if stop is None else stop
        running = self._shown.running_tokens(self._lens, self.length)
        return running[stop] - running[start]

    def may_cut(self, index: int) -> bool:
        """Whether a view may begin, or a fold end, in front of this item."""
        return index == self.length or bool(self._shown.cuts[index])

    def cut_at_or_after(self, index: int) -> int:
        """The first legal cut from here on; the end of the view always is one."""
        found = self._shown.cuts.find(1, index, self.length)
        return self.length if found < 0 else found

    def cut_at_or_before(self, index: int) -> int:
        """The last legal cut up to here; the start of the view always is one."""
        return self.length if index >= self.length else max(self._shown.cuts.rfind(1, 0, index + 1), 0)

    def tail_start(self, tokens: int) -> int:
        """Where the longest legal tail of at most this many raw tokens begins."""
        running = self._shown.running_tokens(self._lens, self.length)
        edge = bisect_left(running, running[self.length] - tokens, 0, self.length)
        return self.cut_at_or_after(edge)

    def atoms(self) -> Iterator[tuple[int, int]]:
        """Half-open spans of items that stand or fall together."""
        start = 0
        while start < self.length:
            stop = self.cut_at_or_after(start + 1)
            yield start, stop
            start = stop
