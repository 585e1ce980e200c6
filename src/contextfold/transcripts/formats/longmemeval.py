"""LongMemEval: questions about a person's past conversations, which come with the question.

A question's conversations are one recording, in their order: together they are what a memory has to hold. The
question, its answer and where the evidence is are the recording's details.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Raw

from contextfold.transcripts.pairs import settled
from contextfold.transcripts.sample import Sample
from contextfold.transcripts.session import Recorded, Recording, Skipped
from contextfold.transcripts.source import JsonRow, Source, assembled, elements, listed
from contextfold.transcripts.speech import Heard, portable, spoken, unsound, word

from .records import inner, is_silent, recordings

NAME = "longmemeval"
_FACTS = ("question", "answer", "question_type", "question_date", "answer_session_ids", "haystack_session_ids")
_SESSIONS = "haystack_sessions"


class LongMemEval:
    """The reader of `longmemeval_*.json`."""

    __slots__ = ()
    name = NAME

    def claims(self, sample: Sample) -> bool:
        return _SESSIONS in sample.first_item() or _SESSIONS in sample.object

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        items: Sequence[bytes | Raw] = sample.items or (assembled(sample.object),)
        return recordings(source, NAME, items, _SESSIONS, lambda row: _question(source, row))


def _question(source: Source, row: JsonRow) -> Recording:
    id = word(row.value.get("question_id"))
    facts: dict[str, Any] = {name: row.value[name] for name in _FACTS if name in row.value}
    given = inner(row.raw, _SESSIONS)
    sessions = [elements(session) if bytes(memoryview(session)[:1]) == b"[" else () for session in given]
    places = [turn for session in row.value[_SESSIONS] if isinstance(session, list) for turn in session]
    facts["evidence"] = [n for n, turn in enumerate(places, 1) if isinstance(turn, dict) and turn.get("has_answer")]
    dates = row.value.get("haystack_dates")
    times = [_when(date) for date in dates] if isinstance(dates, list) else []
    dated = [
        (turn, times[number] if number < len(times) else None)
        for number, session in enumerate(sessions)
        for turn in session
    ]
    return Recording(f"{source.name}#{row.line}", NAME, id, "", lambda: settled(_heard(source, dated)), facts)


def _when(date: object) -> float | None:
    """Dates are written like `2023/05/20 (Sat) 02:21`."""
    try:
        return datetime.strptime(" ".join(word(date).split()[::2]), "%Y/%m/%d %H:%M").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _heard(source: Source, dated: Sequence[tuple[Raw, float | None]]) -> Iterator[Heard]:
    for read in listed(source, [turn for turn, _ in dated]):
        if not isinstance(read, JsonRow):
            yield read
        elif reason := unsound(read.value):
            yield from source.damage(read.line, reason)
        elif is_silent(read.value):
            yield Skipped(read.line, "empty")
        else:
            raw, original = portable(read.raw)
            human = read.value.get("role") == "user"
            at = dated[read.line - 1][1]
            yield spoken(Recorded(raw, (read.line,), at, human=human, original=original), read.value)
