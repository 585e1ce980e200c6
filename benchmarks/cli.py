"""How long people wait for the command line: help beside an interpreter that imports `rich`, in the same run.

And commands that look into a store of 200 messages, cold: a fresh interpreter with compiled files. Processor time, the
least of several; a plain time is a class that depends on the machine.

And how long a program waits for `cf.Session`, beside `import msgspec`, both over an interpreter that imports nothing.
What is imported late must not be paid in the first turn instead: a cold session that speaks and prepares has a bar.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import contextfold as cf
from benchmarks.frame import Row, at_most, reported

REPEAT = 9
_FIRST_TURN = """
import contextfold as cf
session = cf.Session.open(model="claude-sonnet-4-5")
session.append({"role": "user", "content": "Hello."})
session.prepare(max_tokens=100)
"""
_COMMANDS = {
    "python": ("-c", "pass"),
    "import rich": ("-c", "import rich"),
    "--help": ("-m", "contextfold", "--help"),
    "--version": ("-m", "contextfold", "--version"),
    "fold --help": ("-m", "contextfold", "fold", "--help"),
    "models": ("-m", "contextfold", "models", "--json"),
    "import msgspec": ("-c", "import msgspec"),
    "cf.Session": ("-c", "import contextfold as cf; cf.Session"),
    "first turn": ("-c", _FIRST_TURN),
}
_LOOKS = ("threads", "show", "stats")
MOST = 2.0  # times `import rich`
COLD = 150  # milliseconds
IMPORT, FIRST_TURN = 3.0, 5.6  # times `import msgspec`; a first turn took 5.5 before more was imported late


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        looks = {name: ("-m", "contextfold", name, "--store", _store(Path(folder))) for name in _LOOKS}
        commands = {**_COMMANDS, **looks}
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(REPEAT):  # in turn, so that a busy machine is unfair to all alike
            for name, command in commands.items():
                best[name] = min(best[name], _processor_time([sys.executable, *command]))
    floor, bare = best["import rich"], best["python"]
    msgspec = best["import msgspec"] - bare
    return [
        at_most("cf.Session / import msgspec", (best["cf.Session"] - bare) / msgspec, IMPORT, "x"),
        at_most("a cold first turn / import msgspec", (best["first turn"] - bare) / msgspec, FIRST_TURN, "x"),
        at_most("contextfold --help / import rich", best["--help"] / floor, MOST, "x"),
        *(at_most(f"contextfold {name}, cold", 1000 * best[name], COLD, "ms", "class") for name in _LOOKS),
        *(reported(f"contextfold {name}", 1000 * best[name], "ms") for name in ("--help", "--version")),
        *(reported(f"contextfold {name}", 1000 * best[name], "ms") for name in ("fold --help", "models")),
        reported("python -c 'import rich'", 1000 * floor, "ms"),
        reported("python -c pass", 1000 * best["python"], "ms"),
    ]


def _store(folder: Path) -> str:
    path = folder / "agent.db"
    if not path.exists():
        with cf.Session.open(path, model="claude-sonnet-4-5") as session:
            for number in range(100):
                session.append({"role": "user", "content": f"Question {number}. " * 30})
                session.prepare(max_tokens=1_000)
                session.append({"role": "assistant", "content": f"Answer {number}. " * 30})
    return str(path)


def _processor_time(command: list[str]) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
