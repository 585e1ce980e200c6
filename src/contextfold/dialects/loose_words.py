"""Words of a message that clients may leave out when they send it back: reasoning, annotations, names, unknown fields.

The neutral blocks of a message hold what was said in it. Beside them its JSON may hold more words, under fields that we
do not read. An answer comes back without some of them, so they cannot be part of a prefix's number; but a message that
brings words which the kept one lacks is another message, or a fold would hide what nobody kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import TypeAlias

import msgspec

from contextfold.domain import LONG, Message, Reasoning, decode, nested

from .wire import elements, fields

LooseWords: TypeAlias = frozenset[bytes]  # digests, one for each piece that may be left out
NO_WORDS: LooseWords = frozenset()

# Fields whose words the blocks hold, or that hold none: ids, kinds, marks, signatures, and copies of reasoning.
_READ = frozenset(
    """
    role type id call_id tool_use_id tool_call_id status object index phase cache_control signature
    thoughtSignature thought_signature encrypted_content text refusal input arguments args response data url
    file_id filename fileUri file_uri executableCode executable_code codeExecutionResult code_execution_result
    audio title media_type mimeType mime_type detail thought thinking summary reasoning reasoning_content
    reasoning_details provider_specific_fields is_error logprobs
    """.split()  # noqa: SIM905  # one name a line would be a page
)
# Objects in blocks and calls, of which some fields are read.
_OBJECTS = frozenset(
    """
    function functionCall function_call functionResponse function_response source file fileData file_data inlineData
    inline_data image_url
    """.split()  # noqa: SIM905  # the same
)
_LISTS = frozenset({"content", "parts", "tool_calls", "output"})  # that hold blocks, parts or items
_DEEPEST = 8  # levels of blocks in blocks
_SHORT = 1 << 14  # bytes; a part of a long message that is shorter is read as a whole


def loose_words(message: Message) -> LooseWords:
    """Digests of the words that may be left out of a message."""
    thoughts = [inner for block in message.blocks for inner in nested(block) if isinstance(inner, Reasoning)]
    texts = {"thoughts": "".join(each.text for each in thoughts), "sealed": "".join(each.sealed for each in thoughts)}
    pieces = {word_digest(name.encode(), text.strip().encode()) for name, text in texts.items() if text.strip()}
    value = _outlined(message.raw, 0) if len(message.raw) > LONG else decode(message.raw)
    for item in value if isinstance(value, list) else [value]:
        for name, words in _unread(item, 0):
            pieces.add(word_digest(name.encode(), msgspec.json.encode(words, order="sorted")))
    return frozenset(pieces) if pieces else NO_WORDS


def _outlined(raw: bytes | msgspec.Raw, depth: int) -> object:
    """A message, or an object in it, without the long texts that are read elsewhere: they are not held once more."""
    start = bytes(memoryview(raw)[:1])
    if len(memoryview(raw)) <= _SHORT or depth > _DEEPEST or start not in (b"{", b"["):
        return decode(bytes(raw))
    if start == b"[":
        return [_outlined(each, depth) for each in elements(raw)]
    outline: dict[str, object] = {}
    for name, each in fields(raw).items():
        begins = bytes(memoryview(each)[:1])
        # A document of blocks is looked at as a whole.
        is_document = name == "source" and begins == b"{" and "content" in fields(each)
        if (name in _LISTS or name in _OBJECTS) and not is_document:
            outline[name] = None if begins == b'"' else _outlined(each, depth + 1)
        elif name not in _READ:
            outline[name] = decode(bytes(each))
    return outline


def _unread(value: object, depth: int) -> Iterator[tuple[str, object]]:
    """Fields with words in them that no block holds."""
    if not isinstance(value, Mapping):
        return
    if depth > _DEEPEST:
        yield "deep", value
        return
    for name, inner in value.items():
        if name in _LISTS:
            for each in inner if isinstance(inner, list) else ():
                yield from _unread(each, depth + 1)
        elif name == "name":
            if depth == 0 and isinstance(inner, str) and inner:  # who speaks; further inside it names a tool
                yield name, inner
        elif name in _OBJECTS:
            if name == "source" and isinstance(inner, Mapping) and "content" in inner:
                yield name, inner  # a document of blocks, of which we read the texts
            else:
                yield from _unread(inner, depth + 1)
        elif name not in _READ and _has_words(inner, depth):
            yield name, inner


def _has_words(value: object, depth: int) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, Mapping):
        value = list(value.values())
    return isinstance(value, list) and (depth > _DEEPEST or any(_has_words(each, depth + 1) for each in value))


def word_digest(name: bytes, words: bytes) -> bytes:
    return blake2b(name + b"\0" + words, digest_size=8).digest()
