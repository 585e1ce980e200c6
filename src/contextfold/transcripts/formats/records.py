"""Files that are lists of records, each record a conversation: what benchmarks and data sets share.

A record that holds no list of messages is a recording of nothing but its report, so that it is not lost from the
account.

Messages that stand in a file as a provider takes them: Anthropic's or OpenAI chat's form, kept byte for byte.

The formats that log such messages differ only in where they stand; this is what they share. It refuses nothing: a
message nobody could take is reported as damaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Raw

from contextfold.transcripts.session import Defect, Entry, Recorded, Recording, Skipped
from contextfold.transcripts.source import JsonRow, Read, Source, elements, fields, listed
from contextfold.transcripts.speech import Heard, answers_in, flat, has_typed, portable, spoken, unsound, when, word


def recordings(
    source: Source, format: str, items: Iterable[bytes | Raw], field: str, make: Callable[[JsonRow], Recording]
) -> Iterator[Recording]:
    """A recording for each record; `field` names where its messages are."""
    for read in listed(source, items):
        if isinstance(read, JsonRow) and isinstance(read.value.get(field), list):
            yield make(read)
        elif isinstance(read, JsonRow):
            yield reported(source, format, read.line, source.damage(read.line, f"a record without {field!r}"))
        elif isinstance(read, Defect):
            yield reported(source, format, read.line, (Skipped(read.line, read.kind), read))


def reported(source: Source, format: str, line: int, report: tuple[Entry, ...]) -> Recording:
    """A recording of nothing but what was wrong."""
    return Recording(f"{source.name}#{line}", format, "", "", lambda: iter(report))


def inner(raw: bytes | Raw, field: str) -> Sequence[Raw]:
    """The elements of a list in an object, undecoded; none where there is no such list."""
    return listed_in(fields(raw), field)


def listed_in(parts: Mapping[str, Raw], field: str) -> Sequence[Raw]:
    """The same for an object that is taken apart already."""
    value = parts.get(field)
    return elements(value) if value is not None and bytes(memoryview(value)[:1]) == b"[" else ()


_SYSTEM = ("system", "developer")
_TIMES = ("timestamp", "ts", "created_at", "time")


def heard(source: Source, reads: Iterable[Read]) -> Iterator[Heard]:
    """Each object as a turn; system messages in front are the recording's system text."""
    begun = False
    for read in reads:
        if not isinstance(read, JsonRow):
            yield read
        elif reason := unsound(read.value):
            yield from source.damage(read.line, reason)
        elif read.value.get("role") in _SYSTEM and not begun:
            yield Skipped(read.line, "system")
        elif is_silent(read.value):
            yield Skipped(read.line, "empty")
        else:
            begun = True
            yield said(read)


def said(row: JsonRow) -> Heard:
    """One message as a turn."""
    value = row.value
    raw, original = portable(row.raw)
    user = value.get("role") == "user"
    turn = Recorded(
        raw,
        (row.line,),
        next((at for name in _TIMES if (at := when(value.get(name))) is not None), None),
        model=word(value.get("model")),
        human=user and not any(answers_in(value)) and has_typed(value.get("content")),
        original=original,
    )
    return spoken(turn, value)


def is_silent(value: Mapping[str, Any]) -> bool:
    """Whether a message says nothing at all and calls nothing."""
    if value.get("role") in ("tool", "function") or value.get("tool_calls") or value.get("function_call"):
        return False
    content = value.get("content")
    return content in (None, [], "") or (isinstance(content, str) and not content.strip())


def system_text(reads: Iterable[Read]) -> str:
    """What the system messages in front say."""
    texts = []
    for read in reads:
        if isinstance(read, JsonRow):
            if read.value.get("role") not in _SYSTEM:
                break
            texts.append(flat(read.value.get("content")))
    return "\n\n".join(texts)
