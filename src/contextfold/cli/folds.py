"""Folds: made now, listed, and taken back."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

import contextfold as cf
from contextfold.folding import Attempt, Report, Summarizer
from contextfold.session import Preview
from contextfold.thread import FoldInfo

from .arguments import add_model, add_thread, seq, size
from .commands import DONE
from .invocation import Invocation, session_of
from .paper import Ink
from .translation import error_in
from .view import hidden_messages, messages_on_path, spans


class FoldCommand:
    """Fold now: the manual compaction. Your instructions are added to those for the summary.

    Summaries come from the embedded digest, which needs no model. With --summarizer a model of your choice writes them:
    the conversation is then sent to its provider, whose SDK and key must be set up. If it fails, the digest takes over.

    With --preview nothing happens and no model is asked; the digest stands for what a model would write.

    Examples:
      contextfold fold --instructions "focus on the API changes"
      contextfold fold refactor-42 --to 8k
      contextfold fold --summarizer claude-haiku-5-5 --instructions "focus on the API changes"
      contextfold fold --policy sliding_window --to 8k --preview
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        add_thread(parser)
        add_model(parser)
        parser.add_argument("-i", "--instructions", metavar="TEXT", default="", help="what the summary should look at")
        parser.add_argument("--to", type=size, metavar="TOKENS", help="aim at this size (8000, 8k)")
        parser.add_argument(
            "-p", "--policy", metavar="RECIPE", help="fold by this recipe (default: the setting `policy`)"
        )
        parser.add_argument(
            "--profile", metavar="NAME", help="as this profile wants it (default: the setting `profile`)"
        )
        parser.add_argument("--artifacts", metavar="DIRECTORY", help="put large outputs aside here")
        parser.add_argument("-s", "--summarizer", metavar="MODEL", help="let this model write the summary")
        parser.add_argument(
            "--preview",
            action="store_true",
            help="only say what the next request would decide, and what folding now would change",
        )

    @staticmethod
    def run(call: Invocation) -> int:
        with session_of(call, summarizer=_summarizer(call)) as session:
            if call.args.preview:
                decision, label = session.preview(), call.out.label
                preview = session.preview_fold(instructions=call.args.instructions, to=call.args.to)
                if not call.is_told_as_json({**msgspec.to_builtins(decision), "fold": preview}):
                    call.out.line(Ink(f"{label(decision.action)}: ", "bold"), label(decision.reason))
                    if preview.folds:
                        show_preview(call, preview)
                    else:
                        reason = _refusals(call, preview.attempts) or label(decision.reason)
                        call.out.line(call.say("preview.nothing", reason=reason))
                return DONE
            report = session.fold(instructions=call.args.instructions, to=call.args.to)
            return call.answer(report, lambda: _show_report(call, report))


def show_preview(call: Invocation, preview: Preview) -> None:
    """What would change, for people: sizes, what hides and shows, and money."""
    sizes = {"before": f"{preview.before:,}", "after": f"{preview.after:,}", "usable": f"{preview.usable:,}"}
    call.out.line(Ink(call.say("preview", **sizes), "good" if preview.fits else "bad"))
    for key, parts in (("hides", preview.hides), ("shows", preview.shows)):
        blocks = tuple(dict.fromkeys(seq for seq, _ in parts.blocks))
        kinds = {"messages": parts.messages, "blocks": blocks, "stand_ins": parts.stand_ins}
        listed = [call.say(f"preview.{kind}", seqs=_ranges(seqs)) for kind, seqs in kinds.items() if seqs]
        if listed:
            call.out.line(call.say(f"preview.{key}", what="; ".join(listed)), indent=2)
    if preview.cache is not None:
        kept = {"kept": f"{preview.cache.kept:,}", "rewritten": f"{preview.cache.rewritten:,}"}
        call.out.line(Ink(call.say("fold.cache", **kept), "dim"))
    if preview.price is not None:
        price, later, unit = preview.price.price, -preview.price.saves, preview.price.unit
        told = {"price": f"{price:+,.4f}", "later": f"{later:+,.4f}", "unit": unit}
        call.out.line(Ink(call.say("preview.price", **told), "dim"))


def _ranges(seqs: Sequence[int]) -> str:
    """Seqs as people write them: 2-14, 16."""
    runs: list[list[int]] = []
    for each in seqs:
        if runs and each == runs[-1][1] + 1:
            runs[-1][1] = each
        else:
            runs.append([each, each])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _summarizer(call: Invocation) -> Summarizer | None:
    """The model that was named, heard while it writes."""
    model = call.args.summarizer
    if model is None:
        return None
    progress, heard = call.progress(f"{model} writes"), [0]

    def hear(text: str) -> None:
        heard[0] += len(text)
        progress.at(heard[0], what=call.out.label("characters"))

    return replace(cf.providers.named(model), on_text=hear)


