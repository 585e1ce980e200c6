"""What a view looks like to a strategy: atoms with their weight, those that no strategy takes, and the tool results.

Never taken: what the system says, pins with whatever stands or falls with them, the live request, and the newest atom,
because that is what the model is to go on from. Results that are folded already are left out, because a block cannot be
folded twice. Nothing is chosen here; each strategy does that for itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise

from msgspec import Struct

from contextfold.domain import BlockShape, Message, View, ViewItem, ViewMessages, is_person
from contextfold.summaries import SourceMessage

from .plan import Situation


class Atom(Struct, frozen=True):
    """Items that stand or fall together: half-open places in the view, and their raw tokens."""

    start: int
    stop: int
    tokens: int

    @property
    def places(self) -> range:
        """Where its items stand in the view."""
        return range(self.start, self.stop)


class Survey:
    """One look at a view, taken once: O(view), which is fine because it happens only when folding."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.items: Sequence[ViewItem] = view.items
        self._read: dict[int, Message] = {}
        self.atoms = tuple(Atom(start, stop, view.tokens(start, stop)) for start, stop in view.atoms())

    @cached_property
    def messages(self) -> ViewMessages:
        """The words behind the items, read when they are looked at."""
        return self.view.messages

    def message(self, place: int) -> Message:
        """The words at a place, parsed once however many of their blocks are looked at."""
        if place not in self._read:
            self._read[place] = self.messages[place].message
        return self._read[place]

    @cached_property
    def live(self) -> int | None:
        """The place of the live request: the newest message of a person."""
        return next((place for place in reversed(range(len(self.items))) if is_person(self.items[place])), None)

    @cached_property
    def turn(self) -> int:
        """Where the live turn begins; without a person, at the newest atom."""
        return self.newest if self.live is None else self.live

    @cached_property
    def first(self) -> Atom | None:
        """The first message of the conversation with what belongs to it, if it still shows."""
        said = (atom for atom in self.atoms if self.items[atom.start].shape.role != "system")
        atom = next(said, None)
        return atom if atom is not None and self.items[atom.start].kind == "message" else None

    @cached_property
    def unseen(self) -> int:
        """Where the items begin that no answer has followed yet."""
        last = (place for place in reversed(range(len(self.items))) if self.items[place].shape.role == "assistant")
        return next(last, -1) + 1

    @cached_property
    def fixed(self) -> frozenset[int]:
        """Places that stay in the view whatever happens."""
        kept = (atom for atom in self.atoms if any(self._stays(place) for place in atom.places))
        return frozenset((*(place for atom in kept for place in atom.places), *self._last()))

    def _last(self) -> Iterator[int]:
        """The newest atom and what stands behind it, but not what was attached there.

        Behind an answer the first attachment stays: it makes it the model's turn again.
        """
        hands_over = False
        for place in range(self.newest, len(self.items)):
            item = self.items[place]
            if item.kind != "attachment" or hands_over:
                yield place
            hands_over = item.shape.role == "assistant" or (hands_over and item.shape.is_blank)

    @cached_property
    def newest(self) -> int:
        """Where the newest atom that says something begins; what was attached behind it said nothing new."""
        says = [atom for atom in reversed(self.atoms) if not all(self.items[p].shape.is_blank for p in atom.places)]
        said = (atom for atom in says if any(self.items[place].kind != "attachment" for place in atom.places))
        return next((atom.start for atom in (*said, *says)), 0)

    def _stays(self, place: int) -> bool:
        item = self.items[place]
        return item.shape.role == "system" or place == self.live or self._is_pinned(item)

    def _is_pinned(self, item: ViewItem) -> bool:
        return item.kind != "stand_in" and item.seq in self.view.pinned

    @cached_property
    def pinned(self) -> frozenset[int]:
        """Places of pinned messages and of whatever stands or falls with them."""
        kept = (atom for atom in self.atoms if any(self._is_pinned(self.items[place]) for place in atom.places))
        return frozenset(place for atom in kept for place in atom.places)

    @cached_property
    def loose(self) -> tuple[Atom, ...]:
        """The atoms that may be folded, oldest first."""
        return tuple(atom for atom in self.atoms if atom.start not in self.fixed)

    def is_kept_by_force(self, atom: Atom) -> bool:
        """Whether somebody pinned it, or the system said it: nothing takes that, whatever size is asked for."""
        return any(place in self.pinned or self.items[place].shape.role == "system" for place in atom.places)

    def is_stand_in(self, atom: Atom) -> bool:
        """Whether it shows a fold: such an atom is one item."""
        return self.items[atom.start].kind == "stand_in"

    # -- from atoms to what a fold names ------------------------------------------------------------------------

    def seqs(self, atoms: Iterable[Atom]) -> tuple[int, ...]:
        """The messages and attachments in these atoms."""
        chosen = (self.items[place] for atom in atoms for place in atom.places)
        return tuple(sorted({item.seq for item in chosen if item.kind != "stand_in"}))

    def folds(self, atoms: Iterable[Atom]) -> tuple[int, ...]:
        """The folds whose stand-ins are in these atoms."""
        chosen = (self.items[place] for atom in atoms for place in atom.places)
        return tuple(sorted(item.seq for item in chosen if item.kind == "stand_in"))

    def count(self, atoms: Iterable[Atom]) -> int:
        """How many messages were said in these atoms."""
        return sum(self.items[place].kind == "message" for atom in atoms for place in atom.places)

    def sources(self, atoms: Iterable[Atom]) -> tuple[SourceMessage, ...]:
        """The words of these atoms as they were said, before any block of them was folded; no stand-ins."""
        return tuple(
            SourceMessage(self.items[place].seq, self._read.get(place) or self.messages[place].unread)
            for atom in atoms
            for place in atom.places
            if self.items[place].kind in ("message", "attachment")
        )

    def ranges(self, atoms: Iterable[Atom]) -> tuple[tuple[int, int], ...]:
        """The seqs that a fold of these atoms stands for, as its stand-in names them.

        A covered stand-in counts for what it hides: whatever no longer shows, as long as no other stand-in is left.
        """
        covered = frozenset(place for atom in atoms for place in atom.places)
        said, staying, folds, others = set[int](), set[int](), list[int](), 0
        for place, item in enumerate(self.items):
            if item.kind != "stand_in":
                (said if place in covered else staying).add(item.seq)
            elif place in covered:
                folds.append(item.seq)
            else:
                others += 1
        if folds and not (said and others):
            return _between(sorted(staying), max(said, default=max(folds) - 1))
        return _parted(sorted(said), sorted(staying))


