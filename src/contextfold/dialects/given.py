"""Whatever a caller hands us, as a message: a dict, JSON bytes, an SDK's object, or a provider's whole answer.

Read in the dialect that the caller names, else in the one that its shape tells. A list is what one side said in several
items. It changes nothing of what it is given: bytes stay the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from contextfold.domain import Message, Reply, decode, encode
from contextfold.errors import BadMessage

from .registry import answer_in, claimed_by, find, joined, plain_reader, reading

# How SDK objects become plain data, under the names the wire has: pydantic's way, and two others.
_DUMPS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("model_dump", {"mode": "json", "by_alias": True, "exclude_unset": True}),
    ("to_dict", {}),
    ("to_json_dict", {}),
)


def understand(given: object, default: str, named: str | None = None) -> Reply:
    """The message in it: in the dialect that the caller `named`, else in the one it is written in.

    `default` decides where several dialects write the same.
    """
    raw = bytes(given) if isinstance(given, bytes | bytearray | memoryview) else None
    value = decode(raw) if raw is not None else plain(given)
    is_list = isinstance(value, list)
    dialect = find(named) if named else joined(value, default) if is_list else None
    if not isinstance(value, Mapping) and not (is_list and dialect is not None and dialect.is_written_in_items):
        raise BadMessage(f"A message is a JSON object with a role; this is {_kind(value)}. Pass one message at a time.")
    if not is_list and not named and (reader := plain_reader(value, default)) is not None:
        return Reply(reader.parse(encode(value) if raw is None else raw))
    if not is_list:
        answer = answer_in(value, default, named)
        if answer is not None:
            return answer
        dialect = find(reading(value, default, named))
    assert dialect is not None  # noqa: S101  # a list without one was refused above
    return Reply(dialect.parse(encode(value) if raw is None else raw))


def refuse_empty(message: Message) -> None:
    """At the door a message has content, if an empty one as recorded histories do; an answer may be all silence."""
    if message.blocks or message.role == "assistant":
        return
    value = decode(message.raw)
    if not isinstance(value, Mapping) or {"content", "parts"}.isdisjoint(value):
        raise BadMessage(f"This message of the {message.role} has no content. Give it some, or leave it out.")


def together(messages: Iterable[object], named: str | None = None) -> Iterator[object]:
    """Messages one by one; the items that are one answer of the model come as one."""
    for is_answer, group in groupby(messages, key=lambda given: _is_of_an_answer(given, named)):
        items = list(group)
        if is_answer and len(items) > 1:
            yield [plain(item) for item in items]
        else:
            yield from items


def _is_of_an_answer(given: object, named: str | None) -> bool:
    """Whether it is an item that the model said; a message by itself, of this or any other API, is none."""
    if isinstance(given, str | bytes | bytearray | memoryview | list | tuple) or given is None:
        return False
    value = plain(given)
    if not isinstance(value, Mapping) or answer_in(value, "", named) is not None:
        return False
    dialect = find(named) if named else claimed_by(value)
    return dialect is not None and dialect.is_of_an_answer(value)


def plain(given: object) -> Any:
    """Plain data: SDK objects, at any depth, say themselves how they become it; a kind of string is a string."""
    if isinstance(given, Mapping):
        return {name: plain(each) for name, each in given.items()}
    if isinstance(given, list | tuple):
        return [plain(each) for each in given]
    if isinstance(given, str):
        return str.__str__(given)
    for method, options in _DUMPS:
        dump = getattr(given, method, None)
        if callable(dump):
            return dump(**options, **_further(given, method))
    return given


def _further(given: object, method: str) -> Mapping[str, Any]:
    """Google's objects set what they leave empty, and its API does not want that back."""
    is_googles = type(given).__module__.startswith("google.")
    return {"exclude_none": True} if is_googles and method == "model_dump" else {}


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"
