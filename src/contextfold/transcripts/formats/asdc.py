"""The Accommodation Search Dialog Corpus: one JSON file a dialogue, as a tar archive or alone.

A customer (the user) talks with an operator (in the assistant's place). Members of the archive are read as they pass
and are never written anywhere; what is not a dialogue is reported.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Sequence
from io import RawIOBase
from pathlib import PurePosixPath
from typing import Any

from msgspec import Raw

from contextfold.domain import decode
from contextfold.errors import BadMessage
from contextfold.transcripts.pairs import settled
from contextfold.transcripts.sample import Sample, plain
from contextfold.transcripts.session import Recorded, Recording, Skipped
from contextfold.transcripts.source import Broken, JsonRow, Source, fields, listed
from contextfold.transcripts.speech import Heard, SpokenTurn, flat, message, text, word

from .records import listed_in, reported

NAME = "asdc"


class Asdc:
    """The reader of the corpus's dialogues."""

    __slots__ = ()
    name = NAME

    def claims(self, sample: Sample) -> bool:
        return sample.shape == "archive" or {"meta", "utterances"} <= sample.object.keys()

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        if sample.shape == "archive":
            return _members(source)
        return iter((_dialogue(source, source.name, sample.object),))


def _members(source: Source) -> Iterator[Recording]:
    number = 0
    try:
        with tarfile.open(fileobj=_Stream(source), mode="r|") as archive:
            for member in archive:
                if member.isfile() and member.name.endswith(".json"):
                    number += 1
                    yield _member(source, number, member, archive)
        if not number:
            raise source.refuse("an archive without dialogues. Unpack it and read its files one by one")
    except (tarfile.TarError, Broken, EOFError) as error:
        report = source.damage(number + 1, f"the archive cannot be read further ({error})")
        yield reported(source, NAME, number + 1, report)


def _member(source: Source, number: int, member: tarfile.TarInfo, archive: tarfile.TarFile) -> Recording:
    file = archive.extractfile(member)
    if file is None or member.size > source.limits.line:
        why = f"a member of more than {source.limits.line:,} bytes"
        return reported(source, NAME, number, source.damage(number, why))
    try:
        raw = file.read()
        value = decode(raw)
    except BadMessage:
        return reported(source, NAME, number, source.damage(number, "a member that is not JSON"))
    if not isinstance(value, dict) or not isinstance(value.get("utterances"), list):
        return reported(source, NAME, number, source.damage(number, "a member without utterances"))
    return _dialogue(source, f"{source.name}#{PurePosixPath(member.name).stem}", fields(raw))


def _dialogue(source: Source, name: str, parts: dict[str, Raw]) -> Recording:
    said, meta = listed_in(parts, "utterances"), plain(parts.get("meta"))
    facts: dict[str, Any] = meta if isinstance(meta, dict) else {}
    id = facts.get("id")
    found = word(id.get("id")) if isinstance(id, dict) else word(id)
    return Recording(name, NAME, found, "", lambda: settled(_heard(source, said)), facts)


def _heard(source: Source, said: Sequence[Raw]) -> Iterator[Heard]:
    for read in listed(source, said):
        if not isinstance(read, JsonRow):
            yield read
            continue
        words, speaker = flat(read.value.get("text")), read.word("name")
        if not speaker:
            yield from source.damage(read.line, "an utterance of nobody")
        elif not words.strip():
            yield Skipped(read.line, "empty")
        else:
            user = speaker.startswith("customer")
            raw = message("user" if user else "assistant", [text(words)])
            yield SpokenTurn(Recorded(raw, (read.line,), human=user, original=read.raw))


class _Stream(RawIOBase):
    """A source as the stream that `tarfile` reads from; it only goes forward."""

    def __init__(self, source: Source) -> None:
        self._chunks = source.chunks()
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        parts, wanted = [], size
        while wanted > 0:
            if not self._rest:
                self._rest = next(self._chunks, b"")
                if not self._rest:
                    break
            parts.append(self._rest[:wanted])
            self._rest = self._rest[wanted:]
            wanted -= len(parts[-1])
        return b"".join(parts)
