"""From a message to its outline: every block weighed once, at the door, by what it is made of.

Text is weighed by classes: words, signs, digits, lines, scripts. The amounts do not depend on a model, so they are
stored with the event, and a model's own weights turn them into tokens later (see `counters`). Weighing is on the path
of every append and must cost microseconds: the text becomes one large integer with four bits for each byte, in which
runs are found by shifting and counted by population count. Nothing here guesses tokens, and nothing raises on any
string.

Every kind of block weighs something; one we do not know weighs what its JSON weighs, with the media in it by their
kind.
"""

from __future__ import annotations

from operator import add
from typing import Final, assert_never

from contextfold.domain import (
    LONG,
    Block,
    BlockShape,
    Document,
    Image,
    Measure,
    Message,
    Opaque,
    Reasoning,
    Shape,
    Text,
    ToolCall,
    ToolResult,
)

from .encoders import Encoder
from .media import dimensions, pages, seconds, without_media

# The order is a promise: it is what stored amounts mean. Only ever add at the end.
CLASSES: Final = (
    "words",  # runs of ASCII letters
    "letters",  # letters from the fourth of a run on
    "capitals",  # runs of capitals
    "digits",  # and control characters, which tokenizers spell one by one
    "marks",  # runs of ASCII punctuation
    "signs",  # ASCII punctuation after the first of a run
    "gaps",  # blanks after the first of a run: indentation, tables
    "lines",  # line ends
    "blobs",  # capitals after fifteen letters and digits without a break: keys, base64
    "latin",  # letters beyond ASCII, by the first byte of their UTF-8
    "greek",
    "cyrillic",
    "semitic",
    "indic",
    "other",
    "symbols",  # arrows, boxes, dashes, quotation marks
    "kana",  # with the punctuation of Japanese and Chinese
    "han",
    "hangul",
    "forms",  # full-width forms, private use
    "emoji",
    "sealed",  # characters we cannot read: encrypted reasoning
)
SEALED: Final = CLASSES.index("sealed")

# Four bits for each byte of text, so that hexadecimal digits can carry them. The second bit says capital beside the
# first and digit without it; the third and fourth say sign and blank, and line end together.
_LETTER, _CAPITAL, _DIGIT, _SIGN, _BLANK, _LINE = 1, 3, 2, 4, 8, 12


def _kind(byte: int) -> int:
    """What one byte is; bytes beyond ASCII are nothing and end every run."""
    sign = chr(byte)
    if byte >= 0x80:
        return 0
    if sign.isalpha():
        return _CAPITAL if sign.isupper() else _LETTER
    if sign in "\r\n":
        return _LINE
    if sign in " \t\v\f":
        return _BLANK
    return _DIGIT if sign.isdigit() or byte < 0x20 or byte == 0x7F else _SIGN


# Longer text is weighed in spans of this many bytes: the mask below has this length.
_SPAN: Final = 1 << 15
_KINDS: Final = bytes(ord(f"{_kind(byte):x}") for byte in range(256))
_ONES: Final = int("1" * _SPAN, 16)

# A character beyond ASCII is known by the first byte of its UTF-8; the others are deleted before counting.
_NOT_FIRST: Final = bytes(range(0xC0))
_SCRIPTS: Final = tuple(
    bytes(range(first, last + 1))
    for first, last in (
        (0xC0, 0xCB),
        (0xCC, 0xCF),
        (0xD0, 0xD3),
        (0xD4, 0xDF),
        (0xE0, 0xE0),
        (0xE1, 0xE1),
        (0xE2, 0xE2),
        (0xE3, 0xE3),
        (0xE4, 0xE9),
        (0xEA, 0xED),
        (0xEE, 0xEF),
        (0xF0, 0xFF),
    )
)


