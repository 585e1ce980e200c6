"""What recorded runs cost under the shipped recipe, against full history and against clearing in batches of 20k tokens.

The harness beside the shared data prices every request with prompt caching; contextfold is one session a run, no model.
A sample of the runs by default, all of them with `CONTEXTFOLD_RUNS=all`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from benchmarks.frame import Row, absent, at_least, at_most, reported
from benchmarks.harness import UNCACHED, half, is_here, part, replaying
from benchmarks.retention import LEAST_AFTER, LEAST_NEEDED, common, loaded

SAMPLED = 8
WINDOWS = (200_000, 64_000)
POINTS = {200_000: (64_000, 48_000), 64_000: (32_000, 24_000)}  # where requests are scored: first, and every
BARS = {
    (200_000, "sonnet-4-5"): 0.56,
    (200_000, "opus-5-5"): 0.66,
    (200_000, UNCACHED): 0.45,
    (64_000, "sonnet-4-5"): 0.70,
    (64_000, "opus-5-5"): 0.78,
}
WORST = 1.03  # any prefix of any run against full history's
CLEARED = "[Old tool result cleared]"


@dataclass(frozen=True, slots=True)
class Replay:
    """One run under one policy: its cost, the worst prefix against full history, what was visible and kept."""

    run: str
    window: int
    price: str
    policy: str
    cost: float
    worst: float
    used: int
    seen: int
    grounded: tuple[float, ...]


def run() -> list[Row]:
    if not is_here():
        return [absent("economics", "needs the recorded sessions in ../shared")]
    with ProcessPoolExecutor(2) as pool:
        found = [replay for replays in pool.map(replayed, names()) for replay in replays]
    return [row for key in BARS for number in (0, 1, None) for row in rows(found, key, number)]


def rows(found: list[Replay], key: tuple[int, str], number: int | None) -> Iterator[Row]:
    window, price = key
    of = [one for one in found if (one.window, one.price) == key and number in (None, half(one.run))]
    ours, full, batch = ([one for one in of if one.policy == name] for name in ("contextfold", "full", "batch"))
    if not ours:
        return
    where = f"{window // 1000}k, {price}, {('developed on', 'the other half')[number] if number is not None else 'all'}"
    bar = BARS[key]
    relative = sum(one.cost for one in ours) / sum(one.cost for one in full)
    note = f"{len(ours)} runs, batches {sum(one.cost for one in batch) / sum(o.cost for o in full):.2f}"
    rival = full if window < 128_000 else batch
    if number is not None:
        yield reported(f"cost / full history, {where}", relative, "", note)
        yield reported(f"… visible, {where}", visible(ours), "%")
        yield reported(f"… grounded, {where}", kept(ours), "", f"{kept(rival):.1f} to be reached")
        return
    yield at_most(f"cost / full history, {where}", relative, bar, "", note)
    yield at_most(f"… worst prefix, {where}", max(one.worst for one in ours), WORST)
    yield at_least(
        f"… grounded, {where}", kept(ours), kept(rival), "", "full history's own" if rival is full else "batches"
    )
    if window >= 128_000:
        yield at_least(f"… visible, {where}", visible(ours), 94, "%")


def visible(replays: list[Replay]) -> float:
    return 100 * sum(one.seen for one in replays) / max(1, sum(one.used for one in replays))


def kept(replays: list[Replay]) -> float:
    found = [share for one in replays for share in one.grounded]
    return 100 * sum(found) / len(found) if found else float("nan")


# -- one run ----------------------------------------------------------------------------------------------------------


def names() -> list[str]:
    cost = part("cost")
    long = (one for one in part("corpus").load(["dev"]) if one.tokens >= cost.MIN_RUN and len(one.calls()) >= 10)
    found = sorted(one.name for one in long)
    return found if os.environ.get("CONTEXTFOLD_RUNS") == "all" else found[:: max(1, len(found) // SAMPLED)]


def replayed(name: str) -> list[Replay]:
    cost, run_ = part("cost"), loaded()[name]
    part("retention").annotate(run_)
    found: list[Replay] = []
    for window in WINDOWS:
        ctx = cost.Ctx(run_, None if window >= 128_000 else 10_000)
        if ctx.cum[-1] <= window / 2:  # the window does not matter here
            continue
        ctx.index(common())
        cases = needs(run_, window)
        for price in (price for at, price in BARS if at == window):
            full: list[float] = []
            ours = replaying(price)
            for policy, made in (("full", cost.Full), ("batch", cost.MicroBatch), ("contextfold", ours)):
                found.append(priced(ctx, policy, made(ctx, window, cost.PRICES[price]), price, cases, full))
    return found


def needs(run_: Any, window: int) -> dict[int, Any]:
    """What was needed after each request that is scored, by the message that answered it."""
    measure, corpus = part("retention"), part("corpus")
    first, every = POINTS[window]
    cuts, size, due = [], 0, first
    for at, message in enumerate(run_.messages):
        if size >= due and message["role"] == "assistant" and at:
            cuts.append(at)
            due = size + every
        size += corpus.msg_tokens(message)
    own = [each.index for each in run_.boundaries]
    found = {}
    for number, at in enumerate(cuts):
        end = min([*cuts[number + 1 : number + 2], *(index for index in own if index > at), len(run_.messages)])
        if end - at >= LEAST_AFTER and not any(index <= at for index in own):
            need = measure.needed(run_, at, end, common())
            if len(need.strict) >= LEAST_NEEDED:
                found[at] = need
    return found


def priced(ctx: Any, name: str, policy: Any, price: str, cases: dict[int, Any], full: list[float]) -> Replay:
    """Replay the calls; full history's running bill is left in `full` for those that come after it."""
    cost, rates = part("cost"), part("cost").PRICES[price]
    before: list[int] = []
    bills, used, seen, shares = [0.0], 0, 0, list[float]()
    for call, at in enumerate(ctx.calls):
        extra = dict(policy.extra)
        ids = policy.request(call)
        read = ctx.size(ids[: cost.common(before, ids)])
        more = {key: policy.extra[key] - extra[key] for key in extra}
        paid = (read + more["read"]) * rates["read"] + (ctx.size(ids) - read + more["write"]) * rates["write"]
        bills.append(bills[-1] + paid + more["out"] * rates["out"])
        known, shown = ctx.visible(call, ids)
        used, seen, before = used + known, seen + shown, ids
        if at in cases:
            shares.append(share(ctx, policy, ids, cases[at]))
    if name == "full":
        full += bills[1:]
    worst = max(mine / theirs for mine, theirs in zip(bills[1:], full, strict=True))
    return Replay(ctx.run.name, policy.window, price, name, bills[-1], worst, used, seen, tuple(shares))


def share(ctx: Any, policy: Any, ids: list[int], need: Any) -> float:
    """Grounded of one request."""
    measure, corpus = part("retention"), part("corpus")
    blocks = {ctx.block_id[id(block)]: block for message in ctx.run.messages for block in message["content"]}
    names_ = {number: key for key, number in ctx._new.items()}  # noqa: SLF001  # of the laboratory it is compared with
    content = [blocks[one] if one in blocks else corpus.text(text_of(ctx, policy, one, names_[one])) for one in ids[1:]]
    have, text = measure.view_lits([{"role": "user", "content": content}])
    needed, found = measure.grounded(need.strict, have, text, need.contexts)
    return float(found / needed) if needed else 0.0


def text_of(ctx: Any, policy: Any, number: int, key: tuple[Any, ...]) -> str:
    """The words behind a block that is not in the log: ours, a placeholder, or the simple ledger for a summary."""
    if key[0] == "contextfold":
        return str(policy.texts[number])
    if key[0] == "cleared":
        return CLEARED
    said, size = ctx.run.messages[: ctx.calls[key[1]]], int(part("cost").SUMMARY / ctx.scale)
    return str(part("ledger").build(said, size))
