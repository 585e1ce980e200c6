"""The guarantees as a state machine: whatever is done to a thread, in any order, they hold after every step.

The machine drives a *subject* (a bare projection, or a thread in a real store) and the plain reference side by side.
Operations never skip: what one needs and does not find, it makes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import ClassVar, TypeVar

from hypothesis import note as say_aloud
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from contextfold.domain import Message, Text, check_view
from contextfold.errors import CannotCover
from contextfold.testing.nasty import MOVES, Talk
from tests.conftest import SOAK
from tests.property.reference import Did, Moment, Reference
from tests.property.subject import StablePrefix, Subject, as_shown

# Two machines run in every test run: more than ten thousand steps together.
LEAST_STEPS = 5500
LEAST = 200

PLAIN = ("user_speaks", "assistant_speaks", "media", "unheard_of", "system_in_the_middle", "nothing")
WORK = ("call_and_results", "calls", "all_results", "some_results")
BROKEN = (
    "results_and_words",
    "late_or_doubled_result",
    "doubled_in_one_message",
    "unknown_result",
    "same_id_again",
    "result_from_the_assistant",
)
THOUGHT = ("reasoning_alone", "reasoning_loop", "nothing", "assistant_speaks")


class Dice(Random):
    """A random source that a failure report can name. One draw a rule keeps the machine quick; the steps shrink."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.named = seed

    def __repr__(self) -> str:
        return f"Dice({self.named})"


dice = st.builds(Dice, st.integers(0, 2**20))
Done = TypeVar("Done", bound=Callable[..., None])


def operation(method: Done) -> Done:
    """Marks what the machine may do."""
    method.is_operation = True  # type: ignore[attr-defined]  # a mark on a function
    return method


def operations_of(machine: type[Guarantees]) -> tuple[str, ...]:
    return tuple(sorted(name for name in dir(machine) if hasattr(getattr(machine, name), "is_operation")))


