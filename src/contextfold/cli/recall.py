"""Show what is folded away, as it was said: behind a fold, one message by its number, or whatever holds some words.

Examples:
  contextfold recall --fold 412
  contextfold recall --seq 88 --json
  contextfold recall parser error -t refactor-42
  contextfold recall "which port did we choose?" --all --budget 4k
"""

from __future__ import annotations

from argparse import ArgumentParser

from msgspec import to_builtins

import contextfold as cf
from contextfold.domain import Folded
from contextfold.recall import headline

from .arguments import UsageError, add_thread, seq, size
from .commands import DONE, NOT_FOUND
from .invocation import Invocation, session_of
from .paper import Ink
from .view import hidden_messages, message_as_plain, messages_on_path, reader_of

MOST_LINES = 12  # of one passage on the screen; --json has all of it


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORD", help="what to look for, in your own words")
    parser.add_argument("--fold", type=seq, metavar="FOLD", help="everything behind this fold")
    parser.add_argument("--seq", type=seq, metavar="SEQ", help="this message")
    parser.add_argument("--all", action="store_true", help="search every thread, and what is in view as well")
    parser.add_argument("--budget", type=size, default=2_000, metavar="TOKENS", help="how much to show (default: 2000)")
    add_thread(parser, positional=False)


def run(call: Invocation) -> int:
    wishes = [bool(call.args.words), call.args.fold is not None, call.args.seq is not None]
    if sum(wishes) != 1:
        raise UsageError("Say one thing to recall: words, --fold or --seq. See `contextfold recall --help`.")
    if call.args.words:
        return _search(call)
    with session_of(call) as session:
        messages, thread = session.recall(fold=call.args.fold, seq=call.args.seq), session.thread
        seqs = [call.args.seq]
        if call.args.fold is not None:
            event = thread.events[call.args.fold - 1].event
            cover = event.cover if isinstance(event, Folded) else cf.Cover()
            seqs = hidden_messages(cover, thread.events, messages_on_path(thread))
        found = list(zip(seqs, messages, strict=True))
        if not call.is_told_as_json([message_as_plain(number, message) for number, message in found]):
            reader = reader_of(call.out, session.thread, is_full=True)
            for number, message in found:
                call.out.line(f"{number:>6}  ", Ink(call.out.label(message.role), message.role))
                for block in message.blocks:
                    reader.block(block, {})
        return DONE


def _search(call: Invocation) -> int:
    question = " ".join(call.args.words)
    with call.store() as store:
        name = None if call.args.all else call.thread_name(store)
        passages = store.recall(question, name, budget=call.args.budget, only_folded=name is not None)
        found = [passage for passage in passages if passage.score > 0]

    def show() -> None:
        for passage in found:
            first, *others = headline(passage, thread=name is None).split(" · ")  # a thread is called as it is
            told = [first, *map(call.out.label, others)] if name is None else map(call.out.label, [first, *others])
            call.out.line(Ink(" · ".join(told), "dim"))
            call.out.text(passage.text, indent=2, most=MOST_LINES)
        if not found:
            call.out.line(call.say("recall.nothing"))

    return call.answer(to_builtins(found), show, DONE if found else NOT_FOUND)