def _show_report(call: Invocation, report: Report) -> None:
    for attempt in report.attempts:
        if attempt.model:
            why = call.say(f"refused.{attempt.refusal.value if attempt.refusal else 'failed'}")
            failed = f", {why} {error_in(call.language, attempt.error)}" if attempt.error else ""
            sizes = {"given": f"{attempt.input_tokens:,}", "got": f"{attempt.output_tokens:,}"}
            call.note(f"{call.say('fold.attempt', model=attempt.model, **sizes)}{failed}")
    if not report.folds:
        refused = _refusals(call, report.attempts)
        call.out.line(call.say("folded.nothing", reason=refused or call.out.label(report.reason)))
        return
    numbers = {"before": f"{report.before:,}", "after": f"{report.after:,}", "count": len(report.folds)}
    call.out.line(Ink(call.say("folded", **numbers), "good"))
    for fold in report.folds:
        what = f"{fold.messages} messages" if fold.messages else f"{fold.blocks} parts"
        told = map(call.out.label, (fold.kind, what, f"{fold.before:,} → {fold.after:,} tokens"))
        call.out.line(Ink(f"▸ {fold.id}", "fold"), f"  {' · '.join(told)}")
        call.out.text(fold.text, indent=4, style="dim", most=8)
    if report.cache is not None:
        sizes = {"kept": f"{report.cache.kept:,}", "rewritten": f"{report.cache.rewritten:,}"}
        call.out.line(Ink(call.say("fold.cache", **sizes), "dim"))
    call.out.line(Ink(call.say("fold.undo", fold=report.folds[-1].id), "dim"))


def _refusals(call: Invocation, attempts: Sequence[Attempt]) -> str:
    """Why nothing was folded, each reason once."""
    refused = [call.say(f"refused.{each.refusal.value}") for each in attempts if each.refusal]
    return ", ".join(dict.fromkeys(refused))


class FoldsCommand:
    """List the live folds of a thread, oldest first: what each hides, what it saved, why it was made, what stands
    there.

    Examples:
      contextfold folds
      contextfold folds refactor-42 --full
      contextfold unfold 412      # take one back
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        add_thread(parser)
        parser.add_argument("--full", action="store_true", help="whole stand-ins")

    @staticmethod
    def run(call: Invocation) -> int:
        with call.thread() as thread:
            folds, on_path = thread.folds, messages_on_path(thread)
            hidden = {fold.id: hidden_messages(fold.cover, thread.events, on_path) for fold in folds}
        value = [
            {
                "id": fold.id,
                "kind": fold.kind,
                "showing": fold.is_showing,
                "messages": hidden[fold.id],
                "blocks": len(fold.cover.blocks),
                "before": fold.before,
                "after": fold.after,
                "details": fold.details,
                "stand_in": fold.stand_in,
            }
            for fold in folds
        ]
        if not call.is_told_as_json(value):
            if not folds:
                call.out.line(call.say("folds.none", thread=thread.name))
            for fold in folds:
                _show_fold(call, fold, hidden[fold.id])
        return DONE


def _show_fold(call: Invocation, fold: FoldInfo, hidden: list[int]) -> None:
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


class UnfoldCommand:
    """Take a fold back. What it hid is in view again; everything said since stays.

    What would no longer fit is refused with sizes; --make-room folds something older instead. --preview tells what
    would change and whether it fits, and does nothing.

    Examples:
      contextfold unfold 412
      contextfold unfold 412 --preview
      contextfold unfold 412 -t refactor-42 --make-room
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        parser.add_argument("fold", type=seq, metavar="FOLD", help="the fold's id, as `contextfold folds` lists it")
        parser.add_argument("--make-room", action="store_true", help="fold something older if it would not fit")
        parser.add_argument("--preview", action="store_true", help="only say what would happen")
        add_thread(parser, positional=False)

    @staticmethod
    def run(call: Invocation) -> int:
        with session_of(call) as session:
            if call.args.preview:
                preview = session.preview_unfold(call.args.fold, make_room=call.args.make_room)
                if not call.is_told_as_json(preview):
                    show_preview(call, preview)
                    if not preview.fits:
                        call.out.line(Ink(call.say("preview.refused"), "bad"))
                return DONE
            before = session.view.count.tokens
            made = session.unfold(call.args.fold, make_room=call.args.make_room)
            after = session.view.count.tokens
            said = call.say("unfolded", fold=call.args.fold, before=f"{before:,}", after=f"{after:,}")
            value = {
                "thread": session.thread.name,
                "fold": call.args.fold,
                "before": before,
                "after": after,
                "made": made,
            }
            return call.answer(value, lambda: call.out.line(said))
