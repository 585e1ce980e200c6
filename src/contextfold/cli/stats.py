"""A thread in numbers: what was said, what is shown, what folds hide, what was sent and billed.

Examples:
  contextfold stats
  contextfold stats refactor-42 --json
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable

from msgspec import structs

import contextfold as cf
from contextfold.domain import Measured, Sent

from .arguments import add_model, add_thread
from .commands import DONE
from .invocation import Invocation, session_of
from .show import bar

KINDS = ("fresh", "written", "read", "answer")


def arguments(parser: ArgumentParser) -> None:
    add_thread(parser)
    add_model(parser)


def run(call: Invocation) -> int:
    with session_of(call) as session:
        facts = _facts(session)
    if not call.is_told_as_json(facts):
        _show(call, facts)
    return DONE


def _facts(session: cf.Session) -> dict[str, object]:
    stats, view, model = session.stats, session.view, session.model
    events = session.thread.events
    sent = [logged.event for logged in events if isinstance(logged.event, Sent)]
    billed = [logged.event for logged in events if isinstance(logged.event, Measured)]
    usage: Counter[str] = Counter()
    for each in billed:
        usage.update({name: int(value) for name, value in each.usage.items() if isinstance(value, int | float)})
    return {
        "thread": session.thread.name,
        "model": model.name,
        "window": model.window,
        "messages": stats.messages,
        "shown": stats.shown,
        "tokens": stats.tokens,
        "beside": stats.beside,
        "exact": view.count.exact,
        "method": view.count.method,
        "hidden": stats.hidden,
        "folds": dict(Counter(fold.kind for fold in session.folds)),
        "pinned": len(view.pinned),
        "events": dict(Counter(structs.asdict(logged)["event"].__struct_config__.tag for logged in events)),
        "requests": stats.requests,
        "largest_request": max((each.tokens for each in sent), default=0),
        "billed_input": stats.billed,
        "usage": dict(usage),
        "paid": {**{kind: round(getattr(stats.paid, kind), 6) for kind in KINDS}, "total": round(stats.paid.total, 6)},
        "spent": round(stats.spent, 6),
        "full_history": round(stats.full_history, 6),
        "unit": stats.unit,
        "saved": round(stats.saved, 4),
        "will_fold": session.will_fold,
        "decision": session.preview().reason,
    }


def _show(call: Invocation, facts: dict[str, object]) -> None:
    # For people: money with its unit, and the share that folding saved as one.
    unit = "$" if facts["unit"] == "USD" else ""
    paid, after = facts["paid"], "" if unit else " tokens"
    told = {name: f"{unit}{facts[name]:,.4f}{after}" for name in ("spent", "full_history")}
    by_kind = {kind: f"${value:,.4f}" for kind, value in paid.items()} if unit and isinstance(paid, dict) else {}
    facts = {**facts, **told, "paid": by_kind, "saved": f"{float(str(facts['saved'])):.1%}", "unit": ""}
    tokens, window = int(str(facts["tokens"])) + int(str(facts["beside"])), int(str(facts["window"]))
    call.out.line(f"{facts['thread']} · {facts['model'] or call.say('stats.no_model')}")
    call.out.line(f"{bar(tokens, window)} {call.say('context.used', used=f'{tokens:,}', window=f'{window:,}')}")
    rows = [
        (call.out.label(name.replace("_", " ")), _told(value, call.out.label))
        for name, value in facts.items()
        if name not in ("thread", "model", "window", "tokens") and value not in ({}, "")
    ]
    call.out.table(rows, wraps=True)


def _told(value: object, label: Callable[[str], str]) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{label(name)} {_told(number, label)}" for name, number in value.items())
    if isinstance(value, bool):
        return label("yes" if value else "no")
    return f"{value:,}" if isinstance(value, int) else label(str(value))
