"""Histories that break software, from a seed or drawn by Hypothesis: whatever agents really do, and worse.

One generator for both: it asks a `random.Random` for every choice, and Hypothesis can stand in for one, so a failing
history shrinks. Hypothesis itself is needed only for `histories` and `conversations` (`pip install hypothesis`).

The ways a nasty history goes on, one small function each: what is said next, given the calls that wait.

Each way has a weight, so that plain conversation is common enough for the nasty parts to have something to break.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import TYPE_CHECKING, TypeVar

from contextfold.domain import Block, Message, Role, Text

from . import nasty_blocks as blocks
from .nasty_blocks import huge
from .nasty_wire import WRITERS
from .wire import DialectName, WireMessage


class Talk:
    """How far a conversation has got: which calls wait, and which were answered or given up."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.waiting: list[str] = []
        self.past: list[str] = []
        self._calls = 0

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def new_call(self) -> str:
        self._calls += 1
        return f"call_{self._calls}"

    def is_over(self) -> None:
        """Whoever speaks now leaves the waiting calls behind."""
        self.past += self.waiting
        self.waiting = []

    def say(self, role: Role, *said: Block) -> list[Message]:
        return [Message(role, said)]


def user_speaks(talk: Talk) -> list[Message]:
    """Plain words. If calls wait, this is the interjection between a call and its result."""
    talk.is_over()
    return talk.say("user", *(blocks.said(talk.random, blank=False) for _ in range(talk.random.randrange(1, 3))))


def assistant_speaks(talk: Talk) -> list[Message]:
    talk.is_over()
    thought = [blocks.reasoning(talk.random)] if talk.chance(0.3) else []
    return talk.say("assistant", *thought, blocks.said(talk.random, blank=False))


def call_and_results(talk: Talk) -> list[Message]:
    """A whole step as it should be: calls, several at once, and all their results."""
    return calls(talk) + all_results(talk)


def calls(talk: Talk) -> list[Message]:
    """The model calls tools, with reasoning and words before, or with neither."""
    talk.is_over()
    random = talk.random
    talk.waiting = [talk.new_call() for _ in range(random.choice((1, 1, 2, 3, 5)))]
    thought = [blocks.reasoning(random)] if talk.chance(0.4) else []
    words = [blocks.said(random, blank=talk.chance(0.2))] if talk.chance(0.5) else []
    return talk.say("assistant", *thought, *words, *(blocks.call(random, name) for name in talk.waiting))


def all_results(talk: Talk) -> list[Message]:
    """Every waiting result in one message, in some order."""
    names = talk.random.sample(talk.waiting, len(talk.waiting))
    talk.is_over()
    return talk.say("user", *(blocks.result(talk.random, name, media=talk.chance(0.2)) for name in names))


def some_results(talk: Talk) -> list[Message]:
    """A part of the waiting results; the others may come, be late, or never come."""
    names = talk.random.sample(talk.waiting, talk.random.randrange(len(talk.waiting) + 1))
    talk.waiting = [name for name in talk.waiting if name not in names]
    talk.past += names
    return talk.say("user", *(blocks.result(talk.random, name, media=talk.chance(0.2)) for name in names))


def results_and_words(talk: Talk) -> list[Message]:
    """Results and something else in one message, the words before or after."""
    names = talk.random.sample(talk.waiting, talk.random.randrange(len(talk.waiting) + 1))
    answers = [blocks.result(talk.random, name, media=False) for name in names]
    talk.is_over()
    mixed: list[Block] = [*answers, blocks.said(talk.random, blank=talk.chance(0.2))]
    return talk.say("user", *(mixed[::-1] if talk.chance(0.5) else mixed))


def late_or_doubled_result(talk: Talk) -> list[Message]:
    """A result for a call that was answered or left behind before; with luck it comes among waiting ones."""
    name = talk.random.choice(talk.past) if talk.past else "call_never_made"
    also = [talk.waiting.pop()] if talk.waiting and talk.chance(0.3) else []
    talk.past += also
    if talk.waiting:
        talk.is_over()
    return talk.say("user", *(blocks.result(talk.random, each, media=False) for each in (name, *also)))


def doubled_in_one_message(talk: Talk) -> list[Message]:
    """Two results for one call, side by side."""
    name = talk.waiting[0] if talk.waiting else "call_never_made"
    talk.is_over()
    return talk.say("user", *(blocks.result(talk.random, name, media=False) for _ in range(2)))


def unknown_result(talk: Talk) -> list[Message]:
    """A result without any call."""
    talk.is_over()
    return talk.say("user", blocks.result(talk.random, "call_never_made", media=False))


def result_from_the_assistant(talk: Talk) -> list[Message]:
    """A result in the wrong mouth; the call goes on waiting for one that counts."""
    name = talk.waiting[0] if talk.waiting else "call_never_made"
    return talk.say("assistant", blocks.result(talk.random, name, media=False))


def same_id_again(talk: Talk) -> list[Message]:
    """A call with an id that was used before, or twice in one batch."""
    earlier = talk.past[-1] if talk.past else talk.new_call()
    talk.is_over()
    talk.waiting = [earlier]
    doubled = [earlier] * (2 if talk.chance(0.2) else 1)
    return talk.say("assistant", *(blocks.call(talk.random, name) for name in doubled))


