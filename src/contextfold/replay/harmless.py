"""Foreign words made harmless: what a recording says of itself is shown, and does nothing to whoever looks at it.

File names and ids come from other people's machines and may hold terminal escapes, marks that turn text around, or line
breaks that fake a second row. Each such character is written out as its number; everything readable stays as it is.
"""

from __future__ import annotations

import unicodedata

# Cc controls, Cf formats (bidi, zero width), Cs lone surrogates, Zl and Zp line breaks of Unicode.
_ODD = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
LONGEST = 200


def harmless(words: str, most: int = LONGEST) -> str:
    """The same words with every control, bidi and invisible character written as its number, cut to a length."""
    shown = words if words.isascii() and words.isprintable() else "".join(_shown(each) for each in words)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _shown(character: str) -> str:
    if unicodedata.category(character) not in _ODD:
        return character
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"
