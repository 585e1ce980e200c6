"""Show what is folded away, as it was said: behind a fold, one message by its number, or whatever holds some words.

Examples:
  contextfold recall --fold 412
  contextfold recall --seq 88 --json
  contextfold recall parser error -t refactor-42
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator

import contextfold as cf
from contextfold.domain import Appended, Folded, Message, Text, ToolResult, nested

from .arguments import UsageError, add_thread, seq
from .exits import DONE, NOT_FOUND
from .invocation import Invocation
from .paper import Ink
from .sessions import session_of
from .view import ViewReader, hidden_messages, message_as_plain, messages_on_path, reader_of

AROUND = 60  # characters on each side of a word that was found


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORD", help="messages that hold all of these words")
    parser.add_argument("--fold", type=seq, metavar="FOLD", help="everything behind this fold")
    parser.add_argument("--seq", type=seq, metavar="SEQ", help="this message")
    parser.add_argument("--all", action="store_true", help="search what is in view as well")
    add_thread(parser, positional=False)


def run(call: Invocation) -> int:
    wishes = [bool(call.args.words), call.args.fold is not None, call.args.seq is not None]
    if sum(wishes) != 1:
        raise UsageError("Say one thing to recall: words, --fold or --seq. See `contextfold recall --help`.")
    with session_of(call) as session:
        if call.args.words:
            return _search(call, session)
        found = _named(session, call.args.fold, call.args.seq)
        reader = reader_of(call.out, session.thread, is_full=True)
        value = [message_as_plain(number, message) for number, message in found]
        return call.answer(value, lambda: _show(call, reader, found))


def _named(session: cf.Session, fold: int | None, number: int | None) -> list[tuple[int, Message]]:
    messages = session.recall(fold=fold, seq=number)
    if number is not None:
        return [(number, messages[0])]
    thread, event = session.thread, session.thread.events[(fold or 1) - 1].event
    cover = event.cover if isinstance(event, Folded) else cf.Cover()
    return list(zip(hidden_messages(cover, thread.events, messages_on_path(thread)), messages, strict=True))


def _show(call: Invocation, reader: ViewReader, found: list[tuple[int, Message]]) -> None:
    for number, message in found:
        call.out.line(f"{number:>6}  ", Ink(message.role, message.role))
        for block in message.blocks:
            reader.block(block, {})


def _search(call: Invocation, session: cf.Session) -> int:
    words = [word.casefold() for word in call.args.words]
    shown = set() if call.args.all else {m.seq for m in session.view.messages if not m.item.folded}
    found = [
        (number, message, text)
        for number, message, text in _said(session.thread)
        if number not in shown and all(word in text.casefold() for word in words)
    ]

    def show() -> None:
        for number, message, text in found:
            call.out.line(f"{number:>6}  ", Ink(message.role, message.role))
            call.out.text(_excerpt(text, words[0]), indent=8, most=3)
        if not found:
            call.out.line("Nothing that is out of view holds these words. --all searches everything.")

    return call.answer(
        [{**message_as_plain(number, message), "excerpt": _excerpt(text, words[0])} for number, message, text in found],
        show,
        DONE if found else NOT_FOUND,
    )


def _said(thread: cf.Thread) -> Iterator[tuple[int, Message, str]]:
    for logged in thread.events:
        if isinstance(logged.event, Appended):
            message = thread.message(logged.seq)
            inner = [each for block in message.blocks for each in nested(block)]
            calls = [f"{call.name} {call.arguments}" for call in message.calls]
            texts = [block.text for block in inner if isinstance(block, Text) and not isinstance(block, ToolResult)]
            yield logged.seq, message, "\n".join([*texts, *calls])


def _excerpt(text: str, word: str) -> str:
    at = max(0, text.casefold().find(word))
    start, stop = max(0, at - AROUND), at + len(word) + AROUND
    return ("…" if start else "") + text[start:stop] + ("…" if stop < len(text) else "")
