"""Every long recorded session through four policies: processor time, soundness, and the memory that reading takes.

The gate is at a window of 200k, as people have it; a window of 32k, which folds ten times as often, is reported when
`CONTEXTFOLD_RUNS=all` is set. Memory is measured while reading a file that is eight times as long, and while replaying
one session that is five times as long, each in a process of its own.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

from benchmarks.frame import ROOT, SHARED, Row, absent, at_least, at_most, reported
from contextfold import count
from contextfold.replay import ReplayReport, Settings, replay
from contextfold.testing import histories
from contextfold.transcripts import Recording, read

DATA = SHARED / "data"
POLICIES = ("balanced", "roo_code", "claude_code", "sliding_window")
LONG = 50_000
BAR = 300  # seconds of processor time, all processes together
SHORT, LONGER = 4, 8
SESSION, TIMES = 11, 5  # parts of one session of 5 MB, and how many times as long the other one is
# 50 MB are to take at most 11 times the time and 1.3 times the memory of 5 MB, which makes 5.5 and 1.13 for 25 MB.
MORE_TIME, MORE_MEMORY = 5.5, 1.13
ONE_REPLAY = """
import json, sys, time
from contextfold.replay import Settings, replay
def most():  # not by getrusage, which tells what the parent had when it started us
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
idle, start = most(), time.process_time()
report = replay(sys.argv[1:], Settings(policies=("balanced", "sliding_window"), window=200_000), jobs=1)
assert len(report.rows) == 4 and report.is_sound and not report.failures
print(json.dumps([time.process_time() - start, idle / 1024, most() / 1024]))
"""


def run() -> list[Row]:
    rows = [*_memory(), *_one_long_session()]
    if not DATA.is_dir():
        return [*rows, absent("long sessions", "the recorded sessions are not here")]
    windows = (200_000, 32_000) if os.environ.get("CONTEXTFOLD_RUNS") == "all" else (200_000,)
    return rows + [row for window in windows for row in _replayed(window)]


def long_files() -> list[Path]:
    """The files that hold a session of at least 50,000 tokens, as the model counts them."""
    return [path for path in sorted(DATA.glob("*/*.gz")) if any(_tokens(each) >= LONG for each in read(path))]


def _tokens(recording: Recording) -> int:
    return count((turn.raw for turn in recording.turns), model="claude-sonnet-4-5").tokens


def _replayed(window: int) -> list[Row]:
    before = _cpu()
    report = replay(long_files(), Settings(policies=POLICIES, window=window), jobs=os.cpu_count() or 1)
    spent = _cpu() - before
    name = f"long sessions x 4 policies, {window // 1000}k"
    sessions = len({(row.file, row.number) for row in report.rows})
    return [
        at_least(f"{name}: sessions", sessions, 57),
        at_most(f"{name}: processor time", spent, BAR, "s"),
        at_most(f"{name}: failures", len(report.failures), 0),
        *(at_most(f"{name}: {field}", _sum(report, field), 0) for field in ("invalid", "unfit", "lost")),
        reported(f"{name}: requests", _sum(report, "requests")),
        *(_told(report, policy, name) for policy in (*POLICIES, "recorded")),
    ]


def _told(report: ReplayReport, policy: str, name: str) -> Row:
    total = next(each for each in report.totals if each.policy == policy)
    kept = total.retained
    note = f"grounded {_share(kept.grounded.value)}, orders {_share(kept.imperatives.value)}, {total.folds} folds"
    return reported(f"{name}: {policy}, money against full", total.against_full or 0.0, note=note)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _sum(report: ReplayReport, field: str) -> float:
    return float(sum(getattr(total, field) for total in report.totals if total.kind == "policy"))


def _cpu() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def _memory() -> list[Row]:
    """What going through a JSONL file takes, and what it takes more when the file is eight times as long."""
    with tempfile.TemporaryDirectory() as folder:
        files = [_written(Path(folder) / f"{times}.jsonl", times) for times in (SHORT, SHORT * LONGER)]
        (small, large), sizes = [_peak(path) for path in files], [path.stat().st_size for path in files]
    note = "the tree of lines, about a hundred bytes a line; nothing of what they say"
    return [
        reported(f"reading {sizes[0] / 2**20:.0f} MiB of JSONL: most memory", small / 2**20, "MiB"),
        reported(f"reading {sizes[1] / 2**20:.0f} MiB of JSONL: most memory", large / 2**20, "MiB"),
        at_most("memory for each further byte of JSONL", (large - small) / (sizes[1] - sizes[0]), 0.15, note=note),
    ]


def _one_long_session() -> list[Row]:
    """What replaying one session takes, and what it takes more when the session is five times as long."""
    if not Path("/proc/self/status").exists():
        return [absent("one long session", "this system does not tell a process's most memory")]
    told: list[list[float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for parts in (SESSION, SESSION * TIMES):
            file = _written(Path(folder) / f"{parts}.jsonl", parts)
            command = [sys.executable, "-c", ONE_REPLAY, str(file)]
            done = subprocess.run(command, capture_output=True, check=True, cwd=ROOT)
            told.append(json.loads(done.stdout))
    (short, idle, least), (long, _, most) = told
    name = "one session of 25 MB, against 5 MB"
    note = f"{least:.0f} and {most:.0f} MiB; a session itself holds about 1.5 KB of each event"
    return [
        at_most(f"{name}: processor time", long / short, MORE_TIME, "x"),
        at_most(f"{name}: most memory of the process", most / least, MORE_MEMORY, "x", note=note),
        reported(f"{name}: most memory beyond an idle process", (most - idle) / (least - idle), "x"),
    ]


def _written(path: Path, times: int) -> Path:
    """Sessions one after the other, as Claude Code writes them."""
    with path.open("wb") as file:
        parent = None
        for part in range(times):
            for number, message in enumerate(histories.session(part, tokens=100_000)):
                row = {"type": message["role"], "uuid": f"{part}-{number}", "parentUuid": parent, "message": message}
                parent = row["uuid"]
                file.write(json.dumps(row).encode() + b"\n")
    return path


def _peak(path: Path) -> int:
    tracemalloc.start()
    try:
        turns = sum(1 for recording in read(path) for _ in recording.turns)
        assert turns > 100
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
