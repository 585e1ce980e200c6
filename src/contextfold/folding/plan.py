"""What strategies decide by and what they propose: the situation and the view as they see it, and plans of folds.

A plan is made of the view as it was seen; covers are made and checked on the thread as it is when they are written.

A view is atoms with their weight, those that no strategy takes, and the tool results. Never taken: what the system
says, pins with whatever stands or falls with them, the live request, and the newest atom, because that is what the
model is to go on from. Results that are folded already are left out, because a block cannot be folded twice. Nothing is
chosen here; each strategy does that for itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, Protocol, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from contextfold.domain import (
    BlockShape,
    Counter,
    Detail,
    FoldKind,
    Message,
    StandIn,
    View,
    ViewItem,
    ViewMessages,
    is_person,
    spoken_by,
)
from contextfold.models import Model
from contextfold.summaries import Language, Notebook, Refusal, SourceMessage, SummaryRequest

from .economics import Budget

MOST_READ = 4 << 20  # bytes of messages that a look at a view holds parsed
SMALL = 32_000  # tokens; a size that is asked for and no larger is filled

Words: TypeAlias = Callable[[int, str], StandIn]  # (the fold's id, the summary it asked for) -> what stands in


class Compacted(Struct, frozen=True):
    """What a provider made of a conversation: its own message as JSON, what can be read of it, and the cost."""

    wire: str
    text: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


# Has a provider compact the conversation of a request: (body, dialect) -> what it made, now or later.
Compactor: TypeAlias = Callable[[Mapping[str, Any], str], Compacted | Awaitable[Compacted]]


class PlannedFold(Struct, frozen=True):
    """One fold: the visible messages (by seq), stand-ins (by fold) or blocks it hides, and its words.

    `words` gets the fold's id, which is known when it is written, and the summary's text if `summary` asked for one.
    """

    kind: FoldKind
    words: Words
    seqs: tuple[int, ...] = ()
    folds: tuple[int, ...] = ()
    blocks: tuple[tuple[int, int], ...] = ()
    summary: SummaryRequest | None = None
    notebook: Notebook | None = None  # what a digest of that summary is made with, and the next one goes on with
    compactor: Compactor | None = None  # the provider itself is asked; `words` gets its `Compacted` as JSON
    details: Mapping[str, Detail] = field(default_factory=dict)

    def within(self, budget: int) -> PlannedFold:
        """The same fold with a summary of this size."""
        return self if self.summary is None else replace(self, summary=replace(self.summary, budget=budget))


class Plan(Struct, frozen=True):
    """What a strategy proposes, or why it proposes nothing."""

    folds: tuple[PlannedFold, ...] = ()
    refusal: Refusal | None = None

    @classmethod
    def nothing(cls, why: Refusal = Refusal.NOTHING_TO_FOLD) -> Plan:
        """No fold, and why."""
        return cls(refusal=why)


class WholeRequest(Struct, frozen=True):
    """The request as it would be sent, before anything is folded: what a provider's cache holds the beginning of."""

    dialect: str
    tokens: int
    body: Callable[[], bytes]
    is_shown: bool = True  # whoever writes a summary may read it, and not only what is to be covered
    seen: str = ""  # kept with summaries: what their writer could read beside the messages


