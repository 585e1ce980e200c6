"""Counting: exactness against tiktoken, speed against the tokenizer itself, worst cases, the cost of importing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from statistics import median

from benchmarks.frame import Row, absent, at_least, at_most, cpu, reported
from benchmarks.parity import differences, samples
from benchmarks.recorded import ABSENT, is_here, texts
from contextfold.domain import Message, Text
from contextfold.models import find
from contextfold.tokens import counter_for
from contextfold.tokens.counters import EncodedCounter, weights
from contextfold.tokens.encoders import VOCABULARIES, SplintrEncoder
from contextfold.tokens.scale import weigh

_MEGABYTE = 1 << 20
_TURN = 200
_MODELS = {"o200k": "gpt-5.5", "cl100k": "gpt-4", "llama3": "llama-3.3", "qwen": "qwen3", "gemma": "gemma-3"}


def _exactness() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        found = {name: differences(name, directory) for name in ("o200k", "cl100k")}
    note = f"{len(samples())} samples"
    return [at_most(f"{name}: differences from tiktoken", len(wrong), 0, "", note) for name, wrong in found.items()]


def _throughput() -> list[Row]:
    if not is_here():
        return [absent("throughput of exact counting", ABSENT)]
    said = [Message("user", (Text(text),)) for text in texts()]
    rows = [
        at_least(f"{name}: throughput against the library's own, text seen once", _against(name, said, False), 0.8, "x")
        for name in ("o200k", "gemma")
    ]
    stored = _against("o200k", said, stored=True)
    return [*rows, reported("o200k: the same with all that a stored outline holds", stored, "x", "classes as well")]


def _against(name: str, said: Sequence[Message], stored: bool) -> float:
    """Library's time over ours, in turns of a few messages. Two new vocabularies, each shown every text once."""
    theirs, ours = SplintrEncoder(VOCABULARIES[name]), SplintrEncoder(VOCABULARIES[name])
    counter = EncodedCounter(find(_MODELS[name]), weights(name), ours)
    outline = counter.shape if stored else counter.passing
    encode, spent = theirs.encode, [0.0, 0.0]
    for work in (encode, ours.count):
        work("=" * 500)
    for start in range(0, len(said), _TURN):
        turn = said[start : start + _TURN]
        plain = [message.text for message in turn]
        spent[0] += cpu(lambda: [len(encode(text)) for text in plain], repeat=1)  # noqa: B023 - called at once
        spent[1] += cpu(lambda: [counter.tokens(outline(message)) for message in turn], repeat=1)  # noqa: B023
    return spent[0] / spent[1]


HOSTILE: dict[str, Callable[[int], str]] = {
    "spaces": lambda size: " " * size,
    "one letter": lambda size: "a" * size,
    "emoji": lambda size: "😀" * (size // 4),
    "families of emoji": lambda size: "👨‍👩‍👧" * (size // 18),
    "special tokens": lambda size: "<|endoftext|><|im_start|>" * (size // 25),
    "NUL": lambda size: "\0" * size,
    "line ends": lambda size: "\n" * size,
    "punctuation": lambda size: "!" * size,
    "lone surrogates": lambda size: "\ud800" * (size // 6),
    "combining marks": lambda size: "e" + "\u0301" * (size // 2),
    "Japanese": lambda size: "漢字かな" * (size // 12),
}


def _worst_cases() -> list[Row]:
    worst: tuple[float, str] = (0.0, "")
    for name, model in {**_MODELS, "claude": "claude-opus-4-6"}.items():
        counter = counter_for(model)
        counter.shape(Message("user", (Text("=" * 500),)))  # the first long run builds tables, once for a vocabulary
        for kind, make in HOSTILE.items():
            message = Message("user", (Text(make(_MEGABYTE)),))
            worst = max(worst, (cpu(lambda: counter.shape(message), repeat=1), f"{kind}, {name}"))  # noqa: B023 - called at once
    return [at_most("1 MB of anything", worst[0], 0.3, "s CPU", f"the slowest: {worst[1]}")]


def _weighing() -> list[Row]:
    english = b"The quick brown fox jumps over 12 lazy dogs, twice.\n" * 40
    japanese = ("折りたたんだ部分は消えたわけではありません。" * 40).encode()
    counter = counter_for("claude-opus-4-6")
    message = Message("user", (Text(english[:2048].decode()),))
    rounds = 500
    return [
        reported(name, cpu(lambda: [work() for _ in range(rounds)]) / rounds * 1e6, "µs", "class")  # noqa: B023 - called at once
        for name, work in (
            ("weighing 2 KB of English", lambda: weigh(english[:2048])),
            ("weighing 2 KB of Japanese", lambda: weigh(japanese[:2048])),
            ("the outline of a 2 KB message, estimated model", lambda: counter.shape(message)),
        )
    ]


def _importing() -> list[Row]:
    """Processor time inside a fresh interpreter with compiled files, ours after theirs in the same run.

    Names of contextfold are imported when they are first used: what a program waits for is the import of Session.
    """
    code = (
        "import time; a = time.process_time(); import msgspec; b = time.process_time(); import contextfold; "
        "c = time.process_time(); contextfold.Session; d = time.process_time(); import sys; "
        "print((c - a) / (b - a), (d - a) / (b - a), (d - a) * 1e3, 'splintr' in sys.modules, 'asyncio' in sys.modules)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    runs = [
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(12)
    ][2:]
    alone, session, milliseconds, *loaded = zip(*(run.split() for run in runs), strict=True)
    return [
        at_most("import contextfold / import msgspec", median(map(float, alone)), 3, "x", "median of 10"),
        at_most(
            "import contextfold, use Session / import msgspec", median(map(float, session)), 3, "x", "median of 10"
        ),
        reported("import contextfold, name Session", median(map(float, milliseconds)), "ms", "class"),
        at_most("tokenizers or asyncio loaded by that", float(any("True" in each for each in loaded)), 0),
    ]


def run() -> list[Row]:
    return [*_exactness(), *_throughput(), *_worst_cases(), *_weighing(), *_importing()]