def nothing(talk: Talk) -> list[Message]:
    """A message with no content, or with blank text only; the calls go on waiting."""
    blanks = [blocks.said(talk.random, blank=True) for _ in range(talk.random.randrange(3))]
    return talk.say("assistant" if talk.chance(0.5) else "user", *blanks)


def reasoning_alone(talk: Talk) -> list[Message]:
    """Thinking that was stored apart from what it led to, or was cut off before it led anywhere."""
    talk.is_over()
    thoughts = [blocks.reasoning(talk.random) for _ in range(talk.random.randrange(1, 3))]
    return talk.say("assistant", *thoughts)


def reasoning_loop(talk: Talk) -> list[Message]:
    """Steps of a loop, each with its own signed reasoning."""
    return [message for _ in range(talk.random.randrange(2, 4)) for message in _reasoned_step(talk)]


def _reasoned_step(talk: Talk) -> list[Message]:
    talk.is_over()
    talk.waiting = [talk.new_call()]
    thinks = talk.say("assistant", blocks.reasoning(talk.random), blocks.call(talk.random, talk.waiting[0]))
    return thinks + all_results(talk)


def media(talk: Talk) -> list[Message]:
    """Pictures and papers, with words or without."""
    talk.is_over()
    shown: list[Block] = [
        blocks.image(talk.random),
        blocks.document(talk.random),
        blocks.said(talk.random, blank=False),
    ]
    return talk.say("user", *talk.random.sample(shown, talk.random.randrange(1, 4)))


def unheard_of(talk: Talk) -> list[Message]:
    """A kind of block that nobody knows."""
    talk.is_over()
    said: list[Block] = [blocks.opaque(talk.random), Text("and so on")]
    return talk.say("assistant" if talk.chance(0.5) else "user", *said[: talk.random.randrange(1, 3)])


def system_in_the_middle(talk: Talk) -> list[Message]:
    talk.is_over()
    return talk.say("system", blocks.said(talk.random, blank=talk.chance(0.1)))


def huge_message(talk: Talk) -> list[Message]:
    talk.is_over()
    return talk.say("user", Text(huge(talk.random)))


MOVES: Mapping[str, tuple[int, Callable[[Talk], list[Message]]]] = {
    "user_speaks": (14, user_speaks),
    "assistant_speaks": (14, assistant_speaks),
    "call_and_results": (14, call_and_results),
    "calls": (12, calls),
    "all_results": (10, all_results),
    "some_results": (10, some_results),
    "results_and_words": (4, results_and_words),
    "late_or_doubled_result": (5, late_or_doubled_result),
    "doubled_in_one_message": (2, doubled_in_one_message),
    "unknown_result": (2, unknown_result),
    "result_from_the_assistant": (1, result_from_the_assistant),
    "same_id_again": (3, same_id_again),
    "nothing": (6, nothing),
    "reasoning_alone": (5, reasoning_alone),
    "reasoning_loop": (5, reasoning_loop),
    "media": (5, media),
    "unheard_of": (4, unheard_of),
    "system_in_the_middle": (4, system_in_the_middle),
    "huge_message": (1, huge_message),
}


if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

# Every way of going on, the plain ones first; leave some out to look at one thing.
KINDS = tuple(MOVES)


def conversation(random: Random, *, length: int = 30, kinds: Iterable[str] = KINDS) -> list[Message]:
    """A nasty history in neutral blocks, of at most this many messages; no bytes, no format."""
    unknown = [kind for kind in kinds if kind not in MOVES]
    if unknown:
        raise ValueError(f"There are no nasty kinds {unknown}. Choose from {', '.join(KINDS)}.")
    moves = {kind: MOVES[kind] for kind in kinds}
    names, weights = list(moves), [weight for weight, _ in moves.values()]
    talk = Talk(random)
    messages: list[Message] = []
    while len(messages) < length:
        _, move = moves[random.choices(names, weights)[0]]
        messages += move(talk)
    return messages[:length]


def history(
    seed: int | str | Random = 0,
    *,
    length: int = 30,
    dialect: DialectName = "anthropic",
    kinds: Iterable[str] = KINDS,
) -> list[WireMessage]:
    """A nasty history as messages of a dialect; the same seed gives the same history."""
    random = seed if isinstance(seed, Random) else Random(f"nasty {seed}")
    write = WRITERS[dialect]
    return [wire for message in conversation(random, length=length, kinds=kinds) for wire in write(message, random)]


def histories(
    *, max_length: int = 30, dialect: DialectName = "anthropic", kinds: Iterable[str] = KINDS
) -> SearchStrategy[list[WireMessage]]:
    """A Hypothesis strategy of nasty histories."""
    chosen = tuple(kinds)
    return _drawn(max_length, lambda random, length: history(random, length=length, dialect=dialect, kinds=chosen))


def conversations(*, max_length: int = 30, kinds: Iterable[str] = KINDS) -> SearchStrategy[list[Message]]:
    """A Hypothesis strategy of nasty histories in neutral blocks."""
    chosen = tuple(kinds)
    return _drawn(max_length, lambda random, length: conversation(random, length=length, kinds=chosen))


def _drawn(max_length: int, make: Callable[[Random, int], T]) -> SearchStrategy[T]:
    from hypothesis import strategies as st  # noqa: PLC0415  # an optional dependency

    return st.builds(make, st.randoms(use_true_random=False), st.integers(0, max_length))
