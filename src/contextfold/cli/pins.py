"""Pins: messages that stay in every view, and letting them be folded again."""

from __future__ import annotations

from argparse import ArgumentParser

from .arguments import add_thread, seq
from .invocation import Invocation


class PinCommand:
    """Keep messages in every view, with whatever stands or falls with them (a call and its results).

    Examples:
      contextfold pin 3
      contextfold pin 3 17 -t refactor-42
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        parser.add_argument("seqs", type=seq, nargs="+", metavar="SEQ", help="a message, by its number in `show`")
        add_thread(parser, positional=False)

    @staticmethod
    def run(call: Invocation) -> int:
        with call.thread() as thread:
            for number in call.args.seqs:
                thread.pin(number)
            pinned = sorted(thread.view.pinned)
            told = call.say("pinned", thread=thread.name, seqs=", ".join(map(str, pinned)))
            return call.answer({"thread": thread.name, "pinned": pinned}, lambda: call.out.line(told))


class UnpinCommand:
    """Let pinned messages be folded again.

    Examples:
      contextfold unpin 3
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        parser.add_argument("seqs", type=seq, nargs="+", metavar="SEQ", help="a pinned message")
        add_thread(parser, positional=False)

    @staticmethod
    def run(call: Invocation) -> int:
        with call.thread() as thread:
            for number in call.args.seqs:
                thread.unpin(number)
            pinned = sorted(thread.view.pinned)
            seqs = ", ".join(map(str, pinned)) or call.say("pinned.none")
            told = call.say("pinned", thread=thread.name, seqs=seqs)
            return call.answer({"thread": thread.name, "pinned": pinned}, lambda: call.out.line(told))
