"""Work, counted instead of timed: calls made while something runs, and characters that a tokenizer was given."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

ENCODER = """
'''A tokenizer from outside that keeps account of what it reads.'''

read = 0


class Counting:
    def count(self, text):
        global read
        read += len(text)
        return len(text) // 4 + 1
"""

CONFIG = """
[models."counted"]
max_input_tokens = 8_000_000
tokenizer = "counting-characters"
dialect = "anthropic"
"""


def calls_made(work: Callable[[], object]) -> int:
    """Functions called, ours and built-in ones: the same number on every machine."""
    made = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return made


def plug_in_tokenizer(directory: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Install a tokenizer as any package would, and a model named `counted` that uses it; its module has `read`."""
    about = directory / "counting_encoder-1.0.dist-info"
    about.mkdir()
    (directory / "counting_encoder.py").write_text(ENCODER)
    (directory / "contextfold.toml").write_text(CONFIG)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: counting-encoder\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[contextfold.encoders]\ncounting-characters = counting_encoder:Counting\n")
    monkeypatch.setenv("CONTEXTFOLD_CONFIG", str(directory / "contextfold.toml"))
    monkeypatch.syspath_prepend(directory)
    return import_module("counting_encoder")
