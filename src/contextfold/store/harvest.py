"""What a person said that is worth remembering beyond one conversation, found by rules and without a model.

Standing orders, preferences and decisions, sentence by sentence, and only in what people typed: neither in tools'
results, native or written as text, nor in what their client added, nor in code. A rule that misses is better than one
that remembers noise, so the words have to say it plainly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from contextfold.deferred import expression
from contextfold.domain import Message, Provenance, Text, spoken_in

HarvestedKind: TypeAlias = Literal["preference", "decision", "procedure"]


class Harvested(NamedTuple):
    """A sentence worth remembering, of which kind, and who could have said it."""

    text: str
    kind: HarvestedKind
    speaker: Provenance


LEAST, MOST = 8, 300  # characters of a sentence that can stand alone
_ENDS: Final = expression(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_MARKUP: Final = ("<", "{", "/", "`", "|", "$")
_BULLETS: Final = " \t-*>#•・"
# In order: the first that matches says the kind.
_RULES: Final[tuple[tuple[re.Pattern[str], HarvestedKind], ...]] = (
    (
        expression(
            r"\b(?:we|i) (?:have )?(?:decided|chose|agreed|settled)\b|\bdecision:"
            r"|に決めました|に決めた|ことにしました|に決定",
            re.IGNORECASE,
        ),
        "decision",
    ),
    (
        expression(
            r"\b(?:i|we) (?:always )?(?:prefer|like|want you to)\b|の方が好き|が好みです|好きです", re.IGNORECASE
        ),
        "preference",
    ),
    (
        expression(
            r"\b(?:from now on|in future|in the future|always|never|every time|whenever)\b"
            r"|今後は|必ず|常に|絶対に|いつも|毎回",
            re.IGNORECASE,
        ),
        "procedure",
    ),
)


def harvested(
    message: Message, tools: Mapping[str, str] | None = None, *, is_first: bool = False
) -> Iterator[Harvested]:
    """The sentences of a message that are worth remembering, each with its kind.

    `tools` are the names of the tools by the ids of their calls; `is_first` says that the model has not spoken yet.
    """
    if message.role != "user":
        return
    for speaker, text, place in spoken_in(message, tools, is_first=is_first):
        if speaker.is_person and isinstance(message.blocks[place], Text):
            yield from (Harvested(sentence, kind, speaker) for sentence, kind in _of_text(text))


def _of_text(text: str) -> Iterator[tuple[str, HarvestedKind]]:
    for place, part in enumerate(text.split("```")):
        if place % 2:  # between two fences
            continue
        for raw in _ENDS.split(part):
            sentence = raw.strip(_BULLETS)
            kind = kind_of(sentence) if LEAST <= len(sentence) <= MOST and not sentence.startswith(_MARKUP) else None
            if kind is not None:
                yield sentence, kind


def kind_of(sentence: str) -> HarvestedKind | None:
    """What kind of memory a sentence is; None where it is a question, or nothing to remember."""
    if sentence.endswith(("?", "？", "か。")):
        return None
    return next((kind for pattern, kind in _RULES if pattern.search(sentence)), None)
