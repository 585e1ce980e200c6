"""Exact counting: from text to a number of tokens, by the model's own vocabulary, offline.

An encoder is one method, so that another tokenizer can take this one's place in one file (entry point group
`contextfold.encoders`). Vocabularies load on first use and are kept; they are never downloaded. A count never raises
and never takes long: a text of unusual length is cut, at the cost of at most a token for each cut.
"""

from __future__ import annotations

import logging
import re
from functools import cache
from importlib.metadata import entry_points
from typing import Final, Protocol

from .classes import utf8

_log = logging.getLogger("contextfold.tokens")

GROUP: Final = "contextfold.encoders"

# Our short names, which are stored with counts, and the names the tokenizer library gives its vocabularies.
VOCABULARIES: Final = {
    "o200k": "o200k_base",
    "cl100k": "cl100k_base",
    "llama3": "llama3",
    "qwen": "qwen3",
    "glm": "glm4",
    "kimi": "kimi_k3",
    "deepseek": "deepseek_v3",
    "mistral": "mistral_v3",
    "gemma": "gemma4",
}

# Byte-pair merging is more than linear in the length of one unbroken run (a megabyte of spaces took half a second).
_LONGEST: Final = 1 << 14
# A place where every pre-tokenizer splits: between a letter and a blank followed by a letter.
_SEAM: Final = re.compile(r"[a-z](?= [a-z])", re.ASCII)


class Encoder(Protocol):
    """Counts the tokens of a text. Must take any string that UTF-8 can hold."""

    def count(self, text: str) -> int: ...


class SplintrEncoder:
    """One vocabulary bundled with splintr. Strings that look like special tokens are text."""

    __slots__ = ("_encode",)

    def __init__(self, vocabulary: str) -> None:
        from splintr import Tokenizer  # noqa: PLC0415 - 60 MB of vocabularies, loaded when something is counted exactly

        self._encode = Tokenizer.from_pretrained(vocabulary).encode_ordinary

    def count(self, text: str) -> int:
        if len(text) <= _LONGEST:
            return len(self._encode(text))
        return sum(len(self._encode(piece)) for piece in pieces(text))


def pieces(text: str, longest: int = _LONGEST) -> list[str]:
    """The text in pieces of bounded length, cut where a tokenizer would split anyway when there is such a place."""
    found, start = [], 0
    while len(text) - start > longest:
        end = _seam(text, start + longest // 2, start + longest)
        found.append(text[start:end])
        start = end
    found.append(text[start:])
    return found


def _seam(text: str, first: int, last: int) -> int:
    match = _SEAM.search(text, first, last)
    return match.end() if match else last


@cache
def encoder(name: str) -> Encoder | None:
    """The encoder of this name: somebody's own before the bundled one; None when there is none."""
    for entry in entry_points(group=GROUP, name=name):
        made: Encoder = entry.load()()
        return made
    vocabulary = VOCABULARIES.get(name)
    if vocabulary is None:
        return None
    try:
        return SplintrEncoder(vocabulary)
    except (ImportError, ValueError) as error:
        _log.warning("The vocabulary %s cannot be loaded (%s); counts are estimated.", name, error)
        return None


def count_text(using: Encoder, text: str) -> int:
    """Tokens of any string, lone surrogates included (they are sent as escapes)."""
    try:
        return using.count(text)
    except UnicodeEncodeError:
        return using.count(utf8(text).decode())
