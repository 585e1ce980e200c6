"""Recall: does it find what was said, in any evidence set, in Japanese and in recorded runs, and what does it cost.

`select(turns, question, budget)` is all that an evidence set needs: see `docs/recall.md`. Null controls, random and
newest passages, stand beside every share that a lucky guess could reach.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median

import apsw

import contextfold as cf
from benchmarks.ablation import ablations
from benchmarks.evidence import Evidence, select, spoken
from benchmarks.frame import Row, absent, at_least, at_most, reported
from benchmarks.log import bare as bare_commit
from benchmarks.log import clocked
from benchmarks.questions import (
    IndexedRun,
    OnePlace,
    dialogue_questions,
    long_runs,
    longest,
    memory_questions,
    run_questions,
)
from contextfold.domain import Appended, Logged, encode
from contextfold.errors import ContextFoldError
from contextfold.recall import index, passages, words
from contextfold.recall.search import CANDIDATES

MODEL = "claude-sonnet-5-5"
BUDGETS = (1_000, 2_000, 4_000, 8_000)
WINDOW = 32_000  # of the runs that are folded
RUNS, ASKED = 12, 40  # recorded runs that are asked, and questions for each
SIZED = 30  # recorded runs that are indexed together to see what that takes
_HANDLE = re.compile(r"recall\((fold|seq)=(\d+)\)")
__all__ = ["run", "select"]


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        found = [*evidence(), *ablations(longest()), *japanese(), *agent_runs(), *handles()]
        return [*found, *costs(Path(folder))]


# -- what is found --------------------------------------------------------------------------------------------------


def evidence() -> list[Row]:
    """The share of LongMemEval's evidence that is shown at each budget."""
    shown = dict.fromkeys(BUDGETS, 0)
    known = 0
    for question, turns, wanted in memory_questions():
        indexed = Evidence(tuple(spoken(turns)))
        known += len(wanted)
        for budget in BUDGETS:
            shown[budget] += len(wanted & set(indexed.select(question, budget)))
    if not known:
        return [absent("LongMemEval", "its questions are not here")]
    shares = {budget: 100 * found / known for budget, found in shown.items()}
    rows = [reported(f"LongMemEval evidence at {b:,} tokens", share, "%") for b, share in shares.items() if b != 4_000]
    return [at_least("LongMemEval evidence at 4,000 tokens", shares[4_000], 88, "%"), *rows]


def japanese() -> list[Row]:
    """A noun that few utterances of a dialogue hold, inside a question: is one of them among the first five?"""
    hits = many = 0
    for turns, asked in dialogue_questions():
        indexed = Evidence(tuple(spoken(turns)))
        many += len(asked)
        hits += sum(bool(set(indexed.ranked(question)[:5]) & set(where)) for question, where in asked)
    if not many:
        return [absent("Japanese nouns", "the dialogues are not here")]
    return [at_least("Japanese: utterance of a noun in the first five", 100 * hits / many, 95, "%", f"{many} asked")]


def agent_runs() -> list[Row]:
    """Literals of early results, used again when those are out of view: asked for by the sentence that uses them."""
    chance = Random(1)
    found = {"recall": 0, "random": 0, "newest": 0}
    total = 0
    for messages in islice(long_runs(), RUNS):
        run_ = IndexedRun(messages)
        for line, edge, literal in run_questions(run_, chance, ASKED):
            before = [place for place, (at, _) in enumerate(run_.pieces) if at <= edge]
            total += 1
            found["recall"] += run_.holds(run_.recalled(line, edge), edge, literal)
            found["newest"] += run_.holds(before[::-1], edge, literal)
            chance.shuffle(before)
            found["random"] += run_.holds(before, edge, literal)
    if not total:
        return [absent("recorded runs", "they are not here")]
    share = {name: 100 * hits / total for name, hits in found.items()}
    return [
        at_least(
            "recorded runs: the literal is in a recall of 2,000 tokens", share["recall"], 85, "%", f"{total} asked"
        ),
        reported("null control: random passages", share["random"], "%"),
        reported("null control: the newest passages", share["newest"], "%"),
    ]


def handles() -> list[Row]:
    """Every message that folds hide in replayed runs: is it reached through the handle that its stand-in shows?"""
    hidden = missed = 0
    for messages in islice(long_runs(), RUNS):
        with cf.Session.open(model=MODEL, window=WINDOW) as session:
            for message in messages:
                session.append(message.raw)
                if message.role == "assistant":
                    continue
                with suppress(ContextFoldError):  # a request that cannot be sent is another benchmark's
                    session.prepare(max_tokens=1_000)
            folded, reached = hidden_in(session), reached_in(session)
            hidden += len(folded)
            missed += sum(session.thread.message(seq).raw not in reached for seq in folded)
    if not hidden:
        return [absent("handles", "no recorded runs are here")]
    share = 100 * (hidden - missed) / hidden
    return [at_least("folded messages reached through their stand-in's handle", share, 100, "%", f"{hidden} folded")]


