"""The fallback when splintr cannot be used: tiktoken, made safe.

tiktoken downloads a vocabulary it does not have, and panics with a `BaseException` on long runs. Here it is used only
with a file that is already in its cache directory and has the published digest, gets short pieces, and a panic becomes
a count that is too high rather than an error.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from .pieces import pieces

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
