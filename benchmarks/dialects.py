"""Reading and writing recorded messages in their own wire format: byte for byte, and how fast beside plain decoding.

Every original that its provider takes must come out as it went in. The measure is `msgspec.json.decode` of the same
bytes, which builds plain data and nothing more. Needs the recorded sessions in `../shared`.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator

import msgspec
from msgspec import Raw

from benchmarks.frame import SHARED, Row, absent, at_least, cpu, reported
from contextfold import dialects
from contextfold.dialects import openai_responses
from contextfold.domain import Message, Text, ViewItem, decode
from contextfold.models import find as find_model
from contextfold.tokens import counter_for

DATA = SHARED / "data"
ABSENT = "needs the recorded sessions in ../shared"
Conversations = Iterator[list[bytes]]

_row = msgspec.json.Decoder(dict[str, Raw])
_list = msgspec.json.Decoder(list[Raw])


def run() -> list[Row]:
    if not DATA.is_dir():
        return [absent("recorded messages", ABSENT)]
    return [row for name, read in READERS.items() for row in measured(name, list(read()))]


def measured(name: str, conversations: list[list[bytes]]) -> Iterator[Row]:
    dialect = dialects.find(name)
    raws = [raw for conversation in conversations for raw in conversation]
    shapes = counter_for(find_model("nobody-knows"))
    messages = [dialect.parse(raw) for raw in raws]
    items = [ViewItem(at, "message", shapes.shape(message)) for at, message in enumerate(messages, 1)]
    same = sum(
        dialect.chunk(item, message) == _in_request(message.raw) for item, message in zip(items, messages, strict=True)
    )
    size = sum(map(len, raws))
    yield at_least(
        f"{name}: messages that keep every byte", 100 * same / len(raws), 100, "%", f"{len(raws):,} messages"
    )
    plain = cpu(lambda: [msgspec.json.decode(raw) for raw in raws])

    def parse_and_render() -> bytes:
        chunks = [dialect.chunk(item, dialect.parse(raw)) for item, raw in zip(items, raws, strict=True)]
        return dialect.body(dialect.limited(chunks, 0), {}, items[0])

    ours = cpu(parse_and_render)
    yield at_least(f"{name}: throughput / msgspec.json.decode", plain / ours, 0.1)
    yield reported(f"{name}: read and written", size / ours / 1e6, "MB/s", f"plain decoding {size / plain / 1e6:.0f}")


def _in_request(raw: bytes) -> bytes:
    """A message as it stands in a request: an answer of several items without its brackets."""
    return raw[1:-1] if raw.startswith(b"[") else raw


def _lines(folder: str) -> Iterator[Iterator[dict[str, Raw]]]:
    for file in sorted((DATA / folder).glob("*.jsonl.gz")):
        yield (_row.decode(line) for line in gzip.decompress(file.read_bytes()).splitlines() if line.strip())


def claude_code() -> Conversations:
    """Messages without blank text, which the product recorded and the API does not take back."""
    anthropic = dialects.find("anthropic")
    for rows in _lines("claude-code"):
        said = [bytes(row["message"]) for row in rows if bytes(row.get("message", Raw(b"n")))[:1] == b"{"]
        yield [raw for raw in said if not _has_blank(anthropic.parse(raw))]


def _has_blank(message: Message) -> bool:
    return any(isinstance(block, Text) and not block.text.strip() for block in message.blocks)


def tau_bench() -> Conversations:
    for file in sorted((DATA / "tau-bench").glob("*.json.gz")):
        for run in _list.decode(gzip.decompress(file.read_bytes())):
            yield [bytes(raw) for raw in _list.decode(_row.decode(run)["traj"])]


def codex() -> Conversations:
    """Items as the product got and sent them; those of one answer are one message."""
    for rows in _lines("codex"):
        items = [bytes(row["payload"]) for row in rows if bytes(row["type"]) == b'"response_item"']
        yield list(_turns(items))


def _turns(items: list[bytes]) -> Iterator[bytes]:
    done = 0
    for turn in openai_responses.turns([decode(item) for item in items]):
        taken = items[done : done + len(turn)]
        done += len(turn)
        yield taken[0] if len(taken) == 1 else b"[" + b",".join(taken) + b"]"


def gemini() -> Conversations:
    for file in sorted((DATA / "gemini").glob("*.json.gz")):
        history = _row.decode(gzip.decompress(file.read_bytes()))["history"]
        yield [bytes(raw) for raw in _list.decode(history)]


READERS: dict[str, Callable[[], Conversations]] = {
    "anthropic": claude_code,
    "openai-chat": tau_bench,
    "openai-responses": codex,
    "gemini": gemini,
}
