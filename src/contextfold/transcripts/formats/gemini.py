"""Gemini histories: files with a `history` of contents, and the chats that the Gemini CLI records.

In a recorded chat, a message of the model's holds its calls together with their results; the results become the
user's turn that follows. Thoughts are bound to their provider and stay in the original.

Gemini contents (`role` and `parts`) as messages in Anthropic's form; the contents themselves are kept beside them.

Calls often have no id there: results are paired with them by the function's name, in order, as the API does. Thoughts
are bound to their provider and stay in the original.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Raw

from contextfold.domain import is_typed
from contextfold.transcripts.pairs import settled
from contextfold.transcripts.sample import Sample, plain
from contextfold.transcripts.session import Recorded, Recording, Skipped
from contextfold.transcripts.source import JsonRow, Read, Source, listed
from contextfold.transcripts.speech import (
    Heard,
    SpokenTurn,
    billed_with_cache_inside,
    call,
    call_id,
    document,
    flat,
    input_object,
    kind,
    message,
    picture,
    result,
    spelled,
    text,
    when,
    word,
)

from .records import listed_in

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
            if (block := self._block(part, f"{row.line}_{index}", calls, answers, role)) is not None
        ]
        if not blocks:
            return Skipped(row.line, "empty")
        typed = role == "user" and not answers and any(is_typed(word(part.get("text"))) for part in parts)
        turn = Recorded(message(role, blocks), (row.line,), at, human=typed, original=row.raw)
        return SpokenTurn(turn, tuple((id, row.line) for id in calls), tuple((id, row.line) for id in answers))

    def _block(self, part: dict[str, Any], place: str, calls: list[str], answers: list[str], role: str) -> bytes | None:
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
                unread = document if role == "user" else text  # what nobody typed
                return unread(spelled(part)) if part else None

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


NAME = "gemini"
_FACTS = ("scenarioId", "description", "questions")


class GeminiSessions:
    """The reader of Gemini histories and of `~/.gemini/tmp/*/chats/*.json`."""

    __slots__ = ()
    name = NAME

    def claims(self, sample: Sample) -> bool:
        if {"sessionId", "messages"} <= sample.object.keys():
            return _first(sample.object, "messages").get("type") in ("user", "gemini", "info", "error", "warning")
        return is_content(_first(sample.object, "history"))

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        parts = sample.object
        if "history" in parts:
            items = listed_in(parts, "history")
            facts = {name: plain(parts[name]) for name in _FACTS if name in parts}
            yield Recording(
                source.name,
                NAME,
                word(facts.get("scenarioId")),
                "",
                lambda: settled(Contents().heard(source, listed(source, items))),
                facts,
            )
        else:
            said = listed_in(parts, "messages")
            id = word(plain(parts["sessionId"]))
            yield Recording(source.name, NAME, id, "", lambda: settled(_heard(source, listed(source, said))))


def _first(parts: Mapping[str, Raw], name: str) -> dict[str, Any]:
    items = listed_in(parts, name)
    found = plain(items[0]) if items else None
    return found if isinstance(found, dict) else {}


def _heard(source: Source, reads: Iterator[Read]) -> Iterator[Heard]:
    for read in reads:
        if not isinstance(read, JsonRow):
            yield read
        elif not read.word("type"):
            yield from source.damage(read.line, "a message without a type")
        elif read.word("type") == "user":
            words, at = flat(read.value.get("content")), when(read.value.get("timestamp"))
            if words.strip():
                said = message("user", [text(words)])
                yield SpokenTurn(Recorded(said, (read.line,), at, human=is_typed(words), original=read.raw))
            else:
                yield Skipped(read.line, "empty")
        elif read.word("type") == "gemini":
            yield from _answered(read)
        else:
            yield Skipped(read.line, kind(read.word("type")))


def _answered(row: JsonRow) -> Iterator[Heard]:
    """The model's message, and the results that came back for its calls."""
    words, at = flat(row.value.get("content")), when(row.value.get("timestamp"))
    made = row.value.get("toolCalls")
    asked = [each for each in made if isinstance(each, dict)] if isinstance(made, list) else []
    ids = [call_id(each.get("id") or f"call_{row.line}_{index}") for index, each in enumerate(asked)]
    blocks = [text(words)] if words.strip() else []
    blocks += [
        call(id, word(each.get("name")), input_object(each.get("args"))) for id, each in zip(ids, asked, strict=True)
    ]
    if not blocks:
        yield Skipped(row.line, "gemini:empty")
        return
    tokens = row.part("tokens")
    usage = billed_with_cache_inside(tokens.get("input"), tokens.get("cached"), tokens.get("output"))
    turn = Recorded(message("assistant", blocks), (row.line,), at, usage, row.word("model"), original=row.raw)
    yield SpokenTurn(turn, tuple((id, row.line) for id in ids))
    answered = [(id, each) for id, each in zip(ids, asked, strict=True) if each.get("result") is not None]
    if answered:
        results = [result(id, _output(each["result"]), each.get("status") == "error") for id, each in answered]
        yield SpokenTurn(Recorded(message("user", results), (), at), (), tuple((id, row.line) for id, _ in answered))


def _output(found: object) -> str:
    """A call's result: parts with the function's response in them."""
    texts = []
    for part in found if isinstance(found, list) else [found]:
        match part:
            case {"functionResponse": {"response": {"output": str(words)}}} | {"text": str(words)} | str(words):
                texts.append(words)
            case {"functionResponse": {"response": response}}:
                texts.append(spelled(response))
            case _:
                texts.append(spelled(part))
    return "\n".join(texts)
