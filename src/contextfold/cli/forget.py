"""Erase a message with everything that was made from it, or a whole thread, for good. There is no undo.

For a key that leaked, or on somebody's request. The chain still proves the rest, and says what was forgotten. Asks
before it does anything; in scripts say --yes. Tools' names, call ids, keys and files of outputs put aside go too.

Not promised: sizes, times and roles stay, the thread's name, and a call's id as long as the message with its other half
is there. Copies made earlier by `backup`, `export` or `replay`, and what a provider was sent, are not touched; nor are
blocks that the disk or its snapshots keep.

Examples:
  contextfold forget refactor-42 --seq 88
  contextfold forget refactor-42 --yes
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

import contextfold as cf
from contextfold.domain import Appended

from .arguments import NotConfirmed, add_thread, seq
from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:
    add_thread(parser)
    parser.add_argument("--seq", type=seq, metavar="SEQ", help="only this message, and every stand-in made after it")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(call: Invocation) -> int:
    with call.store() as store:
        name, number = call.thread_name(store), call.args.seq
        thread = store.thread(name)
        if number is not None:
            thread.message(number)  # there is one, or the error says so
        _confirm(call, thread)
        shared, origin = _shared(thread) if number is None else (0, None)
        erased = store.forget(name, number)
    value = {"thread": name, "seq": number, "erased": erased, "shared": shared, "origin": origin}
    return call.answer(value, lambda: _show(call, erased, shared, origin))


def _shared(thread: cf.Thread) -> tuple[int, str | None]:
    """Messages that a fork only shows and that stay where they were written, with the thread that keeps them."""
    origin = thread.origin
    if origin is None:
        return 0, None
    count = sum(isinstance(logged.event, Appended) for logged in thread.events[: origin.seq])
    return count, origin.thread


def _show(call: Invocation, erased: int, shared: int, origin: str | None) -> None:
    call.out.line(call.say("forget.done", count=erased))
    call.out.line(call.say("forget.promise"))
    if shared:
        call.out.line(call.say("forget.shared", count=shared, origin=origin))


def _confirm(call: Invocation, thread: cf.Thread) -> None:
    if call.args.yes:
        return
    if not sys.stdin.isatty():
        raise NotConfirmed("This cannot be undone, and nobody is there to be asked. Say --yes if you are sure.")
    count = sum(isinstance(logged.event, Appended) for logged in thread.events)
    key = "forget.thread" if call.args.seq is None else "forget.message"
    call.err.line(call.say(key, count=count, thread=thread.name, seq=call.args.seq))
    call.err.line(call.say("forget.promise"))
    word = thread.name if call.args.seq is None else str(call.args.seq)
    call.err.prompt(call.say("confirm", word=word))
    if sys.stdin.readline().strip() != word.strip():
        raise NotConfirmed("The answer was another one. Nothing was erased.")
