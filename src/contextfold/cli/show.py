"""Show what the model sees: the view message by message, folds marked, with the size of each.

Long texts are shortened; --full shows all of them. --at looks at an earlier place: a seq, a fold or a request that was
sent. Nothing is changed.

Examples:
  contextfold show
  contextfold show refactor-42 --last 10
  contextfold show refactor-42 --at 40 --full | less
  contextfold show --json | jq '.messages[].tokens'
"""

from __future__ import annotations

from argparse import ArgumentParser

import contextfold as cf
from contextfold.tokens import fixed_cost

from .arguments import add_model, add_thread, seq
from .invocation import Invocation
from .paper import Ink, Paper
from .view import as_plain, reader_of


def arguments(parser: ArgumentParser) -> None:
    add_thread(parser)
    add_model(parser)
    parser.add_argument("--last", type=seq, metavar="N", help="only the last N messages of the view")
    parser.add_argument("--at", type=seq, metavar="SEQ", help="as it was at this event")
    parser.add_argument("--full", action="store_true", help="whole texts")


def run(call: Invocation) -> int:
    with call.thread() as thread:
        view = thread.view if call.args.at is None else thread.view_at(call.args.at)
        messages = view.messages[-call.args.last :] if call.args.last else view.messages

        def show() -> None:
            _headline(call.out, thread, view)
            if len(messages) < view.length:
                call.out.line(
                    Ink(f"… {call.out.label(f'{view.length - len(messages)} messages before')}", "dim"), indent=8
                )
            reader = reader_of(call.out, thread, is_full=call.args.full)
            for message in messages:
                reader.message(message)

        value = {
            "thread": thread.name,
            "model": thread.model.name,
            "window": thread.model.window,
            "head": view.head,
            "count": view.count,
            "beside": _beside(thread),
            "open_calls": view.open_calls,
            "messages": [as_plain(message, view.pinned) for message in messages] if call.is_json else [],
        }
        return call.answer(value, show)


def _headline(paper: Paper, thread: cf.Thread, view: cf.View) -> None:
    used, window = view.count.tokens + _beside(thread), thread.model.window
    about = "" if view.count.exact else "about "
    paper.line(
        Ink(thread.name, "bold"),
        f" · {thread.model.name or paper.label('no model')} · {paper.label(f'head {view.head}')}",
    )
    size = f"{view.length} messages shown, {about}{used:,} of {window:,} tokens"
    paper.line(Ink(bar(used, window), "fold" if used > 0.8 * window else "good"), f" {paper.label(size)}")
    if view.open_calls:
        waiting = len(view.open_calls)
        told = "a call waits for its result" if waiting == 1 else f"{waiting} calls wait for their results"
        paper.line(Ink(paper.label(told), "warn"))
    paper.line()


def _beside(thread: cf.Thread) -> int:
    """Tokens of system and tools, as the newest request had them."""
    system, tools = thread.surroundings()
    cost = fixed_cost(system, tools, thread.lens.counter) if system or tools else None
    return 0 if cost is None else thread.lens.calibration.around(cost.system + cost.tools + cost.request)


def bar(used: int, of: int, width: int = 24) -> str:
    """A share as a bar."""
    full = min(width, round(width * used / of)) if of else 0
    return "█" * full + "░" * (width - full)
