"""Take a fold back. What it hid is in view again; everything said since stays.

What would no longer fit is refused with sizes; --make-room folds something older instead. --preview tells what would
change and whether it fits, and does nothing.

Examples:
  contextfold unfold 412
  contextfold unfold 412 --preview
  contextfold unfold 412 -t refactor-42 --make-room
"""

from __future__ import annotations

from argparse import ArgumentParser

from contextfold.session import Preview

from .arguments import add_thread, seq
from .fold import show_preview
from .invocation import Invocation, session_of
from .paper import Ink


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("fold", type=seq, metavar="FOLD", help="the fold's id, as `contextfold folds` lists it")
    parser.add_argument("--make-room", action="store_true", help="fold something older if it would not fit")
    parser.add_argument("--preview", action="store_true", help="only say what would happen")
    add_thread(parser, positional=False)


def run(call: Invocation) -> int:
    with session_of(call) as session:
        if call.args.preview:
            preview = session.preview_unfold(call.args.fold, make_room=call.args.make_room)
            return call.answer(preview, lambda: _show(call, preview))
        before = session.view.count.tokens
        made = session.unfold(call.args.fold, make_room=call.args.make_room)
        after = session.view.count.tokens
        said = call.say("unfolded", fold=call.args.fold, before=f"{before:,}", after=f"{after:,}")
        value = {"thread": session.thread.name, "fold": call.args.fold, "before": before, "after": after, "made": made}
        return call.answer(value, lambda: call.out.line(said))


def _show(call: Invocation, preview: Preview) -> None:
    show_preview(call, preview)
    if not preview.fits:
        call.out.line(Ink(call.say("preview.refused"), "bad"))
