"""Going back in a thread: names for its places, to an earlier one, and forward again."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from datetime import datetime

from .arguments import add_thread, checkpoint_name, seq
from .commands import DONE
from .invocation import Invocation, session_of
from .paper import Ink
from .translation import error_in


class CheckpointCommand:
    """Name this place in a thread, with a snapshot of a directory's files if you like; without a name, list them.

    Examples:
      contextfold checkpoint "before refactor" --workspace ~/project
      contextfold checkpoint
      contextfold rewind --to "before refactor" --files
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        parser.add_argument("label", nargs="?", metavar="NAME", help="the checkpoint's name; without it, list them")
        parser.add_argument("--workspace", metavar="DIR", help="keep the files of this directory with it")
        add_thread(parser, positional=False)

    @staticmethod
    def run(call: Invocation) -> int:
        with session_of(call) as session:
            if call.args.label is None:
                found = session.checkpoints
            else:
                found = (session.checkpoint(call.args.label, workspace=call.args.workspace),)
        if call.is_told_as_json(found):
            return DONE
        for each in found:
            kept = call.say("checkpoint.files", files=f"{each.files:,}", root=each.workspace) if each.snapshot else ""
            after = call.say("checkpoint.after", head=each.head)
            call.out.line(f"{each.seq:>6}  ", Ink(each.name, "bold"), f"{after}{kept}")
            if each.error:
                call.out.line(Ink(error_in(call.language, each.error), "bad"), indent=8)
            for left in each.excluded:
                told = call.say("checkpoint.left_out", path=left.path, why=call.out.label(left.why))
                call.out.line(Ink(told, "warn"), indent=8)
        if not found:
            call.out.line(call.say("checkpoint.none"))
        return DONE


class RewindCommand:
    """Move the head to an earlier place. What came after it leaves the view and stays in the log; redo returns to it.

    A place is just before or after an event, before the message of a time, or a checkpoint. With --files the files of
    the checkpoint's workspace go back as well, files first; --no-chat moves only them.

    Examples:
      contextfold rewind --before 88
      contextfold rewind refactor-42 --after 40 --preview
      contextfold rewind --to "before refactor" --files
      contextfold rewind --time 2026-11-16T09:30
    """

    @staticmethod
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

    @staticmethod
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
        if not call.is_told_as_json(report):
            numbers = {"head": report.head, "messages": len(report.messages), "folds": len(report.folds)}
            call.out.line(call.say("rewound.preview" if report.is_preview else "rewound", **numbers))
            for change in report.files:
                call.out.line(Ink(str(change.kind), "dim"), f"  {change.path}", indent=2)
        return DONE


def moment(text: str) -> datetime:
    """A time as people write it; without a zone, the local one."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no time; write 2026-11-16T09:30") from error


class RedoCommand:
    """Return to where the last rewind came from, as long as nothing was said since; files it changed come back too.

    Examples:
      contextfold redo
      contextfold redo refactor-42
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        add_thread(parser)

    @staticmethod
    def run(call: Invocation) -> int:
        with session_of(call) as session:
            report = session.redo()
            said = call.say("redone", head=report.head, messages=len(report.messages), folds=len(report.folds))
            return call.answer(report, lambda: call.out.line(said))
