"""How long people wait for the command line: help beside an interpreter that imports `rich`, in the same run."""

from __future__ import annotations

import resource
import subprocess
import sys

from benchmarks.frame import Row, at_most, reported

REPEAT = 9
_COMMANDS = {
    "python": ("-c", "pass"),
    "import rich": ("-c", "import rich"),
    "--help": ("-m", "contextfold", "--help"),
    "--version": ("-m", "contextfold", "--version"),
    "fold --help": ("-m", "contextfold", "fold", "--help"),
    "models": ("-m", "contextfold", "models", "--json"),
}
MOST = 2.0  # times `import rich`


def run() -> list[Row]:
    best = dict.fromkeys(_COMMANDS, float("inf"))
    for _ in range(REPEAT):  # in turn, so that a busy machine is unfair to all alike
        for name, command in _COMMANDS.items():
            best[name] = min(best[name], _processor_time([sys.executable, *command]))
    floor = best["import rich"]
    return [
        at_most("contextfold --help / import rich", best["--help"] / floor, MOST, "x"),
        *(reported(f"contextfold {name}", 1000 * best[name], "ms") for name in ("--help", "--version")),
        *(reported(f"contextfold {name}", 1000 * best[name], "ms") for name in ("fold --help", "models")),
        reported("python -c 'import rich'", 1000 * floor, "ms"),
        reported("python -c pass", 1000 * best["python"], "ms"),
    ]


def _processor_time(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
