"""Show what changed in what the model sees between two places of a thread.

A place is a seq: of a message, a fold, a rewind, or a request that was sent. Without places, the newest fold: before
and after. With one, from there to now. --sent compares the last two requests. --files shows what changed in the files
since a checkpoint that kept them.

Examples:
  contextfold diff
  contextfold diff 40 88 -t refactor-42
  contextfold diff --sent
  contextfold diff --files "before refactor"
"""

from __future__ import annotations

from argparse import ArgumentParser

from msgspec import Struct

import contextfold as cf
from contextfold.domain import Folded, Sent, ViewItem, ViewMessage
from contextfold.errors import NotFound

from .arguments import UsageError, add_thread, checkpoint_name, seq
from .commands import DONE
from .invocation import Invocation, session_of
from .paper import Ink, clipped, columns
from .view import reader_of


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("places", nargs="*", type=seq, metavar="SEQ", help="from, and to (default: now)")
    parser.add_argument("--sent", action="store_true", help="compare the last two requests that were sent")
    parser.add_argument("--files", metavar="CHECKPOINT", help="files since this checkpoint, by name or seq")
    parser.add_argument("--full", action="store_true", help="whole texts")
    add_thread(parser, positional=False)


class ViewChange(Struct, frozen=True):
    """A view beside an earlier one."""

    start: int
    stop: int
    before: cf.View
    after: cf.View

    @property
    def gone(self) -> list[ViewMessage]:
        kept = set(map(_identity, self.after.items))
        return [message for message in self.before.messages if _identity(message.item) not in kept]

    @property
    def new(self) -> list[ViewMessage]:
        kept = set(map(_identity, self.before.items))
        return [message for message in self.after.messages if _identity(message.item) not in kept]

    @property
    def same_prefix(self) -> int:
        """Tokens at the front that stayed, and with them the provider's cache."""
        same = 0
        for old, new in zip(self.before.items, self.after.items, strict=False):
            if old != new:
                break
            same += 1
        return self.after.tokens(0, same)

    @property
    def plain(self) -> dict[str, object]:
        """The change for a program."""
        return {
            "from": self.start,
            "to": self.stop,
            "tokens": {"before": self.before.count.tokens, "after": self.after.count.tokens},
            "messages": {"before": self.before.length, "after": self.after.length},
            "unchanged_prefix_tokens": self.same_prefix,
            "gone": [{"seq": each.seq, "kind": each.kind, "tokens": each.tokens} for each in self.gone],
            "new": [
                {"seq": each.seq, "kind": each.kind, "tokens": each.tokens, "text": each.text} for each in self.new
            ],
        }


def _identity(item: ViewItem) -> tuple[object, ...]:
    return item.seq, item.kind, item.folded


def run(call: Invocation) -> int:
    if len(call.args.places) > 2 or (call.args.sent and call.args.places):
        raise UsageError("Give two places at most, or --sent. See `contextfold diff --help`.")
    if call.args.files is not None:
        checkpoint = checkpoint_name(call.args.files)
        with session_of(call) as session:
            changed = session.diff(checkpoint)
        if not call.is_told_as_json({"checkpoint": checkpoint, "diff": changed}):
            styles = {"+": "added", "-": "gone", "@": "dim"}
            rows = [Ink(row, styles[row[0]]) if row[:1] in styles else row for row in changed.splitlines()]
            call.out.lines(rows or [call.say("diff.no_file")])
        return DONE
    with call.thread() as thread:
        start, stop = _places(call, thread)
        change = ViewChange(start, stop, thread.view_at(start), thread.view_at(stop))
        if not call.is_told_as_json(change.plain):
            _show(call, thread, change)
        return DONE


def _places(call: Invocation, thread: cf.Thread) -> tuple[int, int]:
    events, given = thread.events, call.args.places
    if len(given) == 2:
        return given[0], given[1]
    if given:
        return given[0], len(events)
    kind = Sent if call.args.sent else Folded
    found = [logged for logged in events if isinstance(logged.event, kind)]
    if call.args.sent and len(found) > 1:
        return found[-2].seq, found[-1].seq
    if not call.args.sent and found and found[-1].parent:
        return found[-1].parent, found[-1].seq
    missing = "fewer than two requests were sent" if call.args.sent else "nothing was folded yet"
    raise NotFound(f"In {thread.name!r} {missing}. Name two seqs to compare, as `contextfold show` has them.")


def _show(call: Invocation, thread: cf.Thread, change: ViewChange) -> None:
    old, new = change.before.count.tokens, change.after.count.tokens
    sizes = call.out.label(f"{old:,} → {new:,} tokens ({new - old:+,})")
    call.out.line(Ink(thread.name, "bold"), f" · {change.start} → {change.stop}: {sizes}")
    call.out.line(Ink(call.say("diff.prefix", tokens=f"{change.same_prefix:,}"), "dim"))
    for each in change.gone:
        about = f"- {each.seq:>5}  {call.out.label(each.role)} · {call.out.label(f'{each.tokens:,} tokens')}  "
        first = clipped(each.text.strip().partition("\n")[0], call.out.width - columns(about))
        call.out.line(Ink(f"{about}{first}", "gone"))
    reader = reader_of(call.out, thread, is_full=call.args.full)
    for each in change.new:
        call.out.line(Ink("+", "added"))
        reader.message(each)
    if not change.gone and not change.new:
        call.out.line(call.say("diff.same"))
