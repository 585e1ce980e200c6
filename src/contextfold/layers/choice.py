"""Which items of each layer are shown: chosen by priority, shown by sequence, within the room there is.

Each layer fills its own share first; what nobody needs flows on, the most important layer first. An item too large for
what is left is passed over and tried again in a shorter form. Every item that is not shown has a reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct, field

from .item import kind_of
from .layer import Layer, Layout
from .relevance import decayed
from .renditions import Outcome, Renditions, rendered
from .state import Entry, State

Reason: TypeAlias = Literal["no room", "not relevant", "too large"]

LEAST = 48  # tokens of a shortened item; less would tell nothing
MOST_SHORTENED = 3  # of one layer


class ShownItem(NamedTuple):
    """An item as the model will see it."""

    seq: int
    page: int
    place: int  # in the order in which items were noted
    text: str
    tokens: int
    outcome: Outcome = Outcome.FITTED


class LeftOut(Struct, frozen=True):
    """An item the model will not see, and why. `tokens` is what it would take, with whatever belongs to it."""

    seq: int
    kind: str
    tokens: int
    reason: Reason


class Group(NamedTuple):
    """Entries that stand or fall together, with their size and rank."""

    entries: tuple[tuple[int, Entry], ...]
    tokens: int
    rank: tuple[bool, float, int]
    is_relevant: bool
    pages: frozenset[int] = frozenset({0})


class Ranked(Struct, frozen=True, dict=True):
    """The groups of one layer, the most important first."""

    groups: tuple[Group, ...] = ()

    def needed(self, head: int, *, relevant: bool = False) -> int:
        """Tokens of all of them, or of those that matter to the task, with a frame for each page."""
        tokens, pages = self._relevant if relevant else self._all
        return tokens + head * pages

    @cached_property
    def _all(self) -> tuple[int, int]:
        return _sum(self.groups)

    @cached_property
    def _relevant(self) -> tuple[int, int]:
        return _sum([group for group in self.groups if group.is_relevant])

    @cached_property
    def smallest(self) -> int:
        return min((group.tokens for group in self.groups), default=0)


def _sum(groups: Sequence[Group]) -> tuple[int, int]:
    """Tokens and pages of these groups."""
    pages: set[int] = set()
    return sum(group.tokens for group in groups), len(pages.union(*(group.pages for group in groups)))


class Filling(Struct):
    """A layer while it is being filled."""

    layer: Layer
    ranked: Ranked
    head: int = 0  # tokens of a page's frame and of what always stands in it
    pages: frozenset[int] = frozenset()  # those whose frame is paid for
    says_something: bool = False  # without any item
    used: int = 0
    limit: int = -1  # within which it was filled at first
    shown: list[ShownItem] = field(default_factory=list)
    waiting: Sequence[Group] = ()

    def begin(self, limit: int) -> None:
        """Pay for the frame of the first page, where it says something even without an item."""
        if self.head <= limit:
            self.used, self.pages, self.says_something = self.head, frozenset({0}), True

    def fill(self, limit: int, renditions: Renditions, *, irrelevant: bool = False) -> None:
        """Take what fits, the most important first; what does not is passed over."""
        room, smallest = limit - self.used, self.ranked.smallest
        if room < smallest:
            return
        left: list[Group] = []
        for at, group in enumerate(self.waiting):
            if group.tokens > room or not (group.is_relevant or irrelevant) or self._cost(group) > room:
                left.append(group)
                continue
            self._take(group, self._cost(group))
            for place, entry in group.entries:
                self.shown.append(ShownItem(entry.seq, entry.page, place, *renditions.of(entry)))
            room = limit - self.used
            if room < smallest:
                left += self.waiting[at + 1 :]
                break
        self.waiting = left

    def shorten(self, limit: int, renditions: Renditions) -> None:
        """Of those that were passed over, the first few in a shorter form."""
        for group in [each for each in self.waiting if len(each.entries) == 1 and each.is_relevant][:MOST_SHORTENED]:
            around = self._cost(group) - group.tokens
            room = limit - self.used - around
            if room < LEAST:
                return
            place, entry = group.entries[0]
            found = rendered(entry.item, renditions.nonce, entry.seq, room, renditions.line)
            if found.content is not None:
                self._take(group, found.tokens + around)
                self.shown.append(ShownItem(entry.seq, entry.page, place, found.content, found.tokens, found.outcome))
                self.waiting = [each for each in self.waiting if each is not group]

    def same_as(self, other: Filling, limit: int) -> bool:
        """Whether another filling of this layer began with the same, within the same limit."""
        return other.ranked is self.ranked and other.head == self.head and other.limit == limit

    def drop_one(self) -> None:
        """The least important item goes, with whatever belongs to it; where there is none, what frames them does."""
        if not self.shown:
            self.pages = frozenset()
            return
        gone = self.shown[-1].seq
        group = next(each for each in self.ranked.groups if any(entry.seq == gone for _, entry in each.entries))
        seqs = {entry.seq for _, entry in group.entries}
        self.shown = [each for each in self.shown if each.seq not in seqs]
        self.waiting = [*self.waiting, group]
        self.pages = frozenset(each.page for each in self.shown) | frozenset({0} if self.says_something else ())

    def _cost(self, group: Group) -> int:
        """Tokens of a group and of the frames of pages that nothing stands on yet."""
        return group.tokens + (0 if group.pages <= self.pages else self.head * len(group.pages - self.pages))

    def _take(self, group: Group, tokens: int) -> None:
        self.used += tokens
        if not group.pages <= self.pages:
            self.pages |= group.pages


def left_out(waiting: Sequence[Group], limit: int) -> Iterator[LeftOut]:
    """Each item of these groups, and why it is not shown."""
    for group in waiting:
        reason: Reason = "too large" if group.tokens > limit else "no room"
        for _, entry in group.entries:
            told = reason if group.is_relevant else "not relevant"
            yield LeftOut(entry.seq, kind_of(entry.item), group.tokens, told)


def ranked(layer: Layer, held: Sequence[Entry], state: State, layout: Layout, renditions: Renditions) -> Ranked:
    """The entries of a layer in groups, by relevance, weight and order."""
    query = state.task.words if layer.by_relevance and state.task is not None else ""
    relevance = renditions.scores(held, query, layout.relevance) if query else [1.0] * len(held)
    newest = sorted((entry.seq for entry in held), reverse=True)
    newer = {seq: at for at, seq in enumerate(newest)}
    groups: dict[object, list[tuple[int, Entry, float, bool]]] = {}
    for place, (entry, score) in enumerate(zip(held, relevance, strict=True)):
        rank = decayed(score * entry.item.weight, newer[entry.seq])
        is_relevant = entry.item.always or score >= layout.threshold
        groups.setdefault(entry.item.together or entry.seq, []).append((place, entry, rank, is_relevant))
    made = (_group(each, renditions) for each in groups.values())
    return Ranked(tuple(sorted(made, key=lambda group: (group.is_relevant, group.rank), reverse=True)))


def _group(members: Sequence[tuple[int, Entry, float, bool]], renditions: Renditions) -> Group:
    """Ranked by the best of them."""
    if len(members) == 1:
        place, entry, rank, is_relevant = members[0]
        ranks, tokens = (entry.item.always, rank, entry.seq), renditions.of(entry)[1]
        return Group(((place, entry),), tokens, ranks, is_relevant, _on(entry.page))
    entries = tuple((place, entry) for place, entry, _, _ in members)
    best = max((entry.item.always, rank, entry.seq) for _, entry, rank, _ in members)
    tokens = sum(renditions.of(entry)[1] for _, entry in entries)
    pages = frozenset(entry.page for _, entry in entries)
    return Group(entries, tokens, best, any(each[3] for each in members), pages)


@lru_cache(maxsize=1024)
def _on(page: int) -> frozenset[int]:
    """One page; made once, because there is one for each item."""
    return frozenset({page})


def fill_share(filling: Filling, limit: int, layout: Layout, renditions: Renditions) -> Filling:
    """A layer within what it was given."""
    filling.limit = limit
    filling.fill(limit, renditions)
    if not layout.drops_irrelevant:
        filling.fill(limit, renditions, irrelevant=True)
    return filling


def fill_rest(made: Sequence[Filling], total: int, layout: Layout, renditions: Renditions) -> None:
    """Whatever is left over, by priority."""
    irrelevant = not layout.drops_irrelevant
    by_priority = sorted(made, key=lambda each: each.layer.priority)
    for step in ("more", "shorter", "irrelevant"):
        for each in by_priority:
            limit = each.used + total - sum(filling.used for filling in made)
            if not each.waiting or limit <= each.used:
                continue
            if step == "shorter":
                each.shorten(limit, renditions)
            elif step == "more" or irrelevant:
                each.fill(limit, renditions, irrelevant=step == "irrelevant")
