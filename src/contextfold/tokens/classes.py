"""Weigh text by what it is made of: words, signs, digits, lines, scripts.

The weights do not depend on a model, so they are kept with every event; a model's own numbers turn them into tokens
later (see `weights`). Weighing is on the path of every append and must cost microseconds: the text becomes one large
integer with four bits for each byte, in which runs are found by shifting and counted by population count. Nothing here
guesses tokens, and nothing raises on any string.
"""

from __future__ import annotations

from typing import Final

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
