"""List the live folds of a thread, oldest first: what each hides, what it saved, why it was made, what stands there.

Examples:
  contextfold folds
  contextfold folds refactor-42 --full
  contextfold unfold 412      # take one back
"""

from __future__ import annotations

from argparse import ArgumentParser

from contextfold.thread import FoldInfo

from .arguments import add_thread
from .invocation import Invocation
from .paper import Ink
from .view import hidden_messages, messages_on_path, spans


def arguments(parser: ArgumentParser) -> None:
    add_thread(parser)
    parser.add_argument("--full", action="store_true", help="whole stand-ins")


def run(call: Invocation) -> int:
    with call.thread() as thread:
        folds, on_path = thread.folds, messages_on_path(thread)
        hidden = {fold.id: hidden_messages(fold.cover, thread.events, on_path) for fold in folds}

        def show() -> None:
            if not folds:
                call.out.line(call.say("folds.none", thread=thread.name))
            for fold in folds:
                _show(call, fold, hidden[fold.id])

        return call.answer([_plain(fold, hidden[fold.id]) for fold in folds], show)


def _plain(fold: FoldInfo, hidden: list[int]) -> dict[str, object]:
    return {
        "id": fold.id,
        "kind": fold.kind,
        "showing": fold.is_showing,
        "messages": hidden,
        "blocks": len(fold.cover.blocks),
        "before": fold.before,
        "after": fold.after,
        "details": fold.details,
        "stand_in": fold.stand_in,
    }


def _show(call: Invocation, fold: FoldInfo, hidden: list[int]) -> None:
    label = call.out.label
    what = f"{len(fold.cover.blocks)} parts of messages" if fold.cover.blocks else f"{len(hidden)} messages"
    told = [label(fold.kind), label(f"hides {what} ({spans(hidden)})")]
    if fold.before:
        told.append(label(f"view {fold.before:,} → {fold.after:,} tokens"))
    if not fold.is_showing:
        told.append(label("inside another fold"))
    call.out.item(Ink(f"▸ {fold.id}", "fold"), " · ".join(told))
    named = {name: value for name, value in fold.details.items() if value not in (None, "")}
    facts = ", ".join(f"{label(name)}: {label(str(value))}" for name, value in named.items())
    if facts:
        call.out.text(facts, indent=4, style="dim", most=2)
    text = fold.stand_in.text or "\n".join(fold.stand_in.blocks)
    call.out.text(text, indent=4, most=None if call.args.full else 4)
