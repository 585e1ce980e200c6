"""Which language a conversation is in, decided by what its user writes.

Two languages have texts of our own, English and Japanese; whatever is neither gets English headings around its own
words. Code, paths and tool output are no evidence: a Japanese request about English sources is a Japanese request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from contextfold.domain import Language

__all__ = ["Language", "language_of"]

# A path is tried only where a word begins: tried at each of its letters, 40 kB without a slash take seconds.
_NOT_WORDS = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*+`|https?://\S++|(?<![\w.~-])[\w.~-]*+/[\w./~-]++|<[^>\n]{1,200}+>", re.DOTALL
)
_KANA = re.compile(r"[぀-ヿㇰ-ㇿｦ-ﾟ]")
_IDEOGRAPHS = re.compile(r"[々㐀-䶿一-鿿]")
_LATIN_WORDS = re.compile(r"[A-Za-z]{2,}")


def language_of(texts: Iterable[str]) -> Language:
    """Japanese if there is kana, and no more Latin words than Japanese characters; else English."""
    kana = ideographs = words = 0
    for text in texts:
        plain = _NOT_WORDS.sub(" ", text)
        kana += len(_KANA.findall(plain))
        ideographs += len(_IDEOGRAPHS.findall(plain))
        words += len(_LATIN_WORDS.findall(plain))
    return "ja" if kana and kana + ideographs >= words else "en"