class Guarantees(RuleBasedStateMachine):
    """Rules and invariants for any subject."""

    fired: ClassVar[Counter[str]]
    subject: Subject

    def __init__(self) -> None:
        super().__init__()
        self.talk = Talk(Random(0))
        self.reference = Reference()
        self._moment: tuple[Reference, int, Moment] | None = None

    @initialize(random=dice)
    def choose_what_to_do(self, random: Random) -> None:
        """Most runs do everything, the others few things often: some faults need one thing done many times."""
        every = operations_of(type(self))
        self.operations = list(every if random.random() < 0.85 else random.sample(every, len(every) // 3))
        self.deck: list[str] = []

    @rule(which=st.integers(0, 119), random=dice)
    def go_on(self, which: int, random: Random) -> None:
        """Do something, taken from a deck like a card: nothing comes again before everything came once."""
        self.deck = self.deck or list(self.operations)
        name = self.deck.pop(which % len(self.deck))
        say_aloud(f"{name}({random})")
        getattr(self, name)(random)
        type(self).fired[name] += 1

    @property
    def now(self) -> Moment:
        """The reference's answer; asked again only where the head has moved, since what is behind it never changes."""
        known = self._moment
        if known is None or known[0] is not self.reference or known[1] != self.reference.head:
            known = self._moment = (self.reference, self.reference.head, self.reference.now())
        return known[2]

    # -- saying ---------------------------------------------------------------------------------------------------

    @operation
    def add_plain_talk(self, random: Random) -> None:
        self.say(random, PLAIN)

    @operation
    def work(self, random: Random) -> None:
        self.say(random, WORK)

    @operation
    def work_and_break_off(self, random: Random) -> None:
        self.say(random, ("calls",))
        self.say(random, BROKEN)

    @operation
    def think(self, random: Random) -> None:
        self.say(random, THOUGHT)

    def say(self, random: Random, kinds: Sequence[str]) -> None:
        self.talk.random = random
        for _ in range(random.randrange(1, 4)):
            for message in MOVES[random.choice(kinds)][1](self.talk):
                self.say_one(message)

    def say_one(self, message: Message) -> None:
        with StablePrefix(self.subject):
            said = self.subject.say(message)
        for seq, each in said:
            self.reference.happen(seq, each)

    @operation
    def attach(self, _: Random) -> None:
        with StablePrefix(self.subject):
            seq, said = self.subject.attach()
        self.reference.happen(seq, said)
        self.talk.is_over()

    @operation
    def note(self, _: Random) -> None:
        self.reference.happen(self.subject.note(), Did("note"))

    @operation
    def happen_elsewhere(self, _: Random) -> None:
        self.subject.happen_elsewhere()

    # -- folding --------------------------------------------------------------------------------------------------

    def foldable(self) -> list[tuple[set[int], set[int]]]:
        """What could be folded by itself, in the order of the view: an atom's seqs, or a stand-in's fold."""
        now = self.now
        atoms = [({seq for kind, seq in atom if kind == "said"}, set[int]()) for atom in now.atoms]
        stand_ins = [(set[int](), {fold}) for fold in now.showing]
        return [(seqs, folds) for seqs, folds in (*atoms, *stand_ins) if now.may_fold(seqs, folds)]

    def something_to_fold(self) -> list[tuple[set[int], set[int]]]:
        if not self.foldable():
            self.speak()
        return self.foldable()

    def speak(self) -> None:
        """Something plain, so that there is something."""
        self.talk.is_over()
        self.say_one(Message("user", (Text("go on"),)))

    def fold(self, chosen: Sequence[tuple[set[int], set[int]]]) -> int:
        seqs = sorted(set().union(*(seqs for seqs, _ in chosen)))
        folds = sorted(set().union(*(folds for _, folds in chosen)))
        fold = self.subject.fold(seqs, (), folds)
        self.reference.happen(fold, Did("fold", seqs=frozenset(seqs), folds=frozenset(folds)))
        return fold

    @operation
    def fold_a_run(self, random: Random) -> None:
        units = self.something_to_fold()
        start = random.randrange(len(units))
        self.fold(units[start : start + random.randrange(1, 6)])

    @operation
    def fold_here_and_there(self, random: Random) -> None:
        units = self.something_to_fold()
        self.fold(random.sample(units, random.randrange(1, min(len(units), 4) + 1)))

    @operation
    def fold_blocks(self, random: Random) -> None:
        self.something_to_fold()
        now = self.now
        blocks = [
            (place.id[1], block)
            for place in now.places
            if place.said
            for block in range(len(place.said.blocks))
            if now.may_fold_block(place.id[1], block)
        ]
        if not blocks:
            self.speak()
            blocks = [(self.reference.head, 0)]
        chosen = random.sample(blocks, random.randrange(1, min(len(blocks), 3) + 1))
        fold = self.subject.fold((), chosen, ())
        self.reference.happen(fold, Did("fold", blocks=tuple(chosen)))

    @operation
    def fold_and_take_back(self, random: Random) -> None:
        """Folding and unfolding is as if nothing had happened."""
        units = self.something_to_fold()
        before = list(self.subject.view)
        fold = self.fold([random.choice(units)])
        self.reference.happen(self.subject.unfold(fold), Did("unfold", fold))
        assert list(self.subject.view) == before

    @operation
    def fold_boldly(self, random: Random) -> None:
        """Any messages and stand-ins: folded if that is allowed, refused with nothing changed if not."""
        now = self.now
        said = [seq for seq, (_, event) in self.reference.events.items() if getattr(event, "verb", "") != "fold"]
        seqs = set(random.sample(said, min(len(said), random.randrange(4))))
        folds = {random.choice(sorted(now.folds))} if now.folds and random.random() < 0.4 else set[int]()
        event = Did("fold", seqs=frozenset(seqs), folds=frozenset(folds))
        self.try_to_fold(event, now.may_fold(seqs, folds), lambda: self.subject.fold(sorted(seqs), (), sorted(folds)))

    @operation
    def fold_a_range_boldly(self, random: Random) -> None:
        now = self.now
        first = random.randrange(1, max(self.reference.head, 1) + 2)
        last = first + random.randrange(-1, 5)
        folds = {random.choice(now.showing)} if now.showing and random.random() < 0.6 else set[int]()
        seqs = {place.id[1] for place in now.places if first <= place.id[1] <= last}
        event = Did("fold", seqs=frozenset(seqs), folds=frozenset(folds))
        may = bool(seqs) and now.may_fold(seqs, folds)
        self.try_to_fold(event, may, lambda: self.subject.fold_range(first, last, sorted(folds)))

    @operation
    def fold_a_block_boldly(self, random: Random) -> None:
        now = self.now
        seq, block = random.randrange(self.reference.head + 2), random.randrange(4)
        event = Did("fold", blocks=((seq, block),))
        self.try_to_fold(event, now.may_fold_block(seq, block), lambda: self.subject.fold((), [(seq, block)], ()))

    def try_to_fold(self, event: Did, may: bool, do: Callable[[], int]) -> None:
        before = list(self.subject.view)
        try:
            fold = do()
        except CannotCover:
            assert not may
            assert list(self.subject.view) == before
        else:
            assert may
            self.reference.happen(fold, event)

    @operation
    def unfold(self, random: Random) -> None:
        """Any live fold, showing or covered by another."""
        if not self.now.live:
            self.fold([self.something_to_fold()[0]])
        fold = random.choice(sorted(self.now.live))
        self.reference.happen(self.subject.unfold(fold), Did("unfold", fold))

    # -- pins -----------------------------------------------------------------------------------------------------

    def messages(self) -> list[int]:
        self.something_to_fold()
        said = [place.id[1] for place in self.now.places if place.said and place.said.kind == "message"]
        if not said:
            self.speak()
        return said or [self.reference.head]

    @operation
    def pin(self, random: Random) -> None:
        seq = random.choice(self.messages())
        self.reference.happen(self.subject.pin(seq), Did("pin", seq))

    @operation
    def unpin(self, random: Random) -> None:
        if not self.now.pinned:
            self.pin(random)
        seq = random.choice(sorted(self.now.pinned))
        self.reference.happen(self.subject.unpin(seq), Did("unpin", seq))

    # -- moving the head ------------------------------------------------------------------------------------------

    @operation
    def rewind(self, random: Random) -> None:
        if not self.reference.head:
            self.something_to_fold()
        to = random.choice(self.reference.path())
        self.subject.rewind(to)
        self.reference.rewind(to)

    @operation
    def redo(self, random: Random) -> None:
        if not self.reference.left:
            self.rewind(random)
        before = self.reference.left[-1]
        self.subject.redo()
        assert self.reference.redo() == before

    @operation
    def fork(self, random: Random) -> None:
        """A fork shows what its origin showed there; then life goes on in one of the two."""
        if not self.reference.head:
            self.something_to_fold()
        at = random.choice(self.reference.path())
        fork, reference = self.subject.fork(at), self.reference.fork(at)
        assert list(map(as_shown, fork.view)) == reference.now().view()
        if random.random() < 0.5:
            self.subject, self.reference = fork, reference

    @operation
    def again(self, _: Random) -> None:
        """From what was kept, everything is as it was."""
        before = list(self.subject.view)
        self.subject = self.subject.again()
        assert list(self.subject.view) == before

    # -- what always holds ------------------------------------------------------------------------------------------

    @invariant()
    def the_guarantees_hold(self) -> None:
        now, view = self.now, self.subject.view
        assert list(map(as_shown, view)) == now.view()
        assert [view.may_cut(index) for index in range(len(view))] == now.cuts()
        assert (view.head, set(view.pinned)) == (self.reference.head, now.pinned)
        assert sorted(view.open_calls) == sorted(now.waiting)
        assert check_view(view.items) == []
        weights = [message.tokens for message in view.messages]
        assert view.tokens() == sum(weights)
        assert 0 not in weights
        self.subject.check_nothing_lost()


def assert_guarantees(machine: type[Guarantees], *, examples: int, steps: int) -> None:
    """Run the machine, and make sure that everything it can do was done often and that it went on long enough."""
    machine.fired = Counter()
    run_state_machine_as_test(machine, settings=settings(max_examples=examples * SOAK, stateful_step_count=steps))
    rare = {name: machine.fired[name] for name in operations_of(machine) if machine.fired[name] < LEAST}
    assert not rare, f"hardly ever done: {rare}"
    assert machine.fired.total() >= LEAST_STEPS
