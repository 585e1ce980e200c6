"""Forgetting for good: a message, a thread, or every thread that nobody has used for so long."""

from __future__ import annotations

import argparse
import sys
import time
from argparse import ArgumentParser
from datetime import UTC, datetime

import contextfold as cf
from contextfold.domain import Appended
from contextfold.shell import operand
from contextfold.store import MEMORIES

from .arguments import NotConfirmed, add_thread, seq
from .commands import DONE
from .invocation import Invocation


class ForgetCommand:
    """Erase a message with everything that was made from it, or a whole thread, for good. There is no undo.

    For a key that leaked, or on somebody's request. The chain still proves the rest, and says what was forgotten. Asks
    before it does anything; in scripts say --yes. Tools' names, call ids, keys and files of outputs put aside go too.

    Not promised: sizes, times and roles stay, the thread's name, and a call's id as long as the message with its other
    half is there. Copies made earlier by `backup`, `export` or `replay`, and what a provider was sent, are not touched;
    nor are blocks that the disk or its snapshots keep.

    Examples:
      contextfold forget refactor-42 --seq 88
      contextfold forget refactor-42 --yes
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        add_thread(parser)
        parser.add_argument(
            "--seq", type=seq, metavar="SEQ", help="only this message, and every stand-in made after it"
        )
        parser.add_argument("--yes", action="store_true", help="do not ask")

    @staticmethod
    def run(call: Invocation) -> int:
        with call.store() as store:
            name, number = call.thread_name(store), call.args.seq
            thread = store.thread(name)
            if number is not None:
                thread.message(number)  # there is one, or the error says so
            _confirm(call, thread)
            shared, origin = 0, None
            if number is None and thread.origin is not None:
                # Messages that a fork only shows stay where they were written, in the thread that keeps them.
                shared = sum(isinstance(logged.event, Appended) for logged in thread.events[: thread.origin.seq])
                origin = thread.origin.thread
            erased = store.forget(name, number)
        value = {"thread": name, "seq": number, "erased": erased, "shared": shared, "origin": origin}
        if not call.is_told_as_json(value):
            call.out.line(call.say("forget.done", count=erased))
            call.out.line(call.say("forget.promise"))
            if shared:
                call.out.line(call.say("forget.shared", count=shared, origin=origin, named=operand(origin)))
        return DONE


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


_DAYS = {"d": 1, "w": 7, "y": 365}


class RetentionCommand:
    """Forget threads that nobody has used for so long: their words go for good, as with `contextfold forget`.

    --dry-run tells which and how much, and changes nothing. Memories are never among them. Say --yes to do it.

    Examples:
      contextfold retention --older 180d --dry-run
      contextfold retention --older 26w --yes
    """

    @staticmethod
    def arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--older", type=days, required=True, metavar="AGE", help="not used for so long: 180d, 26w, 2y"
        )
        parser.add_argument("--dry-run", action="store_true", help="only tell what would be forgotten")
        parser.add_argument("--yes", action="store_true", help="forget them")

    @staticmethod
    def run(call: Invocation) -> int:
        before = time.time() - call.args.older * 86_400
        with call.store() as store:
            # Those that are forgotten already have nothing left.
            rows = [row for row in store.threads() if row.at < before and not row.is_forgotten]
            old = sorted((row for row in rows if not row.name.startswith(MEMORIES)), key=lambda row: row.at)
            size = sum(row.size for row in old)
            if not call.args.dry_run:
                if not call.args.yes:
                    raise NotConfirmed("This cannot be undone. Look with --dry-run, and say --yes if you are sure.")
                for row in old:
                    store.forget(row.name)
        call.note_other_spaces()
        threads = [{"thread": row.title, "at": row.at, "messages": row.messages, "size": row.size} for row in old]
        value = {"before": before, "forgotten": not call.args.dry_run, "size": size, "threads": threads}
        if not call.is_told_as_json(value):
            for row in old:
                day = datetime.fromtimestamp(row.at, UTC).strftime("%Y-%m-%d")
                call.out.line(f"{day}  {row.messages:>6}  {row.size:>10,}  {row.title}", indent=2)
            key = "retention.would" if call.args.dry_run else "retention.done"
            call.out.line(call.say(key, count=len(old), size=f"{size:,}"))
        return DONE


def days(text: str) -> int:
    """An age as people write it: 180d, 26w, 2y."""
    number, unit = text[:-1], text[-1:].lower()
    if unit not in _DAYS or not number.isascii() or not number.isdigit() or not 0 < int(number) < 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no age; write 180d, 26w or 2y")
    return int(number) * _DAYS[unit]
