"""Folds made again on messages that a client sent anew: only where every covered message is still there, equal whole.

A client that edits an early message sends another history. What was folded in the old one is folded in the new one,
with the same words, as far as it hides the same; the rest is left out and told. Decides only, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from contextfold.domain import Appended, Cover, Folded, LiveBranch, Message, Reasoning, form_of

from .recognition import MessageForm

CLIENTS_OWN = "client"  # the trigger of folds that record a client's own compaction; they stay where they were made


class LostFold(Struct, frozen=True):
    """A live fold that the head's moving takes out of the view."""

    seq: int
    event: Folded


def lost_by(branch: LiveBranch, target: int) -> list[LostFold]:
    """The live folds that a move of the head to `target` would lose, oldest first."""
    kept = _ancestry(branch, target)
    return [
        LostFold(fold.seq, fold.event)
        for fold in branch.folds
        if fold.is_live and fold.seq not in kept and fold.event.details.get("trigger") != CLIENTS_OWN
    ]


def messages_behind(branch: LiveBranch, target: int) -> list[int]:
    """The messages on the live path that such a move leaves."""
    kept = _ancestry(branch, target)
    return [seq for seq in branch.path if seq not in kept and isinstance(branch.events[seq - 1].event, Appended)]


def paired(old: Sequence[tuple[int, MessageForm]], new: Sequence[tuple[int, MessageForm]]) -> dict[int, int]:
    """Which old message may have become which new one: in order, the same words, also those that may be left out."""
    matching = SequenceMatcher(None, [form.digest for _, form in old], [form.digest for _, form in new], autojunk=False)
    alike = [
        (old[block.a + at], new[block.b + at]) for block in matching.get_matching_blocks() for at in range(block.size)
    ]
    return {before: now for (before, known), (now, form) in alike if form.loose == known.loose}


def is_same(old: Message, new: Message, *, ids: bool) -> bool:
    """Whether two messages are equal whole: blocks of the same kind and form at the same places.

    A fold names blocks by their places, and its stand-in may quote any of them.
    """
    if old.role != new.role or len(old.blocks) != len(new.blocks):
        return False
    for one, other in zip(old.blocks, new.blocks, strict=True):
        if type(one) is not type(other):
            return False
        if isinstance(one, Reasoning) and isinstance(other, Reasoning):
            if (one.text, one.sealed) != (other.text, other.sealed):
                return False
        elif form_of(Message(old.role, (one,)), ids=ids) != form_of(Message(old.role, (other,)), ids=ids):
            return False
    return True


def callers(branch: LiveBranch, messages: Sequence[int]) -> dict[int, set[int]]:
    """For messages of a path that answer calls: those that made these calls."""
    made: dict[str, int] = {}
    answered: dict[int, set[int]] = {}
    for seq in messages:
        event = branch.events[seq - 1].event
        if isinstance(event, Appended):
            made.update(dict.fromkeys(event.shape.calls, seq))
            if results := event.shape.results:
                answered[seq] = {made[call] for call in results if call in made}
    return answered


def moved(
    cover: Cover,
    pairs: Mapping[int, int],
    messages: Sequence[int],
    kept: Sequence[int],
    callers: Mapping[int, Collection[int]],
) -> list[int | tuple[int, int]] | None:
    """What to cover now; None where something is not there. `messages` are those of the old path, `kept` what stays.

    A stand-in for a result quotes the call, so `callers` have to be there too.
    """
    known = {**{seq: seq for seq in kept}, **pairs}
    covered = [seq for start, stop in cover.ranges for seq in messages if start <= seq <= stop]
    hidden = [*covered, *(seq for seq, _ in cover.blocks)]
    wanted = [*hidden, *cover.folds, *(caller for seq in hidden for caller in callers.get(seq, ()))]
    if (not hidden and not cover.folds) or any(seq not in known for seq in wanted):
        return None
    whole = [known[seq] for seq in (*covered, *cover.folds)]
    return [*whole, *((known[seq], block) for seq, block in cover.blocks)]


def _ancestry(branch: LiveBranch, target: int) -> set[int]:
    """Everything on the way from the beginning to an event, whatever branch it is on."""
    found = set()
    seq = target
    while seq:
        found.add(seq)
        seq = branch.events[seq - 1].parent
    return found
