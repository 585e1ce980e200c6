"""What is to be summarized, the one input of the digest, the prompt and the checks; and in which language.

A previous summary is an input of its own, never one of the messages, so that each summary updates the last one instead
of summarizing it again. Nothing here reads a thread: whoever folds chooses the sources, and each source once.

The language is decided by what the user writes. Two have texts of our own, English and Japanese; whatever is neither
gets English headings around its own words. Code, paths and tool output are no evidence: a Japanese request about
English sources is a Japanese request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile

from msgspec import Struct

from contextfold.deferred import expression
from contextfold.domain import Language, Message, Text

from .passages import SourceMessage

__all__ = ["Language", "beginning_of", "language_of"]


# A path is tried only where a word begins: tried at each of its letters, 40 kB without a slash take seconds.
_NOT_WORDS = expression(
    r"```.*?(?:```|\Z)|`[^`\n]*+`|https?://\S++|(?<![\w.~-])[\w.~-]*+/[\w./~-]++|<[^>\n]{1,200}+>", re.DOTALL
)
_KANA = expression(r"[぀-ヿㇰ-ㇿｦ-ﾟ]")
_IDEOGRAPHS = expression(r"[々㐀-䶿一-鿿]")
_LATIN_WORDS = expression(r"[A-Za-z]{2,}")

_TELLING = 50_000  # characters of a text that are looked at


def language_of(texts: Iterable[str]) -> Language:
    """Japanese if there is kana, and no more Latin words than Japanese characters; else English.

    The beginning of each text tells: reading a megabyte would hold up everybody, and add nothing.
    """
    kana = ideographs = words = 0
    for text in texts:
        plain = _NOT_WORDS.sub(" ", text[:_TELLING])
        kana += len(_KANA.findall(plain))
        ideographs += len(_IDEOGRAPHS.findall(plain))
        words += len(_LATIN_WORDS.findall(plain))
    return "ja" if kana and kana + ideographs >= words else "en"


def beginning_of(message: Message) -> str:
    """As much of a message's own words as tells its language."""
    texts: list[str] = []
    for block in message.blocks:
        if isinstance(block, Text):
            texts.append(block.text[:_TELLING])
            if sum(map(len, texts)) >= _TELLING:
                break
    return "\n".join(texts)


class SummaryRequest(Struct, frozen=True):
    """The messages a summary shall stand for, what stood for the ones before them, and how large it may be."""

    sources: tuple[SourceMessage, ...]
    previous: str = ""
    instructions: str = ""
    language: Language = "en"
    budget: int = 2_000
    kept: tuple[
        SourceMessage, ...
    ] = ()  # what follows the sources and stays in view: read to learn what matters, never repeated

    prompt: str = ""  # what the model is told in place of our own words

    # What the previous summary stands for, where it can be read again: a digest is made from it anew, and forgets less.
    earlier: tuple[SourceMessage, ...] = ()
    is_part: bool = False  # of it, because all of it would be too much; then the previous summary tells of the rest

    staying: int = 0  # so many of the last sources stay in view, cut short: they are told of, and read again next time

    @property
    def opening(self) -> frozenset[int]:
        """The seqs of the sources that come before the model's first words: there nothing is a result yet."""
        if self.previous.strip():
            return frozenset()
        opening = takewhile(lambda source: source.message.role != "assistant", self.sources)
        return frozenset(source.seq for source in opening)

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The seqs of the sources, neighbours joined, inclusive."""
        spans: list[tuple[int, int]] = []
        for seq in sorted({source.seq for source in self.sources}):
            if spans and seq == spans[-1][1] + 1:
                spans[-1] = (spans[-1][0], seq)
            else:
                spans.append((seq, seq))
        return tuple(spans)
