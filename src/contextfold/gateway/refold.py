"""Folds made again on messages that a client sent anew: only where every covered message is still there, equal.

A client that edits an early message sends another history. What was folded in the old one is folded in the new one,
with the same words, as far as it hides the same; the rest is left out and told. Decides only, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from contextfold.domain import Appended, Cover, Folded, LiveBranch

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


def paired(old: Sequence[tuple[int, bytes]], new: Sequence[tuple[int, bytes]]) -> dict[int, int]:
    """Which old message became which new one: equal forms, in order."""
    matching = SequenceMatcher(None, [form for _, form in old], [form for _, form in new], autojunk=False)
    return {
        old[block.a + at][0]: new[block.b + at][0]
        for block in matching.get_matching_blocks()
        for at in range(block.size)
    }


def moved(
    cover: Cover, pairs: Mapping[int, int], messages: Sequence[int], kept: Sequence[int]
) -> list[int | tuple[int, int]] | None:
    """What to cover now; None where something is not there. `messages` are those of the old path, `kept` what stays."""
    known = {**{seq: seq for seq in kept}, **pairs}
    covered = [seq for start, stop in cover.ranges for seq in messages if start <= seq <= stop]
    wanted = [*covered, *(seq for seq, _ in cover.blocks), *cover.folds]
    if not wanted or any(seq not in known for seq in wanted):
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
