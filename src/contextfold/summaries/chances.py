"""The chance that a term is needed again, from how it was used so far, and what that makes of whole messages.

A logistic of a few plain facts, fitted on recorded agent runs: how long ago it was seen, whether the assistant itself
used it, how often, and what the last requests were about. No words are preferred over others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log1p
from typing import NamedTuple

from .passages import DigestLine, HistoryPassage, Topic, history_of, lines_of
from .request import SourceMessage
from .terms import Term, sub_words, terms_in

_BYTES_A_TOKEN = 4
DEFINES = re.compile(
    r"^\s*(?:export\s+|pub(?:lic)?\s+|private\s+|static\s+|async\s+|default\s+)*"
    r"(?:def|class|func|fn|type|interface|struct|enum|const|let|var|function|trait|impl|module)\b|^\s*[\w.]+\s*:?=\s"
)


@dataclass(slots=True)
class TermUse:
    """How one term was used."""

    seen: float = 0.0  # position, in thousands of tokens, of its last appearance
    used: float = -1.0  # of the assistant's last use; negative if it never did
    uses: int = 0  # passages of the assistant that have it
    appearances: int = 0  # passages that have it
    by_user: bool = False
    defined: bool = False
    in_heading: bool = False
    in_last_words: bool = False
    crowd: int = 1_000_000  # terms in the least crowded passage that has it


class Asked(NamedTuple):
    """What the last requests were about."""

    terms: frozenset[Term]
    words: frozenset[str]


def records(lines: Sequence[DigestLine]) -> tuple[dict[Term, TermUse], float]:
    """The record of every term, and the position where the history ends."""
    found: dict[Term, TermUse] = {}
    position = 0.0
    headed: set[tuple[Topic, int]] = set()
    names: dict[Topic, set[Term]] = {}
    for passage, own in _by_passage(lines):
        position += len(passage.text.encode("utf-8", "surrogatepass")) / _BYTES_A_TOKEN / 1_000
        here: set[Term] = set()
        for line in own:
            here.update(line.terms)
        for term in here:
            _note(found.setdefault(term, TermUse()), passage, position, len(here))
        topic = passage.topic
        if topic is not None and (topic, passage.seq) not in headed:
            headed.add((topic, passage.seq))
            for term in names.setdefault(topic, terms_in(topic.name)):
                record = found.setdefault(term, TermUse())
                record.in_heading, record.seen, record.used = True, position, position
                record.uses += 1
                record.crowd = min(record.crowd, 3)
    _mark_definitions(lines, found)
    _mark_last_words(lines, found)
    return found, position


def chances(lines: Sequence[DigestLine], wanted: str) -> dict[Term, float]:
    """For each term the chance that it is needed again; `wanted` is what the user said last."""
    found, end = records(lines)
    asked = Asked(frozenset(terms_in(wanted)), sub_words(wanted))
    return {term: chance(term, record, end, asked) for term, record in found.items()}


def chance(term: Term, record: TermUse, end: float, asked: Asked) -> float:
    """How likely it is that this term is needed again, from 0 to 1: a logistic of how it was used."""
    logit = _START - 0.43 * log1p(end - record.seen) - 0.2 * log1p(record.crowd)
    if record.used >= 0:
        logit += 1.6 - 0.2 * log1p(end - record.used)
    logit += 0.08 * log1p(record.appearances) + 0.1 * log1p(record.uses) + 0.15 * record.defined
    logit += 0.6 * record.by_user + 0.3 * record.in_last_words + 0.4 * record.in_heading
    logit += _KIND.get(term.kind, 0.0)
    if "/" in term.key:
        logit += 0.75
    if term in asked.terms:
        logit += 1.0
    words = sub_words(term.key)
    if words:
        logit += 0.55 * len(words & asked.words) / len(words)
    return 1 / (1 + exp(-logit))


_START = -2.95
_KIND = {"path": -0.3, "hash": 0.4, "url": -1.2, "number": -0.9, "error": -0.2, "quoted": -0.2}


def word_chances(lines: Sequence[DigestLine], wanted: str) -> dict[str, float]:
    """The chance that a rare plain word is said again: what was talked about has words that are no names."""
    seen: dict[str, list[float]] = {}  # passages with it, position last said by the assistant
    position = 0.0
    for passage, own in _by_passage(lines):
        position += len(passage.text.encode("utf-8", "surrogatepass")) / _BYTES_A_TOKEN / 1_000
        for word in {word for line in own for word in plain_words(line.text)}:
            entry = seen.setdefault(word, [0, -1.0])
            entry[0] += 1
            if passage.speaker == "assistant":
                entry[1] = position
    asked = set(plain_words(wanted))
    return {
        word: 1 / (1 + exp(3.6 - (2.4 - 0.45 * log1p(position - said) if said >= 0 else 0) - 1.4 * (word in asked)))
        for word, (passages, said) in seen.items()
        if passages <= _RARE
    }


def plain_words(text: str) -> list[str]:
    """The words of a text that may say something: Latin ones of some length, katakana, kanji."""
    return _WORDS.findall(text.lower())


_RARE = 6
_WORDS = re.compile(r"[a-z]{5,}|[ァ-ヶー]{3,}|[一-鿿々]{2,}")


def _by_passage(lines: Iterable[DigestLine]) -> Iterable[tuple[HistoryPassage, list[DigestLine]]]:
    own: list[DigestLine] = []
    for line in lines:
        if own and own[0].passage is not line.passage:
            yield own[0].passage, own
            own = []
        own.append(line)
    if own:
        yield own[0].passage, own


def _note(record: TermUse, passage: HistoryPassage, position: float, crowd: int) -> None:
    record.seen = position
    record.appearances += 1
    record.crowd = min(record.crowd, crowd)
    if passage.speaker in ("assistant", "call"):
        record.used = position
        record.uses += 1
    elif passage.speaker == "user":
        record.by_user = True


def _mark_definitions(lines: Sequence[DigestLine], found: dict[Term, TermUse]) -> None:
    for line in lines:
        if line.terms and DEFINES.match(line.text):
            for term in line.terms:
                found[term].defined = True


def _mark_last_words(lines: Sequence[DigestLine], found: dict[Term, TermUse]) -> None:
    last = next((line.passage for line in reversed(lines) if line.passage.speaker == "assistant"), None)
    for line in reversed(lines):
        if last is not None and line.passage.order < last.order:
            break
        if line.passage is last:
            for term in line.terms:
                found[term].in_last_words = True


# -- whole messages ---------------------------------------------------------------------------------------------------

_HALF = 0.001  # expected uses for each character at which a message is worth half of the most


def reuse(sources: Iterable[SourceMessage]) -> dict[int, float]:
    """For each seq from 0 to 1; what says nothing has no entry."""
    history = history_of(sources)
    lines = lines_of(history.passages)
    wanted = "\n".join([passage.text for passage in history.passages if passage.speaker == "user"][-2:])
    chance = chances(lines, wanted)
    newest = {term: line.passage.seq for line in lines for term in line.terms}
    gains: dict[int, float] = {}
    for term, seq in newest.items():
        gains[seq] = gains.get(seq, 0.0) + chance[term]
    sizes = _sizes(lines)
    return {
        seq: density / (density + _HALF) for seq, size in sizes.items() for density in (gains.get(seq, 0.0) / size,)
    }


def _sizes(lines: Iterable[DigestLine]) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for line in lines:
        sizes[line.passage.seq] = sizes.get(line.passage.seq, 0) + len(line.text)
    return sizes
