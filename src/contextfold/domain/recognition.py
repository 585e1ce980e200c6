"""Whether two messages say the same, and how far two histories do: what is compared where somebody else owns a list.

A message is compared by what it says: who speaks, words, calls and results, media. Cache marks, ids and reasoning are
left out, because clients rename, strip and move them; the ids of calls count where somebody says that they are kept.
Every prefix of a history has one number that depends on all of it, so the longest prefix that was seen before is found
by looking numbers up. Keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b

import msgspec
from msgspec import Struct

from .long_json import LONG, within_quotes, written
from .messages import Block, Document, Image, Message, Opaque, Text, ToolCall, ToolResult, encode

NUMBER_BYTES = 16
_DIGITS = 17  # of a fraction, its sign and point among them, that a float holds
NO_PREFIX = bytes(NUMBER_BYTES)  # the number of a history in which nothing was said

Filter = Callable[[str], str]  # what is left of a text when what a client adds by itself is taken out


class TextFilter(Struct, frozen=True):
    """A filter that also takes a long text in pieces: one in which no sign stands only loses the space around it."""

    change: Filter
    signs: tuple[str, ...] = ()  # one of them stands in every text that is changed inside

    def __call__(self, text: str) -> str:
        return self.change(text)

    def touches(self, run: Sequence[str]) -> bool:
        """Whether a sign stands in the text that these are together."""
        most = max(map(len, self.signs), default=1) - 1
        before = ""
        for piece in run:
            for at in range(0, len(piece), LONG):
                part = piece[at : at + LONG]
                if any(sign in part or sign in before + part[:most] for sign in self.signs):
                    return True
                before = (before + part)[-most:] if most else ""
        return False


class _LongText(Struct, frozen=True):
    """A long text in the pieces it came in, from a place in the first to one in the last."""

    run: Sequence[str]
    start: int
    end: int

    def written(self) -> Iterator[bytes]:
        """As JSON, in pieces."""
        last = len(self.run) - 1
        yield b'"'
        for at, part in enumerate(self.run):
            yield from within_quotes(part, 0 if at else self.start, self.end if at == last else len(part))
        yield b'"'

    def whole(self) -> str:
        """The text itself."""
        *front, last = self.run
        return "".join([*front, last[: self.end]])[self.start :]


def form_of(message: Message, words: Filter = str, *, ids: bool = False) -> bytes:
    """One number for what a message says; empty where that is nothing. With `ids` another call is another message.

    It is the number of the JSON of role and parts, which is nowhere as a whole: a long message is read piece by piece.
    """
    said = list(_parts(message.blocks, words, ids))
    if _size(said) <= LONG:
        return _number(encode([message.role, said])) if said else b""
    number = blake2b(digest_size=NUMBER_BYTES)
    try:
        for piece in _json([message.role, said]):
            number.update(piece)
    except UnicodeEncodeError:  # only the tolerant writer writes half a character
        return _number(encode([message.role, _whole(said)]))
    return number.digest()


def _json(value: object) -> Iterator[bytes]:
    match value:
        case str():
            yield from written(value)
        case _LongText():
            yield from value.written()
        case list():
            for at, each in enumerate(value):
                yield b"," if at else b"["
                yield from _json(each)
            yield b"]" if value else b"[]"
        case _:
            yield encode(value)


def _size(value: object) -> int:
    if isinstance(value, list):
        return sum(map(_size, value))
    return len(value) if isinstance(value, str) else LONG + 1 if isinstance(value, _LongText) else 0


def _whole(value: object) -> object:
    if isinstance(value, _LongText):
        return value.whole()
    return [_whole(each) for each in value] if isinstance(value, list) else value


def prefix_numbers(forms: Iterable[bytes], number: bytes = NO_PREFIX) -> Iterator[bytes]:
    """The number of each prefix of a history, going on from one; a message that says nothing changes nothing."""
    for each in forms:
        number = _number(number + each) if each else number
        yield number


def _number(content: bytes) -> bytes:
    return blake2b(content, digest_size=NUMBER_BYTES).digest()


def _parts(blocks: Iterable[Block], words: Filter, ids: bool) -> Iterator[object]:
    run: list[str] = []  # as far as it came: a streamed text comes in pieces and goes back in one
    for block in blocks:
        if isinstance(block, Text):
            run.append(block.text)
        elif (part := _part(block, words, ids)) is not None:
            if left := _left(run, words):
                yield left
            run = []
            yield part
    if left := _left(run, words):
        yield left


def _left(run: Sequence[str], words: Filter) -> str | _LongText:
    """What is left of the text that these are together; a long one stays in its pieces where that can be."""
    if sum(map(len, run)) > LONG and isinstance(words, TextFilter) and not words.touches(run):
        return _stripped(run)
    text = run[0] if len(run) == 1 else "".join(run)
    return words(text) if text else ""


def _stripped(run: Sequence[str]) -> str | _LongText:
    """A text in pieces without the space around all of it."""
    held = [part for part in run if part]
    while held and held[0].isspace():
        held.pop(0)
    while held and held[-1].isspace():
        held.pop()
    if not held:
        return ""
    start, end = 0, len(held[-1])
    while held[0][start].isspace():
        start += 1
    while held[-1][end - 1].isspace():
        end -= 1
    return _LongText(held, start, end)


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


def _number_of(written: str) -> object:
    """A fraction as it is written where no float holds all of its digits."""
    return float(written) if len(written) <= _DIGITS else ["number", written]


_EXACT = msgspec.json.Decoder(float_hook=_number_of)


def _by_value(given: str) -> object:
    """A server may write the same JSON with other spaces than its client gives back."""
    try:
        value = _EXACT.decode(given)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return given
    return msgspec.json.encode(value, order="sorted").decode()
