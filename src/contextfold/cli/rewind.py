"""Move the head to an earlier place. What came after it leaves the view and stays in the log; redo returns to it.

A place is just before or after an event, before the message of a time, or a checkpoint. With --files the files of the
checkpoint's workspace go back as well, files first; --no-chat moves only them.

Examples:
  contextfold rewind --before 88
  contextfold rewind refactor-42 --after 40 --preview
  contextfold rewind --to "before refactor" --files
  contextfold rewind --time 2026-11-16T09:30
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from datetime import datetime

from contextfold.thread import RewindReport

from .arguments import add_thread, checkpoint_name, seq
from .invocation import Invocation, session_of
from .paper import Ink


def arguments(parser: ArgumentParser) -> None:
    add_thread(parser)
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--before", type=seq, metavar="SEQ", help="to just before this event")
    place.add_argument("--after", type=seq, metavar="SEQ", help="to just after this event")
    place.add_argument("--time", type=moment, metavar="TIME", help="to before the message of this time (ISO 8601)")
    place.add_argument("--to", metavar="CHECKPOINT", help="to this checkpoint, by name or seq")
    parser.add_argument("--files", action="store_true", help="bring the checkpoint's files back as well")
    parser.add_argument("--no-chat", action="store_true", help="only the files; the conversation stays")
    parser.add_argument("--preview", action="store_true", help="only say what would happen")


def run(call: Invocation) -> int:
    args = call.args
    with session_of(call) as session:
        report = session.rewind(
            before=args.before,
            after=args.after,
            to_time=args.time,
            to=None if args.to is None else checkpoint_name(args.to),
            chat=not args.no_chat,
            files=args.files,
            preview=args.preview,
        )
        return call.answer(report, lambda: _show(call, report))


def _show(call: Invocation, report: RewindReport) -> None:
    numbers = {"head": report.head, "messages": len(report.messages), "folds": len(report.folds)}
    call.out.line(call.say("rewound.preview" if report.is_preview else "rewound", **numbers))
    for change in report.files:
        call.out.line(Ink(str(change.kind), "dim"), f"  {change.path}", indent=2)


def moment(text: str) -> datetime:
    """A time as people write it; without a zone, the local one."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no time; write 2026-11-16T09:30") from error