def utf8(text: str) -> bytes:
    """The bytes of any string; a lone surrogate becomes its escape."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def weigh(raw: bytes) -> tuple[int, ...]:
    """The amount of each class in UTF-8 text, trailing zeros left out."""
    if len(raw) <= _SPAN:
        amounts = _ascii(raw)
    else:
        spans = [_ascii(raw[start : start + _SPAN]) for start in range(0, len(raw), _SPAN)]
        amounts = tuple(map(sum, zip(*spans, strict=True)))
    if not raw.isascii():
        amounts += _scripts(raw)
    return _trimmed(amounts)


def weigh_long(text: str) -> tuple[int, tuple[int, ...]]:
    """The bytes of a long text and what `weigh` says of them, without holding them: span by span."""
    size, rest = 0, b""
    plain: list[int] = [0] * len(_ascii(b""))
    beyond: list[int] = [0] * len(_SCRIPTS)
    for at in range(0, len(text), _SPAN):
        rest += utf8(text[at : at + _SPAN])
        is_last = at + _SPAN >= len(text)
        while len(rest) >= _SPAN or (is_last and rest):
            span, rest = rest[:_SPAN], rest[_SPAN:]
            size += len(span)
            plain = list(map(add, plain, _ascii(span)))
            if not span.isascii():
                beyond = list(map(add, beyond, _scripts(span)))
    return size, _trimmed((*plain, *beyond))


def sealed(size: int) -> tuple[int, ...]:
    """The weight of this many characters that nobody can read."""
    return (0,) * SEALED + (size,) if size > 0 else ()


def _ascii(raw: bytes) -> tuple[int, ...]:
    digits = raw.translate(_KINDS).decode("ascii")
    text = int.from_bytes(bytes.fromhex(digits if len(digits) % 2 == 0 else digits + "0"), "big")
    # One lane for each question, a bit for each place; a place's neighbour to the left is four bits higher.
    letters, second, third, fourth = text & _ONES, (text >> 1) & _ONES, (text >> 2) & _ONES, (text >> 3) & _ONES
    capitals, lines, word = letters & second, third & fourth, letters | second
    signs, blanks = third ^ lines, fourth ^ lines
    in_word, in_signs = letters & (letters >> 4), signs & (signs >> 4)
    two = word & (word >> 4)
    four = two & (two >> 8)
    eight = four & (four >> 16)
    return (
        (letters ^ in_word).bit_count(),
        (in_word & (in_word >> 8)).bit_count(),
        (capitals ^ (capitals & (capitals >> 4))).bit_count(),
        (second ^ capitals).bit_count(),
        (signs ^ in_signs).bit_count(),
        in_signs.bit_count(),
        (blanks & (blanks >> 4)).bit_count(),
        lines.bit_count(),
        (capitals & eight & (eight >> 32)).bit_count(),
    )


def _scripts(raw: bytes) -> tuple[int, ...]:
    firsts = raw.translate(None, _NOT_FIRST)
    whole = len(firsts)
    return tuple(whole - len(firsts.translate(None, script)) for script in _SCRIPTS)


def _trimmed(amounts: tuple[int, ...]) -> tuple[int, ...]:
    end = len(amounts)
    while end and not amounts[end - 1]:
        end -= 1
    return amounts[:end]


# A signature holds the reasoning in encrypted form, and this much beside it (measured on 1,577 blocks that show both).
_SIGNATURE = 230
# What a provider shrinks a picture to when it is asked for little detail.
_LOW = 512


class Scale:
    """Weighs messages; with an encoder, counts their text exactly as well.

    What is only counted and not stored needs no classes when an encoder counts it: weighing them costs half as much as
    encoding.
    """

    __slots__ = ("_classes", "_encoder", "_encoding")

    def __init__(self, encoding: str = "", encoder: Encoder | None = None, *, classes: bool = True) -> None:
        self._encoding, self._encoder, self._classes = encoding, encoder, classes or encoder is None

    def shape(self, message: Message) -> Shape:
        """The outline of a message."""
        blocks = tuple([self.block(block) for block in message.blocks])
        size = len(message.raw) or sum(block.size for block in blocks)
        return Shape(message.role, blocks, size)

    def block(self, block: Block) -> BlockShape:
        """The outline of one block."""
        match block:
            case Text():
                size, measure = self.text(block.text)
                return BlockShape("text", 0 if not block.text or block.text.isspace() else size, measure)
            case ToolCall():
                size, measure = self.text(f"{block.name} {block.arguments}")
                return BlockShape("call", size, measure, block.id, block.name)
            case ToolResult():
                size, measure = self._result(block)
                return BlockShape("result", size, measure, block.call, block.name, block.is_error)
            case Reasoning():
                return self._reasoning(block)
            case Image():
                size = len(block.data) or len(block.url)
                return BlockShape("image", size, self._media(("image", *_pixels(block))))
            case Document():
                return self._document(block)
            case Opaque():
                return self._opaque(block)
            case _:
                assert_never(block)

    def text(self, text: str) -> tuple[int, Measure]:
        """Bytes of a text, and what it weighs."""
        if not self._classes:
            return len(text) if text.isascii() else len(utf8(text)), Measure((), (), self._exact(text))
        if len(text) > LONG:
            size, amounts = weigh_long(text)
            return size, Measure(amounts, (), self._exact(text))
        raw = utf8(text)
        return len(raw), Measure(weigh(raw), (), self._exact(text))

    def _exact(self, text: str) -> dict[str, int]:
        if self._encoder is None:
            return {}
        try:
            return {self._encoding: self._encoder.count(text)}
        except UnicodeEncodeError:  # a lone surrogate, which is sent as its escape
            return {self._encoding: self._encoder.count(utf8(text).decode())}

    def _media(self, *media: tuple[str, int, int]) -> Measure:
        return Measure((), media, {self._encoding: 0} if self._encoder else {})

    def _result(self, block: ToolResult) -> tuple[int, Measure]:
        if len(block.blocks) == 1 and isinstance(block.blocks[0], Text):
            return self.text(block.blocks[0].text)
        inner = [self.block(each) for each in block.blocks]
        measure = self._media()
        for each in inner:
            measure = measure + each.measure
        return sum(each.size for each in inner), measure

    def _reasoning(self, block: Reasoning) -> BlockShape:
        hidden = block.sealed or block.signature
        if block.text:
            size, measure = self.text(block.text)
            return BlockShape("reasoning", size + len(hidden), measure)
        bare = self._media()
        return BlockShape("reasoning", len(hidden), Measure(sealed(len(hidden) - _SIGNATURE), (), bare.bpe))

    def _opaque(self, block: Opaque) -> BlockShape:
        words, media = without_media(block.json)
        size, measure = self.text(words or block.kind)
        if media:
            size, measure = len(block.json), measure + self._media(*media)
        return BlockShape("opaque", size, measure, "", block.kind)

    def _document(self, block: Document) -> BlockShape:
        size, measure = self.text(block.text or block.title)
        if block.text:
            return BlockShape("document", size, measure)
        kind = block.media_type.partition("/")[0]
        if block.data and kind in ("audio", "video"):
            return BlockShape("document", len(block.data), measure + self._media((kind, seconds(block.data, kind), 0)))
        count = pages(block.data, block.media_type) if block.data else 0
        return BlockShape("document", len(block.data) or len(block.url), measure + self._media(("document", count, 0)))


def _pixels(image: Image) -> tuple[int, int]:
    width, height = dimensions(image.data)
    if image.detail != "low":
        return width, height
    return min(width or _LOW, _LOW), min(height or _LOW, _LOW)
