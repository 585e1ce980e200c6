"""A view: what the model sees next, and how large it is.

A view is made of *items*: messages as they were said, and the few things that stand between them. An item is an outline
with a place; its words are read when they are shown. Items never change: a folded block makes a new item that carries
the edit. The array of visible items (`Shown`) is append-only and shared: a view is this array and a length, so one more
message costs that message. Folding, unfolding, pinning and rewinding make a new array.

Sizes come in two steps. A `Measure` does not depend on a model, so it is stored with its event; a `Counter` turns
measures into tokens for one model. Only numbers live here, no way of getting them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias, overload

from msgspec import Struct
from msgspec.structs import replace

from .messages import Block, Measure, Message, Role, Shape, SpokenBy

ItemKind: TypeAlias = Literal["message", "stand_in", "completion", "attachment"]

# Fixed words, because a view must give the same bytes for the same history.
INTERRUPTED = "[No result: this call was interrupted before its tool answered.]"
LATE = "[Late result of tool call {call}]"


class Edit(Struct, frozen=True, gc=False, array_like=True):
    """A folded block: what stands in its place. An empty text leaves the block out."""

    block: int
    text: str


class FoldedBlock(Struct, frozen=True, gc=False, order=True, array_like=True):
    """A block that a fold of parts hides: the fold, and which of its texts stands in."""

    block: int
    fold: int
    text: int


class ViewItem(Struct, frozen=True, gc=False):
    """One place in a view."""

    seq: int  # the event behind it; a stand-in has its fold's, a completion that of the message that called
    kind: ItemKind
    shape: Shape
    edits: tuple[Edit, ...] = ()
    late: tuple[int, ...] = ()  # result blocks without an open call (too late, twice, unknown): shown as labelled text
    aliases: tuple[tuple[int, str], ...] = ()  # blocks whose call id was used before, and the id they are shown under
    displaced: bool = False  # a system message that does not stand right behind the user's side
    folded: tuple[FoldedBlock, ...] = ()  # what `edits` will be once the stand-ins' words are read

    @property
    def is_touched(self) -> bool:
        """Whether it must be rendered anew instead of being shown as it was given."""
        return bool(self.edits or self.late or self.aliases or self.displaced or self.folded)


def is_person(item: ViewItem) -> bool:
    """Whether a person spoke here, rather than a tool or her client, as it was judged when the message was appended.

    Older stores do not say: there it is the user's side, no results, something to read or see.
    """
    if item.kind != "message" or item.shape.role != "user":
        return False
    if item.shape.spoken_by:
        return item.shape.spoken_by == "person"
    says = False
    for block in item.shape.blocks:
        if block.kind == "result":
            return False
        says = says or block.size > 0 or block.kind != "text"
    return says


def spoken_by(item: ViewItem) -> SpokenBy:
    """Who spoke here, as far as that is known: what was added for the model at the end of a view is a client's."""
    return "client" if item.kind == "attachment" else item.shape.spoken_by


class Count(Struct, frozen=True):
    """Tokens, and how we know: exactly by a tokenizer, or estimated, by which method, in which parts."""

    tokens: int
    exact: bool
    method: str
    parts: Mapping[str, int] = {}
    bytes: int = 0
    images: int = 0


class Counter(Protocol):
    """Counts for one model. Implemented by the tokens room and by whoever plugs in a tokenizer."""

    @property
    def exact(self) -> bool:
        """Whether text is counted by the model's own vocabulary."""
        ...

    @property
    def method(self) -> str:
        """How it counts, in a word that reports repeat."""
        ...

    def shape(self, message: Message) -> Shape:
        """Weigh a message: the outline that is stored with it."""
        ...

    def knows(self, shape: Shape) -> bool:
        """Whether this outline holds what this counter needs; if not, the message must be weighed again."""
        ...

    def tokens(self, shape: Shape) -> int:
        """Tokens of one message in a request, overhead included, before calibration."""
        ...

    def block_tokens(self, measure: Measure) -> int:
        """Tokens of one block, before calibration."""
        ...


class Lens(Protocol):
    """How a view is read and weighed: given by whoever holds the log and knows the model."""

    def weigh(self, item: ViewItem) -> int:
        """Tokens of one item in a request, before calibration."""
        ...

    def read(self, item: ViewItem) -> Message:
        """The words of one item."""
        ...

    def unread(self, item: ViewItem) -> Callable[[], Message]:
        """The same, with the bytes taken from the log now, and read once this is called, on whichever thread."""
        ...

    def size(self, item: ViewItem) -> int:
        """Bytes of one item as it was given, whatever of it is folded."""
        ...

    def count(self, tokens: int, size: int, images: int) -> Count:
        """What a view of these raw totals amounts to for the model."""
        ...


