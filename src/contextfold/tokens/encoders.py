"""Exact counting: from text to a number of tokens, by the model's own vocabulary, offline.

An encoder is one method, so that another tokenizer can take this one's place in one file (entry point group
`contextfold.encoders`). Vocabularies load on first use and are kept; they are never downloaded. A count never raises
and never takes long: a text of unusual length is cut, at the cost of at most a token for each cut.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Protocol
from unicodedata import is_normalized, normalize

from contextfold.loggers import logger

from .pieces import LONGEST, pieces
from .tiktoken_encoder import tiktoken_encoder

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