def hidden_in(session: cf.Session) -> set[int]:
    """Messages of the branch that the view does not show whole."""
    branch = session.thread.branch
    said = {entry.seq for entry in branch.events if isinstance(entry.event, Appended) and branch.is_on_path(entry.seq)}
    return said - {item.seq for item in session.view.items if item.kind == "message" and not item.edits}


def reached_in(session: cf.Session) -> set[bytes]:
    """Messages that the handles in the view lead to, each as it was said."""
    shown = "\n".join(message.text for message in session.view.messages)
    shown += b"\n".join(session.thread.lens.shown(item).raw for item in session.view.items).decode("utf-8", "replace")
    reached: set[bytes] = set()
    for kind, number in set(_HANDLE.findall(shown)):
        handle = int(number)
        found = session.recall(fold=handle) if kind == "fold" else session.recall(seq=handle)
        reached |= {message.raw for message in found}
    return reached


# -- what it costs --------------------------------------------------------------------------------------------------


def costs(root: Path) -> list[Row]:
    return [*queries(root, 6_000), *queries(root, 100_000), *appends(root), *size(root)]


def _said(many: int) -> Iterator[str]:
    """Messages that read like a conversation: words of a long tail, the common ones often."""
    chance = Random(7)
    names = [f"{a}{b}" for a in ("port", "table", "user", "cache", "fold", "index") for b in ("", "s", "er", "ing")]
    for number in range(many):
        rare = f"module{chance.randrange(many)} item{chance.randrange(2_000)}"
        yield " ".join([*chance.choices(names, k=10), rare, f"step {number}"])


def queries(root: Path, many: int) -> list[Row]:
    """A question to a store beside one bare query to its index."""
    with cf.open(root / f"asked-{many}.db") as store:
        thread = store.thread("talk", model=MODEL)
        with store.batch():
            for text in _said(many):
                thread.append({"role": "user", "content": text})
        store.recall("warm up", "talk")
        bare = index.IndexReader(store._log.connection)  # type: ignore[attr-defined]  # noqa: SLF001
        times: dict[str, list[int]] = {"ours": [], "bare": []}
        for number in range(40):
            question = f"which port did module{number * 7} use for item{number}?"
            start = time.perf_counter_ns()
            store.recall(question, "talk")
            times["ours"].append(time.perf_counter_ns() - start)
            start = time.perf_counter_ns()
            bare.matches(1, words.asked_terms(question), None, CANDIDATES)
            times["bare"].append(time.perf_counter_ns() - start)
    ours, plain = median(times["ours"]), median(times["bare"])
    return [
        at_most(f"question p50 / one bare FTS5 query, {many:,} messages", ours / plain, 4),
        reported(f"question p50, {many:,} messages", ours / 1e6, "ms"),
    ]


def appends(root: Path) -> list[Row]:
    """A durable append with the index beside a bare commit of the same bytes, in turns."""
    plain = bare_commit(root / "bare.db")
    with cf.open(root / "indexed.db") as store:
        thread = store.thread("talk", model=MODEL)
        walls, cpus = [], []
        ours: list[tuple[int, int]] = []
        theirs: list[tuple[int, int]] = []
        for text in _said(2_000):
            message = {"role": "user", "content": text}
            ours.append(clocked(lambda: thread.append(message)))  # noqa: B023  # called at once
            theirs.append(clocked(lambda: plain(encode(message))))  # noqa: B023
        walls = [sum(wall for wall, _ in side) for side in (ours, theirs)]
        cpus = [sum(cpu for _, cpu in side) for side in (ours, theirs)]
    return [
        at_most("durable append with the index / bare commit, wall", walls[0] / walls[1], 1.5),
        at_most("durable append with the index / bare commit, processor", cpus[0] / cpus[1], 6),
    ]


def size(root: Path) -> list[Row]:
    """What the index of recorded runs takes beside the text in it."""
    connection = apsw.Connection(str(root / "size.db"))
    index.RecallIndex(lambda *_: None).install(connection)
    now, text, seq = index.sitting_of(connection, OnePlace()), 0, 0
    for messages in islice(long_runs(), SIZED):
        for start in range(0, len(messages), index.LAG):
            with connection:
                for message in messages[start : start + index.LAG]:
                    seq += 1
                    now = index.add(connection, 1, now, Logged(seq, 0, 1.7e9, None), message)  # type: ignore[arg-type]
                    text += sum(len(piece.text.encode()) for piece in passages(message))
    if not text:
        return [absent("index / text", "no recorded runs are here")]
    free = connection.pragma("freelist_count") * connection.pragma("page_size")
    return [at_most("index / text that it indexes", ((root / "size.db").stat().st_size - free) / text, 0.35)]
