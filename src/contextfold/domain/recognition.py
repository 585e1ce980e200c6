"""Whether two messages say the same, and how far two histories do: what is compared where somebody else owns a list.

A message is compared by what it says: who speaks, words, calls and results, media. Cache marks, ids and reasoning are
left out, because clients rename, strip and move them; the ids of calls count where somebody says that they are kept.
Every prefix of a history has one number that depends on all of it, so the longest prefix that was seen before is found
by looking numbers up. Keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b

import msgspec

from .messages import Block, Document, Image, Message, Opaque, Text, ToolCall, ToolResult, encode

NUMBER_BYTES = 16
NO_PREFIX = bytes(NUMBER_BYTES)  # the number of a history in which nothing was said

Filter = Callable[[str], str]  # what is left of a text when what a client adds by itself is taken out


def form_of(message: Message, words: Filter = str, *, ids: bool = False) -> bytes:
    """One number for what a message says; empty where that is nothing. With `ids` another call is another message."""
    said = list(_parts(message.blocks, words, ids))
    return _number(encode([message.role, said])) if said else b""


def prefix_numbers(forms: Iterable[bytes], number: bytes = NO_PREFIX) -> Iterator[bytes]:
    """The number of each prefix of a history, going on from one; a message that says nothing changes nothing."""
    for each in forms:
        number = _number(number + each) if each else number
        yield number


def _number(content: bytes) -> bytes:
    return blake2b(content, digest_size=NUMBER_BYTES).digest()


def _parts(blocks: Iterable[Block], words: Filter, ids: bool) -> Iterator[object]:
    text = ""  # as far as it came: a streamed one comes in pieces and goes back in one
    for block in blocks:
        if isinstance(block, Text):
            text += words(block.text)
        elif (part := _part(block, words, ids)) is not None:
            if text:
                yield text
            text = ""
            yield part
    if text:
        yield text


def _part(block: Block, words: Filter, ids: bool) -> object:
    match block:
        case ToolCall():
            return ["call", block.name, _by_value(block.arguments), *((block.id,) if ids else ())]
        case ToolResult():
            return [
                "result",
                block.is_error,
                list(_parts(block.blocks, words, ids)),
                *((block.call,) if ids else ()),
            ]
        case Image() | Document():
            return [type(block).__name__, *msgspec.structs.astuple(block)]
        case Opaque():
            return ["opaque", block.kind, _by_value(block.json)]
        case _:  # reasoning
            return None


def _by_value(given: str) -> object:
    """A server may write the same JSON with other spaces than its client gives back."""
    try:
        value = msgspec.json.decode(given)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return given
    return msgspec.json.encode(value, order="sorted").decode()
