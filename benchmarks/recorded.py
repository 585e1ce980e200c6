"""The recorded sessions kept beside the repository, as messages of ours, with what each call was billed.

Reads them with the harness beside the data until this package reads them itself. Not a benchmark.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.frame import SHARED
from contextfold.domain import Block, Message, Reasoning, Text, ToolCall, ToolResult

HARNESS = SHARED / "measure" / "retention"
ABSENT = "needs the recorded sessions in ../shared"


@dataclass(frozen=True, slots=True)
class Call:
    """One call to a model: how many messages it saw, and the input it was billed for."""

    messages: int
    billed: int
    model: str = ""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of a run in which the history only grew: between compactions, or silent clearings, of the product."""

    run: str
    format: str
    messages: tuple[Message, ...]
    calls: tuple[Call, ...]
    whole: bool  # it starts where the run starts, so nothing is hidden but system and tools


@dataclass(slots=True)
class _Run:
    name: str
    format: str
    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)


def is_here() -> bool:
    """Whether the sessions and their reader are beside the repository."""
    return (HARNESS / "corpus.py").is_file() and (SHARED / "data" / "MANIFEST.json").is_file()


@cache
def _corpus() -> Any:
    sys.path.insert(0, str(HARNESS))
    try:
        import corpus  # type: ignore[import-not-found]  # noqa: PLC0415 - beside the repository, not part of it
    finally:
        sys.path.remove(str(HARNESS))
    return corpus


@cache
def texts() -> tuple[str, ...]:
    """Every piece of text of every run, one string a block."""
    reader = _corpus()
    return tuple(
        reader.block_text(block) for run in _runs() for message in run.messages for block in message["content"]
    )


def japanese_dialogues() -> Iterator[str]:
    """What was said in each dialogue of the ASDC corpus, a line an utterance."""
    for archive in (SHARED / "data" / "ja-asdc").glob("*.gz"):
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(archive.read_bytes()))) as files:
            bodies = (files.extractfile(member) for member in files if member.name.endswith(".json"))
            for body in bodies:
                if body is not None:
                    yield "\n".join(said["text"] for said in json.load(body)["utterances"])


@cache
def _runs() -> tuple[Any, ...]:
    reader = _corpus()
    reader.restore_model = lambda *_: []  # needs a downloaded vocabulary, and is not used here
    return tuple(reader.load(["dev"]))


def stretches(*formats: str, least: int = 10) -> Iterator[Stretch]:
    """The stretches of billed runs with at least this many calls."""
    for run in _runs():
        if run.format in formats:
            yield from (each for each in _split(_read(run)) if len(each.calls) >= least)


def _read(raw: Any) -> _Run:
    run = _Run(raw.name, raw.format)
    details = _details(raw.name) if raw.format == "claude-code" else {}
    run.breaks = sorted({boundary.index for boundary in raw.boundaries})
    for at, message in enumerate(raw.messages):
        usage, key = message["meta"].get("usage"), message["meta"].get("key")
        model, hidden = details.get(key, ("", ()))
        if message["role"] == "assistant" and usage and sum(usage.values()) > 0:
            run.calls.append(Call(at, sum(usage.values()), model))
        blocks = tuple(_block(block) for block in message["content"])
        run.messages.append(Message(message["role"], blocks + tuple(Reasoning("", each) for each in hidden)))
    return run


def _block(raw: Any) -> Block:
    kind = raw["type"]
    if kind == "tool_use":
        given = raw["input"]
        return ToolCall(
            raw["id"], raw["name"], given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        )
    if kind == "tool_result":
        return ToolResult(raw["tool_use_id"], (Text(raw["content"]),), raw["is_error"])
    return Reasoning(raw["thinking"]) if kind == "thinking" else Text(raw["text"])


@cache
def _details(name: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """What the reader leaves out: the model of each API message, and signatures of thinking that is not shown."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for row in _corpus().jsonl(gzip.decompress((SHARED / "data" / _file(name)).read_bytes())):
        message = row.get("message")
        if row.get("isSidechain") or not isinstance(message, dict) or not message.get("id"):
            continue
        hidden = found.get(message["id"], ("", ()))[1]
        for block in message.get("content") or ():
            if isinstance(block, dict) and block.get("type") == "thinking" and not block.get("thinking"):
                hidden += (block.get("signature", ""),)
        found[message["id"]] = (message.get("model") or "", hidden)
    return found


def _file(name: str) -> Path:
    return Path(f"{name}.jsonl.gz")


def _split(run: _Run) -> Iterator[Stretch]:
    """Cut where the product compacted, and where the bill fell: it cleared old results without a word in the log."""
    cuts = list(run.breaks)
    cuts += [later.messages for call, later in pairwise(run.calls) if later.billed < call.billed - 1000]
    edges = [0, *sorted(set(cuts)), len(run.messages) + 1]
    for first, last in pairwise(edges):
        calls = tuple(
            Call(call.messages - first, call.billed, call.model) for call in run.calls if first <= call.messages < last
        )
        yield Stretch(run.name, run.format, tuple(run.messages[first:last]), calls, first == 0)
