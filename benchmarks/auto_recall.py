"""Auto-recall beside a larger digest: what a view keeps of what was needed later, at the same number of tokens.

The boundaries of `retention`. With auto-recall a session is folded to less and `prepare` attaches what the newest words
ask about; without it, another session is folded to what the first then shows. A sample of the runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from typing import Any, NamedTuple

import contextfold as cf
from benchmarks.frame import Row, absent, reported
from benchmarks.harness import COUNTED_ALIKE, Seat, is_here, part
from benchmarks.retention import LEAST_NEEDED, boundaries, common, loaded, names
from contextfold.errors import ContextFoldError

ATTACHED = {"real": 1_500, "32k to 2k": 500, "32k to 8k": 1_500}  # tokens that are kept free for what is attached
RUNS = 8


class Compared(NamedTuple):
    """One boundary: tokens shown, tokens attached, and what is grounded with and without auto-recall."""

    series: str
    tokens: int
    attached: int
    given: float
    plain: float


def run() -> list[Row]:
    if not is_here():
        return [absent("auto-recall", "needs the recorded sessions in ../shared")]
    found = [each for name in names()[:RUNS] for each in compared(name)]
    return [row for series in ATTACHED for row in rows(series, [each for each in found if each.series == series])]


def rows(series: str, found: list[Compared]) -> Iterator[Row]:
    if not found:
        return
    hit = [each for each in found if each.attached]
    size = _mean(each.tokens for each in found)
    note = f"{len(found)} boundaries, {len(hit)} with something attached, {size:,.0f} tokens"
    yield reported(f"grounded, {series}, with auto-recall", 100 * _mean(each.given for each in found), "", note)
    yield reported(f"grounded, {series}, without", 100 * _mean(each.plain for each in found))
    if hit:
        told = f"where something was attached, {_mean(each.attached for each in hit):,.0f} tokens of it"
        yield reported(f"… {series}, with auto-recall", 100 * _mean(each.given for each in hit), "", told)
        yield reported(f"… {series}, without", 100 * _mean(each.plain for each in hit))


def _mean(values: Iterable[float]) -> float:
    kept = list(values)
    return sum(kept) / max(1, len(kept))


def compared(name: str) -> Iterator[Compared]:
    run_, measure, corpus = loaded()[name], part("retention"), part("corpus")
    measure.annotate(run_)
    for series, at, end, size in boundaries(run_):
        need = measure.needed(run_, at, end, common()) if series in ATTACHED else None
        if need is None or len(need.strict) < LEAST_NEEDED:
            continue
        given, attached = shown(run_.messages[:at], size - ATTACHED[series], ATTACHED[series])
        tokens = corpus.view_tokens(given)
        plain, _ = shown(run_.messages[:at], tokens, 0)
        yield Compared(series, tokens, attached, _grounded(need, given), _grounded(need, plain))


def shown(messages: list[dict[str, Any]], size: int, budget: int) -> tuple[list[dict[str, Any]], int]:
    """What a session shows that was folded to a size, and how many tokens of it auto-recall attached."""
    policy = cf.recipes.balanced(auto_recall=budget).with_(automatic=False, economy=None)
    with closing(Seat(COUNTED_ALIKE, 1_000_000, policy=policy)) as seat:
        seat.hear(messages)
        around = seat.session.preview().used - seat.session.view.count.tokens
        seat.session.fold(to=size + around)
        attached = 0
        with suppress(ContextFoldError):  # a run that ends with the model's own words has nothing to ask
            attached = seat.session.prepare(max_tokens=1_000).report.recalled_tokens if budget else 0
        return seat.view(), attached


def _grounded(need: Any, view: list[dict[str, Any]]) -> float:
    measure = part("retention")
    have, text = measure.view_lits(view)
    needed, kept = measure.grounded(need.strict, have, text, need.contexts)
    return float(kept / max(1, needed))
