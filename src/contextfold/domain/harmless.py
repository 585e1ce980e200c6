"""Text that others wrote, made harmless for whoever looks at it: what a terminal would obey is spelled out instead.

A message, a file name or a thread's name may hold escape sequences, line breaks that fake a second row, or characters
that turn the reading direction. Everything a person reads passes through here, on screens and in reports; nothing is
dropped, and each such character is shown in one way, by its number.
"""

from __future__ import annotations

import unicodedata

from contextfold.deferred import expression

_KEPT = "\u200c\u200d\u3000\u00a0\u202f\u2009\u2003\u2002"  # joiners that scripts and emoji need, and plain spaces
LONGEST = 200  # characters of a short line
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_IN_JSON = expression("[\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
_TAGS = expression("[\U000e0000-\U000e007f]")


def line(text: str) -> str:
    """The text on one line, every sign visible."""
    return text if text.isprintable() else "".join(map(_spelled, text))


def short_line(text: str, most: int = LONGEST) -> str:
    """The text on one line, at most so long; line breaks too are spelled as numbers, so that a table keeps its rows."""
    shown = "\\x0a".join(map(line, text.split("\n")))
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def lines(text: str) -> list[str]:
    """The text line by line; tabs are spaces, everything else that moves a cursor is spelled out."""
    unified = text.replace("\r\n", "\n").expandtabs(4)
    return [line(each) for each in unified.split("\n")]


def json_text(text: str) -> str:
    """JSON with the same meaning in which nothing reaches a terminal's parser."""
    spelled = _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return _TAGS.sub(lambda found: f"\\udb40\\u{0xDC00 + (ord(found[0]) & 0x3FF):04x}", spelled)


def _spelled(sign: str) -> str:
    if sign.isprintable() or sign in _KEPT or unicodedata.category(sign) not in _UNSEEN:
        return sign
    if sign == "\n":
        return "⏎"
    number = ord(sign)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
