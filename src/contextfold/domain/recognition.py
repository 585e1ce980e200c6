"""Whether two messages say the same, and how far two histories do: what is compared where somebody else owns a list.

A message is compared by what it says: who speaks, words, calls and results, media. Cache marks, ids and reasoning are
left out, because clients rename, strip and move them. Every prefix of a history has one number that depends on all of
it, so the longest prefix that was seen before is found by looking numbers up. Keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b

import msgspec

from .messages import Block, Document, Image, Message, Opaque, Text, ToolCall, ToolResult, encode

NUMBER_BYTES = 16
NO_PREFIX = bytes(NUMBER_BYTES)  # the number of a history in which nothing was said

Filter = Callable[[str], str]  # what is left of a text when what a client adds by itself is taken out


def form_of(message: Message, words: Filter = str) -> bytes:
    """One number for what a message says; empty where that is nothing."""
    said = [part for part in _parts(message.blocks, words) if part is not None]
    return _number(encode([message.role, said])) if said else b""


def prefix_numbers(forms: Iterable[bytes], number: bytes = NO_PREFIX) -> Iterator[bytes]:
    """The number of each prefix of a history, going on from one; a message that says nothing changes nothing."""
    for each in forms:
        number = _number(number + each) if each else number
        yield number


def _number(content: bytes) -> bytes:
    return blake2b(content, digest_size=NUMBER_BYTES).digest()


def _parts(blocks: Iterable[Block], words: Filter) -> Iterator[object]:
    for block in blocks:
        match block:
            case Text(text=text):
                yield text if (text := words(text)) else None
            case ToolCall():
                yield ["call", block.name, _arguments(block.arguments)]
            case ToolResult():
                yield ["result", block.is_error, [part for part in _parts(block.blocks, words) if part is not None]]
            case Image() | Document():
                yield [type(block).__name__, *msgspec.structs.astuple(block)]
            case Opaque():
                yield ["opaque", block.kind, block.json]
            case _:  # reasoning
                yield None


def _arguments(given: str) -> object:
    """By value: a server may write the same arguments with other spaces than its client gives back."""
    try:
        value = msgspec.json.decode(given)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return given
    return msgspec.json.encode(value, order="sorted").decode()