class Shown:
    """Visible items with their running totals; index i of a total is the sum of the first i items."""

    __slots__ = ("_estimated", "_images", "_lens", "_sizes", "_tokens", "cuts", "items")

    def __init__(self, items: list[ViewItem], cuts: bytearray) -> None:
        self.items = items  # whoever follows the thread adds at the end of both
        self.cuts = cuts  # 1 where a cut in front of the item is legal
        self._lens: Lens | None = None
        self._tokens, self._sizes, self._images = [0], [0], [0]
        self._estimated: int | None = None  # the first item in which something can only be estimated

    def totals(self, lens: Lens, length: int) -> tuple[int, int, int]:
        """Tokens, bytes and images of the first `length` items; only what is new is weighed."""
        if lens is not self._lens or len(self._tokens) <= length:
            self._weigh(lens, length)
        return self._tokens[length], self._sizes[length], self._images[length]

    def is_estimated(self, length: int) -> bool:
        """Whether something among the first `length` items, which were weighed, can only be estimated."""
        return self._estimated is not None and self._estimated < length

    def running_tokens(self, lens: Lens, length: int) -> list[int]:
        """The running sum of tokens, at least `length + 1` long."""
        if lens is not self._lens or len(self._tokens) <= length:
            self._weigh(lens, length)
        return self._tokens

    def _weigh(self, lens: Lens, length: int) -> None:
        if lens is not self._lens:
            self._lens = lens
            self._tokens, self._sizes, self._images = [0], [0], [0]
        tokens, sizes, images = self._tokens, self._sizes, self._images
        for item in self.items[len(tokens) - 1 : length]:
            tokens.append(tokens[-1] + lens.weigh(item))
            sizes.append(sizes[-1] + item.shape.size)
            is_estimated = item.shape.is_estimated  # as every picture is
            images.append(images[-1] + (item.shape.images if is_estimated else 0))
            if is_estimated and self._estimated is None:
                self._estimated = len(images) - 2


class ViewMessage:
    """One message of a view. Its words are read when they are asked for."""

    __slots__ = ("_lens", "item")

    def __init__(self, item: ViewItem, lens: Lens) -> None:
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
    def unread(self) -> Callable[[], Message]:
        """The message itself, to be read later and elsewhere: what it takes from the log is taken now."""
        return self._lens.unread(self.item)

    @property
    def size(self) -> int:
        """Bytes of the message as it was given, whatever of it is folded."""
        return self._lens.size(self.item)

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

    def __init__(self, items: Sequence[ViewItem], lens: Lens) -> None:
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

    __slots__ = ("_lens", "_running", "array", "head", "length", "open_calls", "pinned")

    def __init__(
        self,
        shown: Shown,
        lens: Lens,
        head: int,
        open_calls: tuple[str, ...] = (),
        pinned: frozenset[int] = frozenset(),
    ) -> None:
        self._lens = lens
        self._running: list[int] | None = None  # sums of tokens, once somebody asks; they only grow
        self.array = shown  # shared with other views, for whoever extends something in step with it
        self.head, self.length = head, len(shown.items)
        self.open_calls = open_calls  # calls of the last turn that still wait for their results
        self.pinned = pinned  # seqs that no fold may take, with everything that stands or falls with them

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[ViewItem]:
        return iter(self.items)

    def __repr__(self) -> str:
        count = self.count
        about = "" if count.exact else "about "
        return f"<View of {self.length} messages at {self.head}: {about}{count.tokens:,} tokens>"

    @property
    def items(self) -> Sequence[ViewItem]:
        """The outlines in order. A copy: take it once."""
        return self.array.items[: self.length]

    def item(self, index: int) -> ViewItem:
        """One outline without copying the others; counted from the end where negative."""
        return self.array.items[index if 0 <= index < self.length else range(self.length)[index]]

    @property
    def messages(self) -> ViewMessages:
        """The same items as messages: sizes at once, words when they are looked at."""
        return ViewMessages(self.items, self._lens)

    @property
    def count(self) -> Count:
        """Tokens, exact or estimated, and how."""
        count = self._lens.count(*self.array.totals(self._lens, self.length))
        return replace(count, exact=False) if count.exact and self.array.is_estimated(self.length) else count

    def tokens(self, start: int = 0, stop: int | None = None) -> int:
        """Raw tokens of the items from `start` to before `stop`."""
        running = self._running
        if running is None:
            running = self._running = self.array.running_tokens(self._lens, self.length)
        return running[self.length if stop is None else stop] - running[start]

    def may_cut(self, index: int) -> bool:
        """Whether a view may begin, or a fold end, in front of this item."""
        return index == self.length or bool(self.array.cuts[index])

    def cut_at_or_after(self, index: int) -> int:
        """The first legal cut from here on; the end of the view always is one."""
        found = self.array.cuts.find(1, index, self.length)
        return self.length if found < 0 else found

    def cut_at_or_before(self, index: int) -> int:
        """The last legal cut up to here; the start of the view always is one."""
        return self.length if index >= self.length else max(self.array.cuts.rfind(1, 0, index + 1), 0)

    def tail_start(self, tokens: int) -> int:
        """Where the longest legal tail of at most this many raw tokens begins."""
        running = self.array.running_tokens(self._lens, self.length)
        edge = bisect_left(running, running[self.length] - tokens, 0, self.length)
        return self.cut_at_or_after(edge)

    def atoms(self) -> Iterator[tuple[int, int]]:
        """Half-open spans of items that stand or fall together."""
        start = 0
        while start < self.length:
            stop = self.cut_at_or_after(start + 1)
            yield start, stop
            start = stop
