"""What a thread should show, worked out in the plainest way: a list of everything, read from scratch each time.

Shares no code with the projection and knows nothing of arrays, spans or masks. Slow on purpose; every answer follows
from the words of the design: a message shows if no live fold covers it, a stand-in shows if its fold is live and no
other fold took it over, a pin keeps a whole atom.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

Id = tuple[str, int]  # ("said", seq), or ("completion", seq of the message it follows)


@dataclass(frozen=True)
class Said:
    """A message or an attachment, as far as it matters here: kind of block, call id, whether it says nothing."""

    kind: str
    role: str
    blocks: tuple[tuple[str, str, bool], ...]

    @cached_property
    def is_blank(self) -> bool:
        return all(blank for _, _, blank in self.blocks)

    @cached_property
    def is_thought(self) -> bool:
        return self.role == "assistant" and bool(self.blocks) and all(kind == "reasoning" for kind, _, _ in self.blocks)


@dataclass(frozen=True)
class Did:
    """Anything else on a branch. For a fold: the covered seqs, blocks and folds."""

    verb: str  # fold, unfold, pin, unpin, note
    target: int = 0
    seqs: frozenset[int] = frozenset()
    blocks: tuple[tuple[int, int], ...] = ()
    folds: frozenset[int] = frozenset()


@dataclass
class Place:
    """One item on the path, hidden or not."""

    id: Id
    said: Said | None  # None for a completion
    late: tuple[int, ...] = ()
    aliases: tuple[tuple[int, str], ...] = ()
    calls: tuple[str, ...] = ()  # the calls made here, or completed here, under the ids they are shown by
    answers: tuple[str, ...] = ()
    caller: int = 0


@dataclass(frozen=True)
class Shows:
    """One line of a view."""

    kind: str
    seq: int
    late: tuple[int, ...] = ()
    aliases: tuple[tuple[int, str], ...] = ()
    completes: tuple[str, ...] = ()
    folded: tuple[tuple[int, int, int], ...] = ()
    displaced: bool = False


@dataclass
class Reference:
    """A thread: every branch event with its parent, and the head."""

    events: dict[int, tuple[int, Said | Did]] = field(default_factory=dict)
    head: int = 0
    left: list[int] = field(default_factory=list)

    def happen(self, seq: int, event: Said | Did) -> None:
        self.events[seq] = (self.head, event)
        self.head = seq
        self.left = []

    def rewind(self, to: int) -> None:
        self.left = [*self.left, self.head]
        self.head = to

    def redo(self) -> int:
        *self.left, self.head = self.left
        return self.head

    def fork(self, at: int) -> Reference:
        return Reference({seq: event for seq, event in self.events.items() if seq <= at}, at)

    def path(self) -> list[int]:
        seqs: list[int] = []
        seq = self.head
        while seq:
            seqs.insert(0, seq)
            seq = self.events[seq][0]
        return seqs

    def now(self) -> Moment:
        return Moment([(seq, self.events[seq][1]) for seq in self.path()])


class Moment:
    """Everything there is to know of a branch, computed once, from nothing."""

    def __init__(self, branch: list[tuple[int, Said | Did]]) -> None:
        self.branch = branch
        self.places, self.waiting = _places(branch)
        self.atoms = _atoms(self.places)
        self.pinned = self._pinned()
        self.folds = dict(self._did("fold"))
        gone = {event.target for _, event in self._did("unfold")}
        self.live = {seq: event for seq, event in self.folds.items() if seq not in gone}
        self.hides = {fold: self._hides(fold) for fold in self.folds}
        self.showing = [fold for fold in self.live if self.hides[fold] and not self._is_taken_over(fold)]
        self.hidden = self._hidden()

    def _did(self, verb: str) -> list[tuple[int, Did]]:
        return [(seq, event) for seq, event in self.branch if isinstance(event, Did) and event.verb == verb]

    def _pinned(self) -> set[int]:
        marks = {}
        for _, event in self.branch:
            if isinstance(event, Did) and event.verb in ("pin", "unpin"):
                marks[event.target] = event.verb == "pin"
        return {message for message, is_pinned in marks.items() if is_pinned}

    def _hides(self, fold: int) -> set[Id]:
        """Everything a fold stands for, with what it took over."""
        own = {place.id for place in self.places if place.id[1] in self.folds[fold].seqs}
        return own.union(*(self._hides(inner) for inner in self.folds[fold].folds))

    def _is_taken_over(self, fold: int) -> bool:
        """Whether its stand-in is hidden: behind a live fold, or behind one whose stand-in is hidden itself."""
        takers = [seq for seq, event in self.folds.items() if fold in event.folds]
        return any(taker in self.live or self._is_taken_over(taker) for taker in takers)

    def _hidden(self) -> set[Id]:
        covered: set[Id] = set().union(*(self.hides[fold] for fold in self.live))
        pinned = {("said", seq) for seq in self.pinned}
        return covered.difference(*(atom for atom in self.atoms if atom & pinned))

    def view(self) -> list[Shows]:
        order = [place.id for place in self.places]
        stand_ins = {min(self.hides[fold], key=order.index): fold for fold in self.showing}
        assert len(stand_ins) == len(self.showing)
        shown: list[Shows] = []
        speaker = ""
        for place in self.places:
            if place.id in stand_ins:
                shown.append(Shows("stand_in", stand_ins[place.id]))
                speaker = "user"
            if place.id not in self.hidden:
                line, role = _line(place, self.live), place.said.role if place.said else "user"
                shown.append(replace(line, displaced=role == "system" and speaker != "user"))
                speaker = speaker if place.said and place.said.is_blank else role
        return shown

    def cuts(self) -> list[bool]:
        """For each line of the view, whether a cut in front of it is legal."""
        firsts = {next(place.id for place in self.places if place.id in atom) for atom in self.atoms}
        ids = [place.id for place in self.places if place.id not in self.hidden]
        legal = iter([each in firsts for each in ids])
        return [line.kind == "stand_in" or next(legal) for line in self.view()]

    # -- what may be folded -----------------------------------------------------------------------------------------

    def may_fold(self, seqs: set[int], folds: set[int]) -> bool:
        """Whether these messages and stand-ins may be folded: visible, whole atoms, no pins, nothing that waits."""
        if not folds <= set(self.showing):
            return False
        known = {place.id for place in self.places}
        ids = {("said", seq) for seq in seqs} | {each for each in known if each[1] in seqs}
        pinned = {("said", seq) for seq in self.pinned}
        inherited = set().union(*(self.hides[fold] for fold in folds))
        return (
            bool(ids or folds)
            and ids <= known
            and not (ids - inherited) & self.hidden
            and all(atom <= ids | inherited and not atom & pinned for atom in self.atoms if atom & ids)
            and not (self._waits() and self.places[-1].id in ids)
        )

    def may_fold_block(self, seq: int, block: int) -> bool:
        said = next((place.said for place in self.places if place.id == ("said", seq)), None)
        taken = {part for event in self.live.values() for part in event.blocks}
        return (
            said is not None
            and ("said", seq) not in self.hidden
            and 0 <= block < len(said.blocks)
            and said.blocks[block][0] != "call"
            and not said.blocks[block][2]
            and (seq, block) not in taken
        )

    def _waits(self) -> bool:
        spoken = [place.said for place in self.places if place.said is not None and not place.said.is_blank]
        return bool(self.waiting) or bool(spoken and spoken[-1].is_thought)


def _places(branch: list[tuple[int, Said | Did]]) -> tuple[list[Place], list[str]]:
    """Everything said on the branch, broken turns completed; and the calls that wait at its end."""
    places: list[Place] = []
    waiting: dict[str, str] = {}  # id shown -> id given
    caller = 0
    for seq, said in branch:
        if isinstance(said, Did):
            continue
        if said.is_blank:
            places.append(Place(("said", seq), said))
            continue
        place = _placed(seq, said, places, waiting)
        rest = {shown: given for shown, given in waiting.items() if shown not in place.answers}
        if said.role == "user" and not place.late and all(kind == "result" or blank for kind, _, blank in said.blocks):
            waiting = rest
        else:
            if rest:
                completion = Place(("completion", places[-1].id[1]), None, calls=tuple(rest), caller=caller)
                places.append(completion)
            given = [call for kind, call, _ in said.blocks if kind == "call"]
            waiting = dict(zip(place.calls, given, strict=True)) if said.role == "assistant" else {}
            caller = seq
        places.append(place)
    return places, list(waiting)


def _placed(seq: int, said: Said, before: list[Place], waiting: dict[str, str]) -> Place:
    """A message with its calls under ids that nobody used before, its results with those of the calls they answer."""
    used = {call for place in before if place.said is not None for call in place.calls}
    late: list[int] = []
    calls: list[str] = []
    answers: list[str] = []
    aliases: list[tuple[int, str]] = []
    for index, (kind, call, _) in enumerate(said.blocks):
        if kind == "call":
            names = [call, *(f"{call}-{number}" for number in range(2, len(used) + len(calls) + 3))]
            shown = next(name for name in names if name not in used and name not in calls)
            calls.append(shown)
        elif kind == "result":
            due = [shown for shown, given in waiting.items() if given == call and shown not in answers]
            if said.role != "user" or not due:
                late.append(index)
                continue
            shown = due[0]
            answers.append(shown)
        else:
            continue
        if shown != call:
            aliases.append((index, shown))
    return Place(("said", seq), said, tuple(late), tuple(aliases), tuple(calls), tuple(answers))


def _atoms(places: list[Place]) -> list[set[Id]]:
    """What stands or falls together, in order."""
    groups: list[set[Id]] = []
    reach = -1
    for index, place in enumerate(places):
        if index > reach:
            groups.append(set())
        groups[-1].add(place.id)
        if place.said is not None and place.said.role == "assistant" and place.calls:
            reach = max(reach, _end_of_turn(places, index, set(place.calls)))
        elif place.said is not None and place.said.is_thought:
            reach = max(reach, _end_of_thought(places, index))
    return groups


def _end_of_turn(places: list[Place], start: int, waiting: set[str]) -> int:
    """The place where the last of these calls is answered, or the end when one still waits."""
    end = start
    for index in range(start + 1, len(places)):
        if not waiting:
            break
        place = places[index]
        waiting = waiting.difference(place.calls if place.said is None else place.answers)
        end = index
    return end


def _end_of_thought(places: list[Place], start: int) -> int:
    """Reasoning alone reaches over blank messages to what is said next."""
    for index in range(start + 1, len(places)):
        said = places[index].said
        if said is None or not said.is_blank:
            return index
    return len(places) - 1


def _line(place: Place, live: dict[int, Did]) -> Shows:
    if place.said is None:
        return Shows("completion", place.caller, completes=place.calls)
    seq = place.id[1]
    folded = sorted(
        (block, fold, text)
        for fold, event in live.items()
        for text, (message, block) in enumerate(event.blocks)
        if message == seq
    )
    return Shows(place.said.kind, seq, place.late, place.aliases, folded=tuple(folded))
