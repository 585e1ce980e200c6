"""Show what fills the window: system, tools, summaries, results by tool, words, the answer's room, and what is free.

Sizes are those of the next request as far as the thread knows it: system prompt and tools are those of the newest
request. The tail is the newest messages, behind everything folded: the model sees them as they were said.
`contextfold show` has the messages themselves.

Examples:
  contextfold context
  contextfold context refactor-42 --model claude-sonnet-5-5
  contextfold context --json | jq '.parts[] | select(.tokens > 1000)'
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

import contextfold as cf
from contextfold.domain import Sent

from .arguments import add_model, add_thread
from .invocation import Invocation, session_of
from .paper import Ink
from .show import bar
from .view import tool_names


class WindowPart(Struct, frozen=True):
    """So many tokens of a request belong to this; `name` says which tool or kind of fold where there are several."""

    part: str
    name: str
    tokens: int


class WindowTail(Struct, frozen=True):
    """The newest messages behind everything folded, as they were said; they are part of what is used."""

    messages: int
    tokens: int


def arguments(parser: ArgumentParser) -> None:
    add_thread(parser)
    add_model(parser)


def run(call: Invocation) -> int:
    with session_of(call) as session:
        window, view = session.model.window, session.view
        parts, tail = list(parts_of(session)), tail_of(session)
        used = sum(part.tokens for part in parts if part.part not in ("reserve", "free"))
        value = {
            "thread": session.thread.name,
            "model": session.model.name,
            "window": window,
            "used": used,
            "exact": view.count.exact,
            "parts": parts,
            "tail": tail,
        }

        def show() -> None:
            call.out.line(Ink(session.thread.name, "bold"), f" · {session.model.name or '-'}")
            call.out.line(f"{bar(used, window)} {call.say('context.used', used=f'{used:,}', window=f'{window:,}')}")
            rows = []
            for part in parts:
                # A kind of stand-in in the reader's language; a tool is called as it is.
                name = call.out.label(part.name) if part.part == "summary" else part.name
                rows.append((call.say(f"context.{part.part}", name=name), part.tokens))
            rows.append((call.say("context.tail", many=f"{tail.messages:,}"), tail.tokens))
            cells = [(about, f"{tokens:,}", f"{tokens / window:.1%}") for about, tokens in rows]
            call.out.table(cells, right=(1, 2))

        return call.answer(value, show)


def parts_of(session: cf.Session) -> Iterator[WindowPart]:
    """What the window holds, the fixed parts first; together they are the window."""
    sizes = Counter(dict(_around(session)))
    sizes.update(_shown(session))
    reserve = session.desk.budget().reserve
    free = max(0, session.model.window - sum(sizes.values()) - reserve)
    order = ("system", "tools", "fixed", "summary", "result", "user", "assistant", "other")
    for (part, name), tokens in sorted(sizes.items(), key=lambda each: (order.index(each[0][0]), -each[1])):
        if tokens:
            yield WindowPart(part, name, tokens)
    yield WindowPart("reserve", "", reserve)
    yield WindowPart("free", "", free)


def tail_of(session: cf.Session) -> WindowTail:
    """What stands behind the last stand-in and the last message with something folded in it."""
    view = session.view
    items = ((place, view.item(place)) for place in reversed(range(view.length)))
    start = next((place + 1 for place, item in items if item.kind == "stand_in" or item.folded), 0)
    tokens = session.thread.lens.calibration.scaled(view.tokens(start, view.length))
    return WindowTail(view.length - start, tokens)


def _around(session: cf.Session) -> Iterator[tuple[tuple[str, str], int]]:
    """System and tools where this session knows them, else what the newest request held beside its messages."""
    calibration, frame = session.thread.lens.calibration, session.desk.turn.frame
    if frame.system_tokens or frame.tool_tokens:
        yield ("system", ""), calibration.scaled(frame.system_tokens)
        yield ("tools", ""), calibration.scaled(frame.tool_tokens)
        return
    newest = next((each.event for each in reversed(session.thread.events) if isinstance(each.event, Sent)), None)
    raw = newest.details.get("raw") if newest is not None else None
    if newest is not None and isinstance(raw, int):
        yield ("fixed", ""), calibration.scaled(max(0, raw - session.thread.view_at(newest.head).tokens()))


def _shown(session: cf.Session) -> Counter[tuple[str, str]]:
    """The messages of the view: stand-ins by kind, results by tool, and words by who said them."""
    thread, view = session.thread, session.view
    weigh, scaled = thread.lens.counter, thread.lens.calibration.scaled
    kinds = {fold.id: fold.kind for fold in thread.folds}
    found: Counter[tuple[str, str]] = Counter()
    for place in range(view.length):
        item, whole = view.item(place), view.tokens(place, place + 1)
        results = 0
        names = tool_names(thread.events, item) if item.shape.results and not item.folded else {}
        for block in item.shape.blocks if names else ():
            if block.kind == "result":
                tokens = min(whole - results, weigh.block_tokens(block.measure))
                found["result", names.get(block.call, "?")] += scaled(tokens)
                results += tokens
        if item.kind == "stand_in":
            found["summary", kinds.get(item.seq, "fold")] += scaled(whole)
        elif whole > results:
            role = item.shape.role if item.shape.role in ("user", "assistant") else "other"
            found[("result", "…") if item.shape.results else (role, "")] += scaled(whole - results)
    return found
