"""What a person said that is worth remembering beyond one conversation, found by rules and without a model.

Standing orders, preferences and decisions, sentence by sentence, and only in what people typed: neither in tools'
results nor in code. A rule that misses is better than one that remembers noise, so the words have to say it plainly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from contextfold.deferred import expression
from contextfold.domain import Message, Text

Harvested: TypeAlias = Literal["preference", "decision", "procedure"]

LEAST, MOST = 8, 300  # characters of a sentence that can stand alone
_ENDS: Final = expression(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_MARKUP: Final = ("<", "{", "/", "`", "|", "$")
_BULLETS: Final = " \t-*>#•・"
# In order: the first that matches says the kind.
_RULES: Final[tuple[tuple[re.Pattern[str], Harvested], ...]] = (
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


def harvested(message: Message) -> Iterator[tuple[str, Harvested]]:
    """The sentences of a message that are worth remembering, each with its kind."""
    if message.role != "user":
        return
    for block in message.blocks:
        if isinstance(block, Text):
            yield from _of_text(block.text)


def _of_text(text: str) -> Iterator[tuple[str, Harvested]]:
    for place, part in enumerate(text.split("```")):
        if place % 2:  # between two fences
            continue
        for raw in _ENDS.split(part):
            sentence = raw.strip(_BULLETS)
            kind = kind_of(sentence) if LEAST <= len(sentence) <= MOST and not sentence.startswith(_MARKUP) else None
            if kind is not None:
                yield sentence, kind


def kind_of(sentence: str) -> Harvested | None:
    """What kind of memory a sentence is; None where it is a question, or nothing to remember."""
    if sentence.endswith(("?", "？", "か。")):
        return None
    return next((kind for pattern, kind in _RULES if pattern.search(sentence)), None)
