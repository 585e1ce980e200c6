"""Exact counting: from text to a number of tokens, by the model's own vocabulary, offline.

An encoder is one method, so that another tokenizer can take this one's place in one file (entry point group
`contextfold.encoders`). Vocabularies load on first use and are kept; they are never downloaded. A count never raises
and never takes long: byte-pair merging is more than linear in the length of an unbroken run, so a text of unusual
length is cut, at the cost of at most a token for each cut.

Where splintr cannot be used, tiktoken counts, made safe: only with a file that is already in its cache directory and
has the published digest, and a panic becomes a count that is too high rather than an error.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, Protocol
from unicodedata import is_normalized, normalize

from contextfold.deferred import expression
from contextfold.loggers import logger

LONGEST: Final = 1 << 14

# Every pre-tokenizer splits between a letter and a blank that is followed by a letter.
_SEAM: Final = expression(r"[a-z](?= [a-z])", re.ASCII)


def pieces(text: str, longest: int = LONGEST) -> list[str]:
    """The text in pieces of at most `longest` characters; joined, they are the text."""
    found, start = [], 0
    while len(text) - start > longest:
        seam = _SEAM.search(text, start + longest // 2, start + longest)
        end = seam.end() if seam else start + longest
        found.append(text[start:end])
        start = end
    found.append(text[start:])
    return found


CACHE_VARIABLE: Final = "TIKTOKEN_CACHE_DIR"
_ADDRESS: Final = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
SHA256: Final = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
_SHORT: Final = 1 << 12


class TiktokenEncoder:
    """Counts with one of tiktoken's encodings. Strings that look like special tokens are text."""

    __slots__ = ("_encode",)

    def __init__(self, encode: Callable[[str], list[int]]) -> None:
        self._encode = encode

    def count(self, text: str) -> int:
        return sum(self._count(piece) for piece in pieces(text, _SHORT))

    def _count(self, piece: str) -> int:
        try:
            return len(self._encode(piece))
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            return len(piece.encode())


def cached_file(vocabulary: str, directory: str) -> Path:
    """Where tiktoken keeps the file of this vocabulary."""
    name = hashlib.sha1(_ADDRESS.format(vocabulary).encode(), usedforsecurity=False).hexdigest()
    return Path(directory) / name


def tiktoken_encoder(vocabulary: str) -> TiktokenEncoder | None:
    """The encoder of this vocabulary, or None when tiktoken or its file is not here: nothing is ever downloaded."""
    directory = os.environ.get(CACHE_VARIABLE, "")
    if not directory or not _is_there(vocabulary, directory):
        return None
    try:
        import tiktoken  # noqa: PLC0415 - optional
    except ImportError:
        return None
    return TiktokenEncoder(tiktoken.get_encoding(vocabulary).encode_ordinary)


def _is_there(vocabulary: str, directory: str) -> bool:
    try:
        found = hashlib.sha256(cached_file(vocabulary, directory).read_bytes()).hexdigest()
    except OSError:
        return False
    return found == SHA256.get(vocabulary)


_log = logger("tokens")

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

# Qwen composes letters and accents before it splits text; the library's bundled vocabulary leaves that to us.
_COMPOSED: Final = frozenset({"qwen"})


class Encoder(Protocol):
    """Counts the tokens of a text. Must take any string that UTF-8 can hold."""

    def count(self, text: str) -> int: ...


class SplintrEncoder:
    """One vocabulary bundled with splintr. Strings that look like special tokens are text."""

    __slots__ = ("_composed", "encode")

    def __init__(self, vocabulary: str, *, composed: bool = False) -> None:
        from splintr import Tokenizer  # noqa: PLC0415 - loaded when something is counted exactly, and replaceable

        self.encode = Tokenizer.from_pretrained(vocabulary).encode_ordinary
        self._composed = composed

    def count(self, text: str) -> int:
        if self._composed and not text.isascii() and not is_normalized("NFC", text):
            text = normalize("NFC", text)
        if len(text) <= LONGEST:
            return len(self.encode(text))
        return sum(len(self.encode(piece)) for piece in pieces(text))


@cache
def encoder(name: str) -> Encoder | None:
    """The encoder of this name: somebody's own before the bundled one; None when there is none."""
    return _plugged_in(name) or _bundled(name)


def _plugged_in(name: str) -> Encoder | None:
    from importlib.metadata import entry_points  # noqa: PLC0415 - plugins are optional, and looking costs 20 ms

    for entry in entry_points(group=GROUP, name=name):
        made: Encoder = entry.load()()
        return made
    return None


def _bundled(name: str) -> Encoder | None:
    vocabulary = VOCABULARIES.get(name)
    if vocabulary is None:
        return None
    try:
        return SplintrEncoder(vocabulary, composed=name in _COMPOSED)
    except (ImportError, ValueError) as error:
        instead = tiktoken_encoder(vocabulary)
        then = "tiktoken counts instead" if instead else "counts are estimated"
        _log.warning("The vocabulary %s cannot be loaded (%s); %s.", name, error, then)
        return instead
