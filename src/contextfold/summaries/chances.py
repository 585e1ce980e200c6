"""The chance that a term is needed again, from how it was used so far.

A logistic of a few plain facts, fitted on recorded agent runs: how long ago it was seen, whether the assistant itself
used it, how often, and what the last requests were about. No words are preferred over others. The facts are gathered
passage by passage, so that one more costs what it says; a chance is worked out when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from math import exp, log, log1p
from typing import Any

from msgspec import Struct

from contextfold.deferred import expression

from .journal import Journal, put
from .lines import Term, sub_words, terms_in
from .passages import HistoryPassage, Topic

_BYTES_A_TOKEN = 4


class TermUse(Struct, eq=False, gc=False):
    """How one term was used."""

    seen: int = 0  # the message of its last appearance, by its number among those read
    used: float = -1.0  # position, in thousands of tokens, of the assistant's last use; negative if it never did
    uses: int = 0  # passages of the assistant that have it
    appearances: int = 0  # passages that have it
    by_user: bool = False
    crowd: int = 1_000_000  # terms in the least crowded passage that has it
    traits: tuple[float, bool, tuple[str, ...]] | None = None  # of its name alone, once somebody asked for them

    def state(self) -> tuple[Any, ...]:
        return self.seen, self.used, self.uses, self.appearances, self.by_user, self.crowd

    def restore(self, state: tuple[Any, ...]) -> None:
        self.seen, self.used, self.uses, self.appearances, self.by_user, self.crowd = state

    def look_at(self, term: Term) -> tuple[float, bool, tuple[str, ...]]:
        """What its kind adds to its chance, whether it is a path of several parts, and the words in it."""
        self.traits = _KIND.get(term.kind, 0.0), "/" in term.key, _words_in(term.key)
        return self.traits

    def head(self, message: int, position: float) -> None:
        """It stands in the name of the file or command that a passage is about."""
        self.seen, self.used = message, position
        self.uses += 1
        self.crowd = min(self.crowd, 3)


class TermUses:
    """How terms and rare words were used, up to some passage."""

    def __init__(self) -> None:
        self.terms: dict[Term, TermUse] = {}
        self.words: dict[str, tuple[int, float]] = {}  # passages with it, position last said by the assistant
        self.position = 0.0  # where the history ends, in thousands of tokens
        self.messages = 0  # that were read
        self._seq = -1  # of the last of them
        self._journal: Journal | None = None
        self._headed: tuple[int, frozenset[Topic]] = (0, frozenset())  # of one message

    def write_to(self, journal: Journal | None) -> None:
        """Tell this journal from now on what changes."""
        self._journal = journal

    def state(self) -> tuple[Any, ...]:
        return self.position, self.messages, self._seq, self._headed

    def restore(self, state: tuple[Any, ...]) -> None:
        self.position, self.messages, self._seq, self._headed = state

    def read(self, passage: HistoryPassage, terms: Collection[Term], words: Collection[str]) -> None:
        """One more passage, with what its lines name, and their plain words."""
        if self._journal is not None:
            self._journal.changes(self)
        self.position += len(passage.text.encode("utf-8", "surrogatepass")) / _BYTES_A_TOKEN / 1_000
        if passage.seq != self._seq:
            self.messages, self._seq = self.messages + 1, passage.seq
        by_model, by_user = passage.speaker.is_model and passage.kind != "previous", passage.speaker.is_person
        crowd = len(terms)
        for term in terms:
            use = self._record(term)
            use.seen = self.messages
            use.appearances += 1
            if crowd < use.crowd:
                use.crowd = crowd
            if by_model:
                use.used = self.position
                use.uses += 1
            elif by_user:
                use.by_user = True
        topic = passage.topic
        if topic is not None:
            headed = self._headed[1] if self._headed[0] == passage.seq else frozenset()
            for term in () if topic in headed else topic.terms:
                self._record(term).head(self.messages, self.position)
            self._headed = passage.seq, headed | {topic}
        known, position, is_said = self.words, self.position, passage.is_models_speech
        before = None if self._journal is None else self._journal.before(known)
        for word in words:
            entry = known.get(word)
            if before is not None and word not in before:
                before[word] = entry
            passages, said = entry or _UNSAID
            known[word] = passages + 1, position if is_said else said

    def forget(self, most: int, needed: Collection[Term]) -> None:
        """Keep the terms that lines still name, and as many of the newest others as there is room for."""
        if len(self.terms) > most:
            others = sorted((use.seen, term) for term, use in self.terms.items() if term not in needed)
            for _, term in others[: len(self.terms) - most]:
                del self.terms[term]
        if len(self.words) > most:  # dictionaries keep the order in which words were first said
            for word in list(self.words)[: len(self.words) - most]:
                del self.words[word]

    def _record(self, term: Term) -> TermUse:
        record = self.terms.get(term)
        if record is None:
            record = TermUse()
            put(self._journal, self.terms, term, record)
        elif self._journal is not None:
            self._journal.changes(record)
        return record


class Chances(dict[Term, float]):
    """For each term the chance that it is needed again, from 0 to 1; `wanted` is what the user said last."""

    def __init__(self, uses: TermUses, wanted: str, last_words: Collection[Term] = ()) -> None:
        super().__init__()
        self._uses, self._last_words = uses, last_words
        self._asked, self._asked_words = terms_in(wanted), sub_words(wanted)

    def __missing__(self, term: Term) -> float:
        self.weigh((term,))
        return self[term]

    def weigh(self, terms: Iterable[Term]) -> None:
        """Work these out: a logistic of how each was used.

        Asked of every term for each digest, so it computes only what adds something. A term's age is that of its
        message: a step of thousands of tokens is one step, and what it brought is as fresh.
        """
        known, messages, position = self._uses.terms, self._uses.messages, self._uses.position
        last_words, asked, asked_words = self._last_words, self._asked, self._asked_words
        for term in terms:
            use = known.get(term)
            if use is None:
                self[term] = 0.0
                continue
            logit = _START - 0.37 * log(1 + messages - use.seen) - 0.28 * log1p(use.crowd)
            if use.used >= 0:
                logit += 1.8 - 0.28 * log1p(position - use.used)
            logit += 0.2 * log1p(use.uses) - 0.5 if use.appearances <= 1 else 0.2 * log1p(use.uses)
            in_last_words = term in last_words
            if use.by_user or in_last_words:
                logit += 0.1 * use.by_user + 0.3 * in_last_words
            kind, is_path, words = use.traits or use.look_at(term)
            logit += kind
            if is_path:
                logit += 1.1
            if term in asked:
                logit += 1.1
            if not asked_words.isdisjoint(words):
                logit += 0.65 * len(asked_words.intersection(words)) / len(words)
            self[term] = 1 / (1 + exp(-logit))


class WordChances(dict[str, float]):
    """The chance that a plain word is said again; 0 unless it is rare: talk has words that are no names."""

    def __init__(self, uses: TermUses, wanted: str) -> None:
        super().__init__()
        self._uses, self._asked = uses, frozenset(plain_words(wanted))

    def weigh(self, words: Iterable[str]) -> None:
        """Work these out."""
        known, position, asked = self._uses.words, self._uses.position, self._asked
        for word in words:
            passages, said = known.get(word, _UNSAID)
            if 0 < passages <= _RARE:
                recent = 2.4 - 0.45 * log1p(position - said) if said >= 0 else 0
                self[word] = 1 / (1 + exp(3.6 - recent - 1.4 * (word in asked)))
            else:
                self[word] = 0.0


_START = -2.2
_KIND = {"path": -0.65, "hash": 0.5, "url": -2.0, "number": -0.6, "error": -0.15, "quoted": -0.35}


@lru_cache(maxsize=50_000)
def _words_in(key: str) -> tuple[str, ...]:
    """As a tuple of texts, which the garbage collector does not follow: tens of thousands are held for good."""
    return tuple(sub_words(key))


def plain_words(text: str) -> list[str]:
    """The words of a text that may say something: Latin ones of some length, katakana, kanji."""
    return _WORDS.findall(text.lower())


_RARE = 6
_UNSAID = 0, -1.0
_WORDS = expression(r"[a-z]{5,}|[ァ-ヶー]{3,}|[一-鿿々]{2,}")
