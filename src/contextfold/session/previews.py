"""What folding now, or taking a fold back, would change. Tried on a twin of the thread, of which nobody is told.

The steps are those of the verbs themselves, so a preview tells what then happens. Only where a model writes summaries
is it an estimate: none is asked, and the digest, which needs no model, stands for what it would write.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from contextfold.domain import View
from contextfold.errors import ContextFoldError
from contextfold.folding import (
    Attempt,
    CacheEffect,
    MadeFold,
    Prediction,
    Record,
    Steps,
    Work,
    cache_effect,
    predicted,
)
from contextfold.summaries import no_rest

from . import hidden, preparation
from .desk import Desk

T = TypeVar("T")


class ViewParts(Struct, frozen=True):
    """What leaves a view, or comes into it."""

    messages: tuple[int, ...] = ()  # seqs of whole messages and attachments
    blocks: tuple[tuple[int, int], ...] = ()  # parts of messages that stay: (seq, block)
    stand_ins: tuple[int, ...] = ()  # by the ids of their folds


class Preview(Struct, frozen=True):
    """What `fold` or `unfold` would change. Nothing happened; ids of folds to be made hold if nobody writes before."""

    before: int  # tokens of the request as it stands
    after: int  # and as it would be
    usable: int
    fits: bool  # `fold`: whether the request then does; `unfold`: whether it would be carried out
    hides: ViewParts = ViewParts()
    shows: ViewParts = ViewParts()
    folds: tuple[MadeFold, ...] = ()  # that `fold` would make
    attempts: tuple[Attempt, ...] = ()  # of its stages, with the reason where one makes none
    cache: CacheEffect | None = None  # None where nothing would be folded
    price: Prediction | None = None  # for a prompt in the provider's cache: once, and for each request after that


def of_fold(desk: Desk, instructions: str, to: int | None) -> Preview:
    """What folding because somebody asks would change."""
    trial = desk.trial()
    before = trial.view()
    report = _carried_out(preparation.fold_now(trial, instructions, to, silently=True), trial)
    changed = _changed(trial, before, report.before, report.cache)
    return replace(changed, folds=report.folds, attempts=report.attempts)


def of_unfold(desk: Desk, fold: int, make_room: bool) -> Preview:
    """What taking a fold back would change."""
    trial = desk.trial()
    before, used = trial.view(), trial.decide().used
    tried = hidden.try_unfold(trial, fold, make_room)
    trial.write(lambda now: hidden.unfold_drafts(trial, now, fold, tried.folds))
    cache = cache_effect(before, trial.view(), 0)
    return replace(_changed(trial, before, used, cache), fits=tried.may_be)


def _carried_out(steps: Steps[T], trial: Desk) -> T:
    """Run steps on a twin: what they write stays with it, and whatever else they ask for is refused."""
    try:
        effect = next(steps)
        while True:
            if not isinstance(effect, Record | Work):
                effect = steps.throw(ContextFoldError("Nobody is asked or told for a preview."))
                continue
            try:
                done = effect.work(no_rest) if isinstance(effect, Work) else trial.write(effect.drafting, effect.blobs)
            except ContextFoldError as error:  # the step decides what it means
                effect = steps.throw(error)
            else:
                effect = steps.send(done)
    except StopIteration as end:
        result: T = end.value
        return result


def _changed(trial: Desk, before: View, used: int, cache: CacheEffect | None) -> Preview:
    """How a twin differs from what it was."""
    after, now = trial.view(), trial.decide()
    price = None
    if cache is not None:
        behind = trial.thread.lens.calibration.scaled(before.tokens() - cache.kept)
        price = predicted(behind, used - now.used, trial.rates(used))
    hides, shows = _only_in(before, after), _only_in(after, before)
    return Preview(used, now.used, now.usable, now.fits, hides, shows, cache=cache, price=price)


def _only_in(view: View, other: View) -> ViewParts:
    """What one view shows and the other does not."""
    shown = {(item.seq, item.kind) for item in view.items} - {(item.seq, item.kind) for item in other.items}
    both = {item.seq for item in view.items} & {item.seq for item in other.items}
    return ViewParts(
        tuple(sorted(seq for seq, kind in shown if kind in ("message", "attachment"))),
        tuple(sorted(pair for pair in _folded_blocks(other) - _folded_blocks(view) if pair[0] in both)),
        tuple(sorted(seq for seq, kind in shown if kind == "stand_in")),
    )


def _folded_blocks(view: View) -> set[tuple[int, int]]:
    return {(item.seq, part.block) for item in view.items for part in item.folded}
