"""Whatever a caller hands us, as a message: a dict, JSON bytes, an SDK's object, or a provider's whole answer.

A list is what one side said in several items, as OpenAI's Responses return an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from contextfold import dialects
from contextfold.dialects import openai_responses
from contextfold.domain import Reply, decode, encode
from contextfold.errors import BadMessage

# How SDK objects become plain data, under the names the wire has: pydantic's way, and two others.
_DUMPS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("model_dump", {"mode": "json", "by_alias": True, "exclude_unset": True}),
    ("to_dict", {}),
    ("to_json_dict", {}),
)


def understand(given: object, default: str) -> Reply:
    """The message in it, in the dialect it is written in; `default` decides where two dialects write the same."""
    raw = bytes(given) if isinstance(given, bytes | bytearray | memoryview) else None
    value = decode(raw) if raw is not None else _plain(given)
    if isinstance(value, list) and _are_items(value, default == "openai-responses"):
        return Reply(dialects.find("openai-responses").parse(encode(value) if raw is None else raw))
    if not isinstance(value, Mapping):
        raise BadMessage(f"A message is a JSON object with a role; this is {_kind(value)}. Pass one message at a time.")
    reply = dialects.reply(value)
    if reply is not None:
        return reply
    dialect = dialects.find(dialects.reading(value, default))
    return Reply(dialect.parse(encode(value) if raw is None else raw))


def together(messages: Iterable[object]) -> Iterator[object]:
    """Messages one by one; items of Responses that are one answer of the model come as one."""
    for is_answer, group in groupby(messages, key=_is_of_an_answer):
        items = list(group)
        if is_answer and len(items) > 1:
            yield [_plain(item) for item in items]
        else:
            yield from items


def _is_of_an_answer(given: object) -> bool:
    """Whether it is an item that the model said; a message by itself, of this or any other API, is none."""
    if isinstance(given, str | bytes | bytearray | memoryview | list | tuple) or given is None:
        return False
    value = _plain(given)
    if not isinstance(value, Mapping) or dialects.reply(value) is not None:
        return False
    return dialects.detect(value) == "openai-responses" and openai_responses.side(value) == "assistant"


def _are_items(values: list[Any], is_expected: bool) -> bool:
    """Whether a list is what one side said in several items, and not several messages of any API."""
    items = [each for each in values if isinstance(each, Mapping)]
    read = {dialects.reading(each, "openai-responses") for each in items}
    claimed = is_expected or any(dialects.detect(each) == "openai-responses" for each in items)
    return claimed and read <= {"openai-responses"} and len(items) == len(values)


def _plain(given: object) -> Any:
    """SDK objects say themselves how they become plain data."""
    if isinstance(given, Mapping):
        return given
    if isinstance(given, list | tuple):
        return [_plain(each) for each in given]
    for method, options in _DUMPS:
        dump = getattr(given, method, None)
        if callable(dump):
            return dump(**options, **_further(given, method))
    raise BadMessage(
        f"{_kind(given).capitalize()} is not a message. Pass a dict with a role, JSON bytes, or an SDK's object."
    )


def _further(given: object, method: str) -> Mapping[str, Any]:
    """Google's objects set what they leave empty, and its API does not want that back."""
    is_googles = type(given).__module__.startswith("google.")
    return {"exclude_none": True} if is_googles and method == "model_dump" else {}


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"
