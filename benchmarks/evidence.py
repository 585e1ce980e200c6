"""`select(turns, question, budget)`: what recall shows of any conversation between people.

Turns may come as they are written elsewhere: dicts, dataclasses or other objects, whole conversations in LoCoMo's own
shape. `docs/recall.md` says which names are understood. Everything that ranks is the library's own.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any, NamedTuple

import apsw

from contextfold import tokens
from contextfold.domain import Message, Text
from contextfold.recall import index, words
from contextfold.recall.search import asked_again, called, named, ranked

_ID = ("id", "dia_id", "turn_id", "uid", "seq")
_TEXT = ("text", "content", "utterance", "message", "clean_text")
_SPEAKER = ("speaker", "role", "name", "author")
_SESSION = ("session", "session_id", "session_number", "session_num", "sitting")
_DATE = (
    "date",
    "session_date_time",
    "session_date",
    "session_datetime",
    "date_time",
    "datetime",
    "timestamp",
    "time",
    "at",
)
_CAPTION = ("blip_caption", "caption", "image_caption", "img_caption")
_IN_SESSION = re.compile(r"[A-Za-z]*(\d+):\d+")  # D3:7, as LoCoMo numbers turns
_A_SESSION = re.compile(r"session_(\d+)")

counter = tokens.counter_for(None)


def counted(text: str) -> int:
    return counter.block_tokens(counter.shape(Message("user", (Text(text),))).blocks[0].measure)


class SpokenTurn(NamedTuple):
    """What somebody said, where and when."""

    id: Any
    text: str
    speaker: str = ""
    session: Hashable = None
    date: str = ""


def select(turns: object, question: str, budget: int) -> list[Any]:
    """The turns that recall shows for a question within a budget of tokens: their ids as given, in order."""
    return _indexed(tuple(spoken(turns))).select(question, budget)


def spoken(turns: object) -> Iterator[SpokenTurn]:
    """Turns in any shape, as turns of ours; those without an id are numbered from 0."""
    for place, turn in enumerate(_listed(turns)):
        yield turn if isinstance(turn, SpokenTurn) else _turn(turn, place)


def _listed(turns: object) -> Iterable[object]:
    """A whole conversation in LoCoMo's shape as its turns, each with its session and the date of that."""
    if not isinstance(turns, Mapping):
        yield from turns  # type: ignore[misc]  # the caller's promise: something to iterate
        return
    told: Mapping[str, Any] = turns.get("conversation", turns)
    numbers = sorted(int(found[1]) for found in map(_A_SESSION.fullmatch, told) if found)
    for number in numbers:
        shared = {"session": number, "date": told.get(f"session_{number}_date_time", "")}
        yield from ({**shared, **turn} for turn in told[f"session_{number}"])


def _turn(turn: Any, place: int) -> SpokenTurn:
    if isinstance(turn, str):
        return SpokenTurn(place, turn)
    name = _value(turn, _ID, place)
    told = _IN_SESSION.fullmatch(str(name))
    when = _value(turn, _DATE, "")
    shown = [_written(_value(turn, _TEXT, "")), str(_value(turn, _CAPTION, ""))]
    session = _value(turn, _SESSION, told[1] if told else str(when))
    text = " ".join(part for part in shown if part)
    return SpokenTurn(name, text, str(_value(turn, _SPEAKER, "")), str(session), _dated(when))


def _value(turn: Any, names: Sequence[str], otherwise: Any) -> Any:
    """The first of these fields that a turn has, whether it is a mapping or an object."""
    found = (turn.get(name) if isinstance(turn, Mapping) else getattr(turn, name, None) for name in names)
    return next((value for value in found if value is not None and not callable(value)), otherwise)


def _written(content: object) -> str:
    """The words of a text, or of a list of blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list | tuple) else [content]
    return " ".join(str(_value(block, ("text",), "")) for block in blocks)


def _dated(when: object) -> str:
    """A date as words; seconds since 1970 are one, too."""
    if isinstance(when, int | float):
        return datetime.fromtimestamp(when, UTC).isoformat()
    return when.isoformat() if isinstance(when, date) else str(when)


class Evidence:
    """Turns of people, indexed as a thread's messages are."""

    def __init__(self, turns: Sequence[SpokenTurn]) -> None:
        self.turns = turns
        self.connection = apsw.Connection(":memory:")
        index.RecallIndex(lambda *_: None).install(self.connection)
        sessions: dict[Hashable, int] = {}
        self.places: dict[int, index.Found] = {}
        for place, turn in enumerate(turns):
            dates = words.date_terms(turn.date) or tuple(words.terms(turn.date))
            said = index.encoded(1, words.kept_terms(turn.text))
            index.insert(self.connection, place, said, index.encoded(1, dates))
            sitting = sessions.setdefault(turn.session, len(sessions))
            self.places[place] = index.Found(place, place, 0, 0, sitting, turn.speaker.lower())
        self.sizes = [counted(f"{turn.speaker}: {turn.text}") for turn in turns]
        self.speakers = {place.speaker for place in self.places.values()}
        self.names = frozenset(term for speaker in self.speakers for term in words.terms(speaker))

    def ranked(self, question: str) -> list[int]:
        """Every turn, best first: what matches, then the named speaker's, then the newest."""
        meant = named(question, self.speakers)
        rest = sorted(range(len(self.turns) - 1, -1, -1), key=lambda place: self.places[place].speaker not in meant)
        return list(dict.fromkeys([*self.matching(question), *rest]))

    def matching(self, question: str) -> dict[int, float]:
        """The turns that hold words of a question, or stand beside one that does, best first, with their scores."""
        meant = named(question, self.speakers)
        names = frozenset[str]().union(*(called(speaker, question) for speaker in self.speakers))
        asked = words.asked_terms(question, names)
        scores: Mapping[int, float] = self._ask(asked)
        best = next(iter(ranked(scores, self.places, meant)), None)
        if best is not None:
            scores = asked_again(scores, self.turns[best].text, {*asked, *self.names}, self._ask)
        return ranked(scores, self.places, meant)

    def _ask(self, terms: Sequence[str]) -> dict[int, float]:
        return index.IndexReader(self.connection).matches(1, terms, None, len(self.turns))

    def select(self, question: str, budget: int) -> list[Any]:
        chosen = []
        for place in self.ranked(question):
            if self.sizes[place] <= budget:
                chosen.append(place)
                budget -= self.sizes[place]
        return [self.turns[place].id for place in sorted(chosen)]


@lru_cache(maxsize=4)
def _indexed(turns: tuple[SpokenTurn, ...]) -> Evidence:
    """Many questions are asked of one conversation."""
    return Evidence(turns)
