"""What a fold keeps of what was needed later: recorded runs, folded to a size by the shipped recipe, no model.

Every boundary of the harness beside the shared data, one session for each run and series; the harness's own controls on
the same boundaries. A sample of the runs by default, all of them with `CONTEXTFOLD_RUNS=all`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from benchmarks.frame import ROOT, Row, absent, at_least, at_most, reported
from benchmarks.harness import folded, half, is_here, part
from benchmarks.spoken import common_words, hidden_orders, kept_words, later_words, live_orders

SAMPLED = 10
LEAST_AFTER, LEAST_NEEDED = 6, 5
UNRELATED = 3
RIVALS = ("the product", "null-lines", "null-names")
LIMITS = (32_000, 64_000, 100_000)

# What is aimed at: grounded, and by how much random lines must be left behind; None where there is no margin.
BARS = {
    "real": (78, 12),
    "32k to 2k": (64, None),
    "32k to 8k": (89, 12),
    "64k to 16k": (94, None),
    "100k to 25k": (95, None),
}
STRICT, ORDERS, WORDS = 82, 98, 30  # at the products' own compactions
HIDDEN, LIVE, ROO = 95, 98, 80  # orders that are no message; those not taken back; tasks of Roo at 32k to 8k
SUMMARY = 2_800  # tokens of a product's own summary
SPOKEN = "32k to 2.8k"  # boundaries with such orders before them, folded to that size


@dataclass(frozen=True, slots=True)
class Score:
    """One boundary under one policy."""

    run: str
    series: str
    policy: str
    tokens: int
    budget: int
    grounded: float
    strict: float
    orders: tuple[int, int]
    rejected: bool
    hidden: tuple[int, int]  # orders that are no message of their own: how many, how many kept
    live: tuple[int, int]  # of them those that nobody took back
    words: tuple[int, int]  # rare plain words said again later, and how many of them are in view


def run() -> list[Row]:
    if not is_here():
        return [absent("retention", "needs the recorded sessions in ../shared")]
    with ProcessPoolExecutor(2) as pool:
        scores = [score for found in pool.map(scored, names()) for score in found]
    return [row for number in (0, 1, None) for row in rows(scores, number)]


def rows(scores: list[Score], number: int | None) -> Iterator[Row]:
    which = {0: "developed on", 1: "the other half", None: "all"}[number]
    gate = at_least if number is None else _told
    for series, (bar, margin) in BARS.items():
        of = [one for one in scores if one.series == series and number in (None, half(one.run))]
        ours = [one for one in of if one.policy == "contextfold"]
        if not ours:
            continue
        lines, names_ = (grounded([one for one in of if one.policy == name]) for name in ("null-lines", "null-names"))
        size = sum(one.tokens for one in ours) / sum(one.budget for one in ours)
        note = f"{len(ours)} boundaries, {size:.2f} of the size, lines {lines:.1f}"
        yield gate(f"grounded, {series}, {which}", grounded(ours), bar, "", note)
        if margin is not None:
            yield gate(f"… above random lines, {which}", grounded(ours) - lines, margin)
        if series == "real":
            yield (at_most if number is None else _told)(f"… of shuffled names, {which}", names_, 20)
            yield gate(f"strict, {series}, {which}", 100 * mean(one.strict for one in ours), STRICT)
            yield gate(f"the user's orders kept, {which}", share(ours, "orders"), ORDERS, "%")
            yield gate(f"rare plain words kept, {which}", share(ours, "words"), WORDS, "%", beside(of, "words"))
        roo = [one for one in ours if series == "32k to 8k" and one.run.startswith("roo")]
        if roo:
            yield gate(f"tasks of Roo, {series}, {which}", grounded(roo), ROO, "", f"{len(roo)} boundaries")
        yield at_most(f"rejected views, {series}, {which}", float(sum(one.rejected for one in ours)), 0)
    said = [one for one in scores if one.series in ("real", SPOKEN) and number in (None, half(one.run))]
    if any(one.hidden[0] for one in said):
        ours = [one for one in said if one.policy == "contextfold"]
        for name, what, bar in (("hidden", "inside results and commands", HIDDEN), ("live", "not taken back", LIVE)):
            yield gate(f"orders {what}, to {SUMMARY:,}, {which}", share(ours, name), bar, "%", beside(said, name))


def beside(scores: list[Score], name: str) -> str:
    """How many there are, and what others keep of them."""
    many = sum(getattr(one, name)[0] for one in scores if one.policy == "contextfold")
    there = [way for way in RIVALS if any(one.policy == way and getattr(one, name)[0] for one in scores)]
    others = (f"{way} {share([one for one in scores if one.policy == way], name):.1f}" for way in there)
    return f"of {many}; {', '.join(others)}"


def _told(name: str, value: float, _bar: float, unit: str = "", note: str = "") -> Row:
    """Half of the runs: told, not held to the bar."""
    return reported(name, value, unit, note)


def share(scores: list[Score], name: str) -> float:
    there, kept = (sum(getattr(one, name)[at] for one in scores) for at in (0, 1))
    return float(100 * kept / max(1, there))


def grounded(scores: list[Score]) -> float:
    return 100 * mean(one.grounded for one in scores)


def mean(values: Iterator[float] | Any) -> float:
    found = list(values)
    return sum(found) / len(found) if found else float("nan")


# -- one run ----------------------------------------------------------------------------------------------------------


def names() -> list[str]:
    found = sorted(each.name for each in part("corpus").load(["dev"]) if each.tokens >= LIMITS[0] * 9 // 8)
    return found if os.environ.get("CONTEXTFOLD_RUNS") == "all" else found[:: max(1, len(found) // SAMPLED)]


@cache
def loaded() -> dict[str, Any]:
    return {each.name: each for each in part("corpus").load(["dev"])}


@cache
def common() -> frozenset[tuple[str, str]]:
    """Literals of three unrelated repositories or more, which nobody must remember; read once for a checkout."""
    kept = ROOT / "build" / "common-literals.json"
    if not kept.is_file():
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(msgspec.json.encode(sorted(_shared_literals())))
    return frozenset(msgspec.json.decode(kept.read_bytes(), type=list[tuple[str, str]]))


def _shared_literals() -> Iterator[tuple[str, str]]:
    corpus, literals = part("corpus"), part("literals")
    where: dict[tuple[str, str], set[str]] = {}
    for run_ in corpus.load(["dev"], formats={"claude-code", "codex", "pi", "swe-agent-traj", "roo-api"}):
        blocks = (block for message in run_.messages for block in message["content"])
        for literal in {
            one for block in blocks for one in literals.provides(literals.clean(corpus.literal_text(block)))
        }:
            where.setdefault(literal, set()).add(run_.repo)
    return (literal for literal, repositories in where.items() if len(repositories) >= UNRELATED)


def scored(name: str) -> list[Score]:
    run_, measure, policies = loaded()[name], part("retention"), part("policies").POLICIES
    measure.annotate(run_)
    ways: dict[str, Callable[[Any, int, str], Any]] = {
        "contextfold": folded,
        "null-lines": lambda said, size, _: policies["null-lines"](said, size),
        "null-names": lambda said, size, _: policies["null-names"](said, size),
    }
    found = []
    for series, at, end, size in boundaries(run_):
        need = measure.needed(run_, at, end, common())
        if len(need.strict) < LEAST_NEEDED:
            continue
        case = Case(run_, series, at, size, need, later_words(run_, at, end, common_words()))
        found += [judged(case, way, fold(run_.messages[:at], size, series)) for way, fold in ways.items()]
        if series == "real":
            found.append(judged(case, "the product", next(own.view for own in run_.boundaries if own.index == at)))
    return found


@dataclass(frozen=True, slots=True)
class Case:
    """One boundary: where it is, how large a view may be, and what was needed after it."""

    run: Any
    series: str
    at: int
    size: int
    need: Any
    words: frozenset[str]


def judged(case: Case, way: str, view: Any) -> Score:
    measure, validity = part("retention"), part("validity")
    need, said = case.need, case.run.messages[: case.at]
    have, text = measure.view_lits(view)
    needed, kept = measure.grounded(need.strict, have, text, need.contexts)
    return Score(
        case.run.name,
        case.series,
        way,
        tokens=part("corpus").view_tokens(view),
        budget=case.size,
        grounded=kept / max(1, needed),
        strict=measure.ratio(measure.score(need.strict, have, text)),
        orders=tuple(measure.sentence_kept(measure.sentences(case.run, case.at), view)[1]),
        rejected=validity.rejected(validity.check(view), validity.check(said)),
        hidden=tuple(measure.sentence_kept(hidden_orders(said), view)[0]),
        live=tuple(measure.sentence_kept(live_orders(said), view)[0]),
        words=kept_words(case.words, text),
    )


def boundaries(run_: Any) -> Iterator[tuple[str, int, int, int]]:
    """(series, first message after it, where its horizon ends, size): the products' own, then of full windows."""
    measure, corpus = part("retention"), part("corpus")
    own = [each.index for each in run_.boundaries]
    for number, each in enumerate(run_.boundaries):
        end = own[number + 1] if number + 1 < len(own) else len(run_.messages)
        if (
            each.product == "claude-code"
            and each.view
            and measure.complete(run_, each)
            and end - each.index >= LEAST_AFTER
        ):
            yield "real", each.index, end, corpus.view_tokens(each.view)
    for limit in LIMITS:
        cuts = [cut for cut in measure.synthetic(run_, limit) if not any(index <= cut for index in own)]
        for number, at in enumerate(cuts):
            end = min([*cuts[number + 1 : number + 2], *(index for index in own if index > at), len(run_.messages)])
            if end - at >= LEAST_AFTER:
                yield f"{limit // 1000}k to {limit // 4000}k", at, end, limit // 4
                if limit == LIMITS[0]:
                    yield "32k to 2k", at, end, 2_000
                    if hidden_orders(run_.messages[:at]):
                        yield SPOKEN, at, end, SUMMARY
