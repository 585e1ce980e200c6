"""Small files in the formats people have, with invented content, and one way to read them whole."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from contextfold import transcripts
from contextfold.transcripts import Recording, Whole

Json = dict[str, Any]


def jsonl(rows: Iterable[Json | str | bytes]) -> bytes:
    """Objects one a line; text and bytes stand as they are, so that a line can be damaged."""
    return b"".join(_line(row) + b"\n" for row in rows)


def _line(row: Json | str | bytes) -> bytes:
    if isinstance(row, bytes):
        return row
    return row.encode() if isinstance(row, str) else spelled(row)


def spelled(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def put(folder: Path, content: bytes, name: str = "session") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def put_lines(folder: Path, rows: Iterable[Json | str | bytes], name: str = "session") -> Path:
    return put(folder, jsonl(rows), name)


def put_json(folder: Path, value: object, name: str = "session") -> Path:
    return put(folder, json.dumps(value, ensure_ascii=False, indent=1).encode(), name)


def packed(path: Path) -> Path:
    """The same file, compressed, beside it."""
    return put(path.parent, gzip.compress(path.read_bytes()), path.name + ".packed")


def only(path: Path, *, strict: bool = False) -> Recording:
    """The one conversation of a file."""
    (recording,) = transcripts.read(path, strict=strict)
    return recording


def whole(path: Path) -> Whole:
    return only(path).whole()


def messages(read: Whole) -> list[Json]:
    return [turn.message for turn in read.turns]


def places(read: Whole) -> list[int]:
    """Every line that a recording accounts for, in order."""
    return sorted(
        [line for turn in read.turns for line in turn.lines]
        + [line for compaction in read.compactions for line in compaction.lines]
        + [skipped.line for skipped in read.skipped]
    )


def kinds(read: Whole) -> list[str]:
    return [defect.kind for defect in read.defects]


def filed(text: str) -> Json:
    """What nobody typed, beside the words that somebody did."""
    return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}


def words(*texts: str) -> list[Json]:
    return [{"type": "text", "text": text} for text in texts]
