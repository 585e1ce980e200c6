"""Run recorded sessions through policies, turn by turn, and compare them: no key, no model, nothing is sent.

For each policy: requests that a provider would reject, requests that would not fit, messages lost, folds with their
reasons, tokens, cache, money at the model's prices, and how much of what mattered stayed in view. The full history,
summarized when it must be (`full`), and what the product itself did (`recorded`) are rows of their own. Files are read
in whatever format they are (docs/transcripts.md); a directory means every session in it. Ctrl-C ends with what is
finished; with --keep the next run goes on from there.

Exit code 0 when every request was valid and fitted and nothing was lost, 1 when not, 130 when interrupted.

Examples:
  contextfold replay ~/.claude/projects/x/*.jsonl --window 200k --policy balanced,roo_code,claude_code,sliding_window
  contextfold replay sessions/ --html report.html --csv report.csv --keep replay.jsonl
  contextfold replay session.jsonl --json | jq '.totals[] | {policy, cost}'
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import ExitStack

from contextfold.folding import recipes
from contextfold.private import write_private
from contextfold.replay import (
    ReplayProgress,
    ReplayReport,
    Settings,
    Total,
    answer,
    as_csv,
    as_html,
    as_markdown,
    baseline,
    replay,
)

from .arguments import readable, sessions_in, size
from .commands import BAD_INPUT, DONE, INTERRUPTED, PROBLEMS
from .invocation import Invocation
from .paper import Ink, Piece
from .translation import error_in

_LISTED = 10  # of the largest folds


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="recorded sessions, or directories; - is standard input"
    )
    parser.add_argument("-w", "--window", type=size, metavar="TOKENS", help="the window (default: the model's own)")
    parser.add_argument(
        "-p", "--policy", action="append", dest="policies", metavar="A,B", help=f"recipes: {', '.join(recipes.RECIPES)}"
    )
    parser.add_argument("-m", "--model", metavar="MODEL", help="whose prices and counting (default: the recorded one)")
    parser.add_argument("--max-tokens", type=size, metavar="TOKENS", help="room for each answer")
    parser.add_argument("--html", metavar="FILE", help="write a report to open in a browser")
    parser.add_argument("--csv", metavar="FILE", help="write a line for each session and policy")
    parser.add_argument("--markdown", metavar="FILE", help="write the totals as a table")
    parser.add_argument("--keep", metavar="FILE", help="keep results here as they come; given again, go on from there")
    parser.add_argument("-j", "--jobs", type=size, metavar="N", help="processes (default: as many as processors)")
    parser.add_argument("--strict", action="store_true", help="a damaged line is an error")
    parser.add_argument("--no-retention", action="store_true", help="do not measure what is kept; quicker")


def run(call: Invocation) -> int:
    with ExitStack() as stack:
        paths = [each for file in call.args.files for each in sessions_in(stack.enter_context(readable(file)))]
        progress = call.progress("replaying")

        def told(at: ReplayProgress) -> None:
            turns = f" turn {at.turn:,} of {at.of_turns:,}" if at.of_turns else ""
            progress.at(at.files, at.of_files, call.out.label(f"{at.session or at.file} {at.policy}{turns}"))

        jobs = call.args.jobs or os.cpu_count() or 1
        try:
            report = replay(paths, _settings(call), jobs=jobs, keep=call.args.keep, on_progress=told)
        finally:
            progress.done()
    _write(call, report)
    if not call.is_told_as_json(report):
        _show(call, report)
    if not report.complete:
        return INTERRUPTED
    if report.failures and not report.rows:
        return BAD_INPUT
    return DONE if report.is_sound and not report.failures else PROBLEMS


def _settings(call: Invocation) -> Settings:
    names = [name.strip() for given in call.args.policies or [call.settings["policy"]] for name in given.split(",")]
    return Settings(
        policies=tuple(dict.fromkeys(filter(None, names))),
        window=call.args.window,
        model=call.args.model or call.settings["model"],
        max_tokens=call.args.max_tokens,
        retention=not call.args.no_retention,
        strict=call.args.strict,
    )


def _write(call: Invocation, report: ReplayReport) -> None:
    makers: dict[str, Callable[[], str]] = {
        "html": lambda: as_html(report, call.language),
        "csv": lambda: as_csv(report),
        "markdown": lambda: as_markdown(report, call.language),
    }
    for name, make in makers.items():
        target = getattr(call.args, name)
        if target:
            write_private(target, make().encode())
            call.note(call.say("written", file=target))


def _show(call: Invocation, report: ReplayReport) -> None:
    if not report.complete:
        call.out.line(Ink(call.say("replay.cut"), "warn"))
    call.out.text(answer(report, call.language))
    call.out.line()
    head = [call.say(f"replay.{name}") for name in _COLUMNS]
    call.out.table([_cells(total) for total in report.totals], head, right=range(1, len(head)))
    call.out.text(baseline(report, call.language), style="dim")
    _show_folds(call, report)
    for failure in report.failures:
        call.out.line(
            Ink(f"{call.out.label('not replayed')}: ", "bad"),
            f"{failure.file} {failure.session} {failure.policy}: {error_in(call.language, failure.reason)}",
        )
    ours = [total for total in report.totals if total.kind == "policy"]
    for key, wrong in (("valid", "invalid"), ("fit", "unfit"), ("kept", "lost")):
        count = sum(getattr(total, wrong) for total in ours)
        style, mark = ("bad", "BAD ") if count else ("good", "ok  ")
        of = sum(total.requests for total in ours)
        call.out.line(
            Ink(call.out.label(mark), style), "  ", call.say(f"replay.{key}", wrong=f"{count:,}", of=f"{of:,}")
        )


# As many as 80 columns hold; what must be none stands in the checks below the table.
_COLUMNS = ("policy", "cost", "against_full", "strict", "imperatives", "recallable", "requests", "folds", "calls")


def _cells(total: Total) -> list[Piece]:
    kept = (total.retained.strict, total.retained.imperatives, total.recallable)
    shares = (total.against_full, *(share.value for share in kept))
    return [
        Ink(total.policy, "bold" if total.kind == "policy" else "dim"),
        "-" if total.cost is None else f"${total.cost.total:,.2f}",
        *("-" if share is None else f"{share:.0%}" for share in shares),
        *(f"{count:,}" for count in (total.requests, total.folds, total.calls)),
    ]


def _show_folds(call: Invocation, report: ReplayReport) -> None:
    folds = [(row, each) for row in report.rows for each in row.foldings]
    folds.sort(key=lambda found: found[1].after - found[1].before)
    if folds:
        call.out.line()
        call.out.line(call.say("replay.why", count=f"{len(folds):,}"))
    for row, each in folds[:_LISTED]:
        label = call.out.label
        kinds = ", ".join(f"{count} {label(kind)}" for kind, count in each.kinds.items())
        where = f"{row.session} · {row.policy} · {label(f'turn {each.turn}')}"
        call.out.line(f"{where}: {each.before:,} → {each.after:,}", indent=2)
        call.out.line(Ink(f"{kinds} · {label(each.reason)}", "dim"), indent=4)
    call.out.line()
