"""The guarantees, held by threads in real SQLite files and in memory, through crashes and beside other writers."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize

from contextfold.domain import Message, Text
from tests.property.held import MODELS, Held, HeldInMemory, InFile, InMemory
from tests.property.machine import Guarantees, assert_guarantees, operation
from tests.property.reference import Said
from tests.property.subject import StablePrefix

Ask = Callable[[str, str, bytes], int]
OTHER_PROCESS = Path(__file__).with_name("other_process.py")


class MemoryGuarantees(Guarantees):
    fired: ClassVar[Counter[str]] = Counter()

    @initialize(dialect=st.sampled_from(sorted(MODELS)), seed=st.integers(0, 2**20))
    def open(self, dialect: str, seed: int) -> None:
        self.subject = HeldInMemory(InMemory(), dialect, Random(seed))


class FileGuarantees(Guarantees):
    """What a file adds: other writers."""

    fired: ClassVar[Counter[str]] = Counter()
    ask: ClassVar[Ask]
    subject: Held

    @initialize(dialect=st.sampled_from(sorted(MODELS)), seed=st.integers(0, 2**20))
    def open(self, dialect: str, seed: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.subject = Held(InFile(Path(self.folder.name), type(self).ask), dialect, Random(seed))

    @operation
    def say_from_another_connection(self, random: Random) -> None:
        self.say_elsewhere(random, self.subject.say_from_another_connection)

    @operation
    def say_from_another_process(self, random: Random) -> None:
        self.say_elsewhere(random, self.subject.say_from_another_process)

    def say_elsewhere(self, random: Random, say: Callable[[Message], Sequence[tuple[int, Said]]]) -> None:
        self.talk.is_over()
        with StablePrefix(self.subject):
            said = say(Message("user", (Text(f"said elsewhere {random.randrange(1000)}"),)))
        for seq, each in said:
            self.reference.happen(seq, each)

    def teardown(self) -> None:
        if hasattr(self, "subject"):
            self.subject.check_bytes(self.subject.raws)
            assert self.subject.store.verify() == []
            self.subject.store.close()
            self.folder.cleanup()


@pytest.fixture
def ask() -> Iterator[Ask]:
    """Another process, alive as long as the test."""
    command = [sys.executable, str(OTHER_PROCESS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        stdin, stdout = process.stdin, process.stdout

        def wish(path: str, thread: str, raw: bytes) -> int:
            stdin.write(json.dumps({"path": path, "thread": thread, "raw": raw.decode()}) + "\n")
            stdin.flush()
            return int(stdout.readline())

        yield wish
        stdin.close()


@pytest.mark.slow
def test_a_store_in_memory_holds_the_guarantees_whatever_happens_in_whatever_order() -> None:
    assert_guarantees(MemoryGuarantees, examples=125, steps=50)


@pytest.mark.slow
def test_a_store_in_a_file_holds_the_guarantees_through_crashes_and_beside_other_writers(ask: Ask) -> None:
    FileGuarantees.ask = staticmethod(ask)
    assert_guarantees(FileGuarantees, examples=125, steps=50)
