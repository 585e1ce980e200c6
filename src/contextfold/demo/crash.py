"""A writer killed in full flight: what it had acknowledged must be there afterwards.

The writer is a process of its own, killed without warning, so that nothing of ours can tidy up after it.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import contextfold
from contextfold.domain import encode
from contextfold.testing import histories

THREAD = "killed"
MODEL = "claude-sonnet-5-5"
TOKENS = 60_000
KILLED_AFTER = 80  # acknowledged messages
WRITE = "--write"


@dataclass(frozen=True, slots=True)
class Crash:
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
    expected = [encode(message) for message in histories.session(7, tokens=TOKENS)]
    with contextfold.open(path) as store:
        kept = [message.raw for message in store.thread(THREAD).view.messages if message.kind == "message"]
        is_sound = not store.verify()
    return Crash(acknowledged, is_sound and len(kept) >= acknowledged > 0 and kept == expected[: len(kept)])


def write(path: Path) -> int:
    """Be the writer: append as fast as it goes, saying each seq once it is acknowledged."""
    with contextfold.open(path) as store:
        thread = store.thread(THREAD, model=MODEL)
        for message in histories.session(7, tokens=TOKENS):
            print(thread.append(message), flush=True)
    return 0