class Situation(Struct, frozen=True):
    """All a strategy may know beside the view. Tokens are calibrated; `raw` turns them into the view's raw ones."""

    budget: Budget
    model: Model
    used: int  # tokens of the whole request as it stands
    goal: int  # tokens the whole request should come down to
    trigger: str  # what asked for folding, e.g. "percent", "ladder-90", "explicit"
    factor: float = 1.0  # calibrated = raw * factor
    language: Language = "en"
    nonce: str = ""  # of frames; without one, each is made from what it frames
    instructions: str = ""  # the user's, for a summary
    count: Callable[[str], int] = len  # raw tokens of a text
    weigh: Callable[[ViewItem, int], int] = lambda _item, _block: 0  # raw tokens of one block of an item
    subject: Callable[[ViewItem], object] = lambda _item: None  # what an attachment is about; None stands for itself
    previous: Mapping[int, str] = field(default_factory=dict)  # texts of the summaries that show, by fold
    behind: Callable[[int], Iterable[ViewItem]] = lambda _fold: ()  # the items that a fold hides, newest first
    notebook: Callable[[Sequence[int]], Notebook | None] = lambda _folds: None  # of which the text of these was made
    read: Callable[[ViewItem], Message] = lambda item: Message(item.shape.role, ())  # an item as it was said
    is_forced: bool = False  # the request does not fit: worth doing whatever it costs
    conversation: WholeRequest | None = None  # for a summary by the model that is spoken to
    compacts: Callable[[str], bool] = lambda _dialect: False  # whether its provider compacts on demand in a dialect

    @property
    def surplus(self) -> int:
        """Raw tokens that must leave the view to reach the goal."""
        return max(0, int((self.used - self.goal) / self.factor) + 1) if self.used > self.goal else 0

    @property
    def asks_for_a_small_size(self) -> bool:
        """Whether somebody asked for a size that a digest can fill."""
        return self.trigger == "explicit" and self.goal - self.budget.fixed <= SMALL

    def raw(self, tokens: int) -> int:
        """Calibrated tokens in the view's raw ones."""
        return int(tokens / self.factor)


class Strategy(Protocol):
    """Decides what to fold: a plain, deterministic function of values. Never does I/O, never calls a model."""

    @property
    def name(self) -> str:
        """What folds of this strategy are called in the log."""
        ...

    def plan(self, view: View, situation: Situation) -> Plan:
        """Which items to fold and what stands in for them, or why nothing; the pipeline checks and carries it out."""
        ...


def hidden(counter: Counter, view: View, planned: PlannedFold) -> int:
    """Raw tokens that a planned fold would hide."""
    if planned.blocks:
        wanted = set(planned.blocks)
        return sum(
            counter.block_tokens(block.measure)
            for item in view.items
            if item.kind in ("message", "attachment")
            for index, block in enumerate(item.shape.blocks)
            if (item.seq, index) in wanted
        )
    seqs, folds = set(planned.seqs), set(planned.folds)
    return sum(
        view.tokens(index, index + 1)
        for index, item in enumerate(view.items)
        if (item.seq in folds if item.kind == "stand_in" else item.seq in seqs)
    )


# -- a view as strategies see it --------------------------------------------------------------------------------------


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
        self._held = 0  # bytes of those
        self.atoms = tuple(Atom(start, stop, view.tokens(start, stop)) for start, stop in view.atoms())

    @cached_property
    def messages(self) -> ViewMessages:
        """The words behind the items, read when they are looked at."""
        return self.view.messages

    def message(self, place: int) -> Message:
        """The words at a place, parsed once however many of their blocks are looked at, as long as there is room."""
        if place not in self._read:
            while self._read and self._held > MOST_READ:
                self._held -= self.items[next(iter(self._read))].shape.size
                del self._read[next(iter(self._read))]
            self._read[place] = self.messages[place].message
            self._held += self.items[place].shape.size
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
        staying = {
            place
            for place, item in enumerate(self.items)
            if item.shape.role == "system" or place == self.live or self._is_pinned(item)
        }
        kept = (atom for atom in self.atoms if not staying.isdisjoint(atom.places))
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
            SourceMessage(
                self.items[place].seq,
                self._read.get(place) or self.messages[place].unread,
                spoken_by=spoken_by(self.items[place]),
            )
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
            last = max(said, default=max(folds) - 1)  # everything up to there but what stays
            edges = [0, *(seq for seq in sorted(staying) if seq <= last), last + 1]
            return tuple((before + 1, after - 1) for before, after in pairwise(edges) if after - before > 1)
        kept = sorted(staying)  # as few ranges as hold none of them
        runs = (list(run) for _, run in groupby(sorted(said), key=lambda seq: bisect_left(kept, seq)))
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