def _between(staying: Sequence[int], last: int) -> tuple[tuple[int, int], ...]:
    """Everything up to `last` but these."""
    edges = [0, *(seq for seq in staying if seq <= last), last + 1]
    return tuple((before + 1, after - 1) for before, after in pairwise(edges) if after - before > 1)


def _parted(said: Sequence[int], staying: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """These in as few ranges as hold none of those."""
    groups = groupby(said, key=lambda seq: bisect_left(staying, seq))
    runs = (list(run) for _, run in groups)
    return tuple((run[0], run[-1]) for run in runs)


# -- tool results -----------------------------------------------------------------------------------------------------


class Result(Struct, frozen=True):
    """One result block: where it stands, what it weighs, and the call it answers."""

    place: int
    seq: int
    block: int
    tokens: int
    tool: str
    call: str
    caller: int | None  # the place of the message that called; None where the call does not show
    shape: BlockShape

    @property
    def has_media(self) -> bool:
        """Whether pictures or files are in it; where their number is the trouble, its size does not matter."""
        return bool(self.shape.measure.media)


def results_in(survey: Survey, situation: Situation) -> Iterator[Result]:
    """Every result that shows in full, oldest first."""
    called: dict[str, tuple[int, str]] = {}
    for place, item in enumerate(survey.items):
        if item.kind != "message":
            continue
        folded = frozenset(part.block for part in item.folded)
        for index, block in enumerate(item.shape.blocks):
            if block.kind == "call":
                called[block.call] = place, block.name
            elif block.kind == "result" and index not in folded:
                caller, tool = called.get(block.call, (None, block.name))
                tokens = situation.weigh(item, index)
                yield Result(place, item.seq, index, tokens, tool or block.name, block.call, caller, block)


def arguments_of(survey: Survey, result: Result) -> str:
    """What the tool was called with, as the model wrote it."""
    if result.caller is None:
        return ""
    calls = survey.message(result.caller).calls
    return next((call.arguments for call in calls if call.id == result.call), "")
