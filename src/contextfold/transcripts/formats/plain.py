"""Messages as people keep them: JSON or JSONL, of any provider's form, one conversation or many.

Recognised are a list of messages, an object with `messages`, `input` or `contents` (a request, or a line of a
training set), a list of such, and the same line by line. Each message keeps its bytes where a thread takes it as it
is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

from msgspec import Raw

from contextfold.transcripts.pairs import settled
from contextfold.transcripts.sample import Sample, plain
from contextfold.transcripts.session import Entry, Recording
from contextfold.transcripts.source import JsonRow, Read, Source, elements, fields, lines, listed
from contextfold.transcripts.speech import Heard, flat, when, word

from . import records
from .codex import Items, is_item
from .gemini import Contents, is_content
from .records import listed_in, reported

NAME = "plain"
_LISTS = ("messages", "contents", "input", "conversation", "history", "items")
_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")
_ROLES = ("user", "assistant", "system", "developer", "tool", "function", "model")

_LOOK = 50

Reads: TypeAlias = Callable[[], Iterator[Read]]


class Plain:
    """The reader of last resort."""

    __slots__ = ()
    name = NAME

    def claims(self, sample: Sample) -> bool:
        if any(_is_message(row) or _list_in(row) for row in sample.rows):
            return True
        if any(each and _is_message(each[0]) for each in sample.lists):
            return True
        if _list_name(sample.object):
            return True
        first = plain(sample.items[0]) if sample.items else None
        return (
            _is_message(first)
            or bool(_list_in(first))
            or (isinstance(first, list) and bool(first) and _is_message(first[0]))
        )

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        if _list_name(sample.object):
            yield _in_object(source, source.name, sample.object)
        elif sample.items and _is_message(plain(sample.items[0])):
            yield _recording(source, source.name, lambda: listed(source, sample.items))
        elif sample.items:  # a list of lists or of objects: a conversation for each
            for number, item in enumerate(sample.items, 1):
                yield _one_of_many(source, number, bytes(item))
        elif any(_is_message(row) for row in sample.rows):
            yield _recording(source, source.name, lambda: lines(source))
        else:
            for line in source.lines():
                if line.data.strip() or line.fault:
                    yield _one_of_many(source, line.number, line.data)


def _is_message(value: object) -> bool:
    """Whether a value is one message, of whatever form."""
    if is_item(value) or is_content(value):
        return True
    return isinstance(value, dict) and value.get("role") in _ROLES and bool({"content", "tool_calls"} & value.keys())


def _list_in(value: object) -> list[Any]:
    """The messages an object holds."""
    if not isinstance(value, dict):
        return []
    found: list[Any] = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), [])
    return found if found and _is_message(found[0]) else []


def _list_name(parts: Mapping[str, Raw]) -> str:
    """The field of an undecoded object that holds its messages."""
    for name in _LISTS:
        items = listed_in(parts, name)
        if items and _is_message(plain(items[0])):
            return name
    return ""


def _one_of_many(source: Source, number: int, raw: bytes) -> Recording:
    """A conversation that is an element of a list, or a line; what is none is a recording of nothing but the report."""
    name, value = f"{source.name}#{number}", plain(Raw(raw))
    if isinstance(value, dict) and _list_in(value):
        return _in_object(source, name, fields(raw))
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return _recording(source, name, lambda: listed(source, elements(raw)))
    return reported(source, NAME, number, source.damage(number, "this is not a conversation"))


def _in_object(source: Source, name: str, parts: Mapping[str, Raw]) -> Recording:
    items = elements(parts[_list_name(parts)])
    system = next((flat(plain(parts[each])) for each in _SYSTEM if each in parts), "")
    id = next((word(plain(parts[each])) for each in ("id", "conversation_id", "session_id") if each in parts), "")
    return _recording(source, name, lambda: listed(source, items), id, system, word(plain(parts.get("model"))))


def _recording(source: Source, name: str, reads: Reads, id: str = "", system: str = "", model: str = "") -> Recording:
    def follow() -> Iterator[Entry]:
        # Whose form the messages are in; some look the same in several, so more than one is looked at.
        for row in islice((read for read in reads() if isinstance(read, JsonRow)), _LOOK):
            if is_content(row.value):
                return settled(Contents().heard(source, reads()))
            if is_item(row.value):
                return settled(_items(source, reads()))
        return settled(records.heard(source, reads()))

    return Recording(name, NAME, id, system or records.system_text(reads()), follow, {"model": model} if model else {})


def _items(source: Source, reads: Iterable[Read]) -> Iterator[Heard]:
    items = Items()
    for read in reads:
        if not isinstance(read, JsonRow):
            yield read
        elif "type" not in read.value and "role" not in read.value:
            yield from source.damage(read.line, "this is no item of the Responses API")
        else:
            item = {"type": "message", **read.value}
            yield from items.take(read.line, item, read.raw, when(item.get("created_at")))
    yield from items.flush()
