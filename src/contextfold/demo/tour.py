"""The tour: a long session through a small window, told as it happens, checked while it runs.

Nothing it prints is a promise: each number is measured on the way, each check is made on what is on disk or would have
been sent, and it leaves with 1 when one fails. The session is that of a coding agent at work on an imaginary web shop,
the same on every machine.

At the end a writer is killed in full flight, and what it had acknowledged must be there afterwards. The writer is a
process of its own, killed without warning, so that nothing of ours can tidy up after it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

import contextfold
from contextfold.domain import Appended, encode
from contextfold.folding import recipes
from contextfold.private import write_private
from contextfold.replay import (
    FULL,
    RECORDED,
    RecordedSession,
    ReplayReport,
    Row,
    Settings,
    Share,
    Walk,
    answer,
    as_html,
    encode_report,
    full,
    money,
    recorded,
    report_of,
    walk,
)
from contextfold.shell import command_line, operand, option, quoted
from contextfold.testing import histories
from contextfold.transcripts import Recorded

from .screen import Language, Screen, chosen, padded, say

SEED = 20
TOKENS = 70_000  # by a plain tokenizer; the demo's model counts about 120,000
WINDOW = 32_000
MODEL = "claude-sonnet-5-5"
FILE = "session.jsonl"

# Every body is checked and counted anew, not only those that folded: the demo claims it of every request.
SETTINGS = Settings(
    policies=("balanced", "roo_code", "claude_code", "sliding_window"), window=WINDOW, model=MODEL, check_every=1
)


def sitting(language: Language) -> RecordedSession:
    """The session, as if it had been recorded."""
    messages = histories.session(SEED, tokens=TOKENS, language=language)
    typed = [message["role"] == "user" and isinstance(message.get("content"), str) for message in messages]
    turns = tuple(
        Recorded(encode(message), (number,), human=is_typed)
        for number, (message, is_typed) in enumerate(zip(messages, typed, strict=True), 1)
    )
    return RecordedSession(FILE, "demo", 0, "generated", histories.SYSTEM, turns, tools=tuple(histories.tools()))


def save(given: RecordedSession, directory: Path) -> Path:
    """The session as JSON lines, for whoever wants to replay it."""
    path = directory / FILE
    write_private(path, b"".join(turn.raw + b"\n" for turn in given.turns))
    return path


THREAD = "demo"


class Tour(Struct, frozen=True):
    """Where it happens, and in which language it is told; `label` says kinds and reasons of folds in it."""

    directory: Path
    screen: Screen
    language: Language
    label: Callable[[str], str] = str

    def say(self, key: str, **values: object) -> str:
        return say(key, self.language, **values)

    @property
    def store(self) -> Path:
        return self.directory / "demo.db"


def main(arguments: Sequence[str]) -> int:
    """Run the demo; with `--write FILE`, be the writer that will be killed."""
    if list(arguments[:1]) == [WRITE]:
        return write(Path(arguments[1]))
    parser = argparse.ArgumentParser(prog="python -m contextfold.demo", description="One minute with contextfold.")
    parser.add_argument("directory", nargs="?", help="where to leave store and report (default: a new one)")
    parser.add_argument("--lang", default="", help="en or ja (default: the terminal's)")
    given = parser.parse_args(arguments)
    return run(Tour(directory_for(given.directory), Screen(sys.stdout), chosen(given.lang, os.environ)))


def directory_for(name: str | None) -> Path:
    """Where store and report are left: the directory that was named, else a new one."""
    directory = Path(name or tempfile.mkdtemp(prefix="contextfold-demo-"))
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


def run(tour: Tour) -> int:
    """The whole tour; 0 when every check holds."""
    started = time.monotonic()
    tour.store.unlink(missing_ok=True)
    session = sitting(tour.language)
    save(session, tour.directory)
    rows = [_live(tour, session)]
    rows += _compared(tour, session)
    report = report_of(SETTINGS, rows, files=[session.file])
    write_private(tour.directory / "report.html", as_html(report, tour.language).encode())
    write_private(tour.directory / "report.json", encode_report(report))
    _money(tour, rows[0], rows[-2], rows[-1])
    tour.screen.line(f"  {answer(report, tour.language)}")
    tour.screen.title(tour.say("kept"))
    names, orders, back = rows[0].retained.strict, rows[0].retained.imperatives, rows[0].recallable
    if names.of:
        tour.screen.line(f"  {tour.say('kept.names', share=_percent(names), kept=names.kept, of=names.of)}")
    if orders.of:
        tour.screen.line(f"  {tour.say('kept.orders', share=_percent(orders))}")
    tour.screen.line(f"  {tour.say('kept.recall', kept=back.kept, of=back.of)}")
    is_sound = _checks(tour, rows[0], report)
    _look(tour, time.monotonic() - started)
    return 0 if is_sound else 1


def _live(tour: Tour, session: RecordedSession) -> Row:
    """The session through the window, written to the store as it goes."""
    whole = walk_size(session)
    tour.screen.line(tour.say("opening", messages=len(session.turns), tokens=whole, window=WINDOW))
    tour.screen.title(tour.say("running"))
    told = 0

    def after(state: Walk, place: int) -> None:
        nonlocal told
        for folding in state.foldings[told:]:
            kinds = ", ".join(f"{count} {tour.label(kind)}" for kind, count in folding.kinds.items())
            facts = {"turn": folding.turn, "before": folding.before, "after": folding.after, "kinds": kinds}
            tour.screen.line(f"  {tour.say('folded', **facts)}")
            tour.screen.line(f"      {tour.say('why', reason=tour.label(folding.reason))}")
        told = len(state.foldings)
        tokens = state.context[-1] if state.context else 0
        turns = len(session.turns)
        note = tour.say("bar", turn=place + 1, turns=turns, tokens=tokens, folds=told)
        tour.screen.bar(place + 1, turns, note)

    row = walk(session, recipes.balanced(), SETTINGS, after=after, store=tour.store, thread=THREAD)
    tour.screen.end()
    return row


def walk_size(session: RecordedSession) -> int:
    """Tokens of the whole session in one request."""
    return contextfold.count([turn.raw for turn in session.turns], model=MODEL, system=session.system).tokens


def _compared(tour: Tour, session: RecordedSession) -> list[Row]:
    """The same session through the other policies, summarized by a model when it is full, and whole."""
    tour.screen.title(tour.say("comparing"))
    names = (*SETTINGS.policies[1:], FULL, RECORDED)
    references = {FULL: full, RECORDED: recorded}
    rows = []
    for number, name in enumerate(names):
        tour.screen.bar(number, len(names), name)
        reference = references.get(name)
        rows.append(reference(session, SETTINGS) if reference else walk(session, recipes.RECIPES[name](), SETTINGS))
    tour.screen.bar(len(names), len(names), ", ".join(names))
    tour.screen.end()
    return rows


def _money(tour: Tour, ours: Row, summarized: Row, whole: Row) -> None:
    tour.screen.title(tour.say("money", model=MODEL))
    columns = (whole, summarized, ours)
    fits = [f"{sum(each <= row.usable for each in row.context):,} / {row.requests:,}" for row in columns]
    lines: list[tuple[str, Sequence[str]]] = [
        ("", [tour.say(key) for key in ("without", "summarized", "with")]),
        (tour.say("largest"), [f"{row.peak:,}" for row in columns]),
        (tour.say("fits"), fits),
        (tour.say("sent"), [f"{row.tokens:,}" for row in columns]),
        (tour.say("cached"), [f"{row.read:,}" for row in columns]),
        (tour.say("calls"), [f"{row.calls:,}" for row in columns]),
        (tour.say("cost"), [money(row.cost) for row in columns]),
    ]
    for name, cells in lines:
        tour.screen.line(f"  {padded(name, 24)} " + "".join(padded(cell, 17) for cell in cells).rstrip())
    tour.screen.line()


def _percent(share: Share) -> str:
    return "–" if share.value is None else f"{share.value:.0%}"


def _checks(tour: Tour, row: Row, report: ReplayReport) -> bool:
    """Three claims, each made on what is there, not on what was meant."""
    tour.screen.title(tour.say("checks"))
    path = tour.directory / "killed.db"
    path.unlink(missing_ok=True)
    killed = crash(path)
    for each in tour.directory.glob("killed.db*"):
        each.unlink()
    # The file is opened again: messages that are there byte for byte, and whether it verifies.
    expected = sitting(tour.language).turns
    with contextfold.open(tour.store) as store:
        thread = store.thread(THREAD)
        seqs = [entry.seq for entry in thread.events if isinstance(entry.event, Appended)]
        same = [thread.message(seq).raw == turn.raw for seq, turn in zip(seqs, expected, strict=False)]
        kept, of, is_sound = sum(same), len(expected), len(seqs) == len(expected) and not store.verify()
    reserve = row.window - row.usable
    ours = [total for total in report.totals if total.kind == "policy"]
    requests, peak = sum(total.requests for total in ours), max(total.peak for total in ours)
    invalid, unfit = sum(total.invalid for total in ours), sum(total.unfit + total.refused for total in ours)
    checks = [
        (
            kept == of == row.turns and is_sound and killed.is_whole,
            tour.say("check.lost", kept=kept, of=of, acknowledged=killed.acknowledged),
        ),
        (invalid == 0, tour.say("check.valid", good=requests - invalid, of=requests)),
        (
            unfit == 0 and peak + reserve <= WINDOW,
            tour.say("check.fits", of=requests, peak=peak, reserve=reserve, window=WINDOW),
        ),
    ]
    for is_true, claim in checks:
        first, *more = claim.splitlines()
        tour.screen.line(f"  {padded(tour.say('ok' if is_true else 'failed'), 7)} {first}")
        for line in more:
            tour.screen.line(f"{' ' * 10}{line}")
    return all(is_true for is_true, _ in checks)


def _look(tour: Tour, seconds: float) -> None:
    tour.screen.title(tour.say("look"))
    tour.screen.line(f"  {tour.say('look.report')} {tour.directory / 'report.html'}")
    tour.screen.line(f"  {tour.say('look.store')} {tour.store}")
    tour.screen.line(f"      {_command('folds')} {option('--store', tour.store)}")
    tour.screen.line(f"      {_command('show', '--last', 5)} {option('--store', tour.store)}")
    tour.screen.line(f"  {tour.say('look.again')}")
    again = _command("replay", "--window", "64k", "--policy", "balanced,summary")
    tour.screen.line(f"      {again} {operand(tour.directory / FILE)}")
    tour.screen.line(f"\n{tour.say('took', seconds=seconds)}")


def _command(*words: object) -> str:
    """A line that runs the command from this directory in a shell, as contextfold is installed here."""
    installed = Path(sys.executable).with_name("contextfold")
    program = installed if installed.exists() else Path(sys.executable)
    shown = program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program
    line = command_line(shown, *(() if installed.exists() else ("-m", "contextfold")), *words)
    path = os.environ.get("PYTHONPATH")
    return line if installed.exists() or not path else f"PYTHONPATH={quoted(path)} {line}"


KILLED = "killed"
KILLED_MODEL = "claude-sonnet-5-5"
KILLED_TOKENS = 60_000
KILLED_AFTER = 80  # acknowledged messages
WRITE = "--write"


class Crash(Struct, frozen=True):
    """What a killed writer had acknowledged, and whether all of it was found, byte for byte."""

    acknowledged: int
    is_whole: bool


def crash(path: Path) -> Crash:
    """Kill a writer and look at what is left."""
    acknowledged = 0
    command = [sys.executable, "-m", "contextfold.demo", WRITE, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        for line in writer.stdout or ():
            acknowledged = int(line)
            if acknowledged == KILLED_AFTER:
                writer.kill()
    expected = [encode(message) for message in histories.session(7, tokens=KILLED_TOKENS)]
    with contextfold.open(path) as store:
        kept = [message.raw for message in store.thread(KILLED).view.messages if message.kind == "message"]
        is_sound = not store.verify()
    return Crash(acknowledged, is_sound and len(kept) >= acknowledged > 0 and kept == expected[: len(kept)])


def write(path: Path) -> int:
    """Be the writer: append as fast as it goes, saying each seq once it is acknowledged."""
    with contextfold.open(path) as store:
        thread = store.thread(KILLED, model=KILLED_MODEL)
        for message in histories.session(7, tokens=KILLED_TOKENS):
            print(thread.append(message), flush=True)
    return 0
