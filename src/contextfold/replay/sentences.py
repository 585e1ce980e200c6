"""The user's own sentences, which of them are orders, and which of those a view still holds.

Kept means verbatim, or eight of ten words in one sentence of comparable length. Presence is measured, not obedience.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

MOST = 400  # of the newest sentences are looked at
MOST_UNITS = 4_000  # of new text are compared
ALIKE = 0.8

_ENDS = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"\w+")
_NOT_SAID = (("```", "```"), ("<system-reminder>", "</system-reminder>"))  # what stands between is not typed
_OPENS = re.compile("|".join(opening for opening, _ in _NOT_SAID))
_OPENINGS = (
    "please|can you|could you|let'?s|don'?t|do not|never|always|make sure|ensure|use|add|remove|fix|run|check|write|"
    "read|create|update|change|move|keep|look|implement|review|rename|delete|commit|push|test|try|stop|continue|show|find|"
    "explain|investigate|refactor|undo|revert|merge|rebase|ask|tell|put|avoid|leave|start|go|give|take|set|replace|open"
)
_ANYWHERE = "should|must|need to|needs to|have to|want|don'?t|do not|never|always|make sure|instead|only|please|without"
_ORDER = re.compile(rf"\A(?:(?:{_OPENINGS})\b|.*?\b(?:{_ANYWHERE})\b)", re.IGNORECASE | re.DOTALL)


class Sentence(NamedTuple):
    """One sentence a person typed, and the block it stands in: message and block, from 0."""

    place: tuple[int, int]
    text: str
    is_order: bool


def sentences_in(text: str, place: tuple[int, int]) -> list[Sentence]:
    """The sentences of one block that people typed."""
    found = []
    for raw in _ENDS.split(_said(text)):
        sentence = raw.strip(" \t-*>#")
        if 4 <= len(_WORD.findall(sentence)) <= 60 and not sentence.startswith(("/", "<", "{")):
            found.append(Sentence(place, sentence, _ORDER.match(sentence) is not None))
    return found


def _said(text: str) -> str:
    """The text without code and reminders. What is opened and never closed stays, and is looked for only once."""
    closings, unclosed = dict(_NOT_SAID), set[str]()
    parts, at = [], 0
    for opening in _OPENS.finditer(text):
        if opening.start() < at or opening.group() in unclosed:
            continue
        closing = closings[opening.group()]
        end = text.find(closing, opening.end())
        if end < 0:
            unclosed.add(opening.group())
            continue
        parts.append(text[at : opening.start()])
        at = end + len(closing)
    return " ".join((*parts, text[at:]))


def orders_kept(sentences: Sequence[Sentence], in_view: Collection[tuple[int, int]], added: str) -> tuple[int, int]:
    """How many orders are in view, and how many there are. `added` is the text that is nobody's message."""
    flat = _flat(added)
    units = [set(_WORD.findall(unit.lower())) for unit in _ENDS.split(added) if unit.strip()][:MOST_UNITS]
    orders = [sentence for sentence in sentences if sentence.is_order]
    kept = [
        sentence
        for sentence in orders
        if sentence.place in in_view or _flat(sentence.text) in flat or _is_paraphrased(sentence.text, units)
    ]
    return len(kept), len(orders)


def _is_paraphrased(sentence: str, units: Sequence[set[str]]) -> bool:
    words = set(_WORD.findall(sentence.lower()))
    least = ALIKE * len(words)
    return any(len(words & unit) >= least for unit in units if least <= len(unit) <= 3 * len(words) + 10)


def _flat(text: str) -> str:
    return " ".join(text.lower().split())
