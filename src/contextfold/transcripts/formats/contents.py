"""Gemini contents (`role` and `parts`) as messages in Anthropic's form; the contents themselves are kept beside them.

Calls often have no id there: results are paired with them by the function's name, in order, as the API does. Thoughts
are bound to their provider and stay in the original.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Any

from contextfold.domain import is_typed
from contextfold.transcripts.facts import call_id, flat, input_object, spelled, word
from contextfold.transcripts.rows import JsonRow, Read
from contextfold.transcripts.session import Recorded, Skipped
from contextfold.transcripts.source import Source
from contextfold.transcripts.speech import Heard, SpokenTurn, call, message, picture, result, text

_RESPONSE = ("output", "content", "result", "error")


def is_content(value: object) -> bool:
    """Whether a value is a Gemini content."""
    return isinstance(value, dict) and isinstance(value.get("parts"), list) and "content" not in value


class Contents:
    """Contents coming in one by one, with the calls that are still open by name."""

    def __init__(self) -> None:
        self._open: dict[str, deque[str]] = defaultdict(deque)

    def heard(self, source: Source, reads: Iterable[Read]) -> Iterator[Heard]:
        for read in reads:
            if not isinstance(read, JsonRow):
                yield read
            elif not is_content(read.value):
                yield from source.damage(read.line, "a content without parts")
            else:
                yield self.take(read)

    def take(self, row: JsonRow, at: float | None = None) -> Heard:
        role = "assistant" if row.value.get("role") == "model" else "user"
        parts = [part for part in row.value["parts"] if isinstance(part, dict)]
        calls: list[str] = []
        answers: list[str] = []
        blocks = [
            block
            for index, part in enumerate(parts)
            if (block := self._block(part, f"{row.line}_{index}", calls, answers)) is not None
        ]
        if not blocks:
            return Skipped(row.line, "empty")
        typed = role == "user" and not answers and any(is_typed(word(part.get("text"))) for part in parts)
        turn = Recorded(message(role, blocks), (row.line,), at, human=typed, original=row.raw)
        return SpokenTurn(turn, tuple((id, row.line) for id in calls), tuple((id, row.line) for id in answers))

    def _block(self, part: dict[str, Any], place: str, calls: list[str], answers: list[str]) -> bytes | None:
        match part:
            case {"thought": True}:
                return None
            case {"functionCall": dict(asked)}:
                name = word(asked.get("name"))
                id = call_id(asked.get("id") or f"call_{place}")
                calls.append(id)
                self._open[name].append(id)
                return call(id, name, input_object(asked.get("args")))
            case {"functionResponse": dict(answer)}:
                id = self._answered(answer, place)
                answers.append(id)
                return result(id, _response(answer.get("response")))
            case {"inlineData": {"mimeType": str(media_type), "data": str(data)}}:
                return picture(f"data:{media_type};base64,{data}")
            case {"text": str(words)}:
                return text(words) if words.strip() else None
            case _:
                return text(spelled(part)) if part else None

    def _answered(self, answer: dict[str, Any], place: str) -> str:
        """The id of the call that a response answers: its own, or that of the oldest open call of this name."""
        waiting = self._open[word(answer.get("name"))]
        if answer.get("id"):
            id = call_id(answer["id"])
            if id in waiting:
                waiting.remove(id)
            return id
        return waiting.popleft() if waiting else call_id(f"answer_{place}")


def _response(response: object) -> str:
    """A function's response as text: the text in it where it is only a wrapper, else its JSON."""
    if isinstance(response, dict) and len(response) == 1:
        (name, value), *_ = response.items()
        if name in _RESPONSE and isinstance(value, str):
            return value
    return response if isinstance(response, str) else spelled(response) if response else flat(response)
