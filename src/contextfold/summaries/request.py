"""What is to be summarized: the one input of the digest, the prompt and the checks.

A previous summary is an input of its own, never one of the messages, so that each summary updates the last one instead
of summarizing it again. Nothing here reads a thread: whoever folds chooses the sources, and each source once.
"""

from __future__ import annotations

from dataclasses import dataclass

from contextfold.domain import Message

from .language import Language


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """A message that is about to be folded away, and the place it can be recalled from."""

    seq: int
    message: Message


@dataclass(frozen=True, slots=True)
class SummaryRequest:
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
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The seqs of the sources, neighbours joined, inclusive."""
        spans: list[tuple[int, int]] = []
        for seq in sorted({source.seq for source in self.sources}):
            if spans and seq == spans[-1][1] + 1:
                spans[-1] = (spans[-1][0], seq)
            else:
                spans.append((seq, seq))
        return tuple(spans)
