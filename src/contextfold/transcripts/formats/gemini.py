"""Gemini histories: files with a `history` of contents, and the chats that the Gemini CLI records.

In a recorded chat, a message of the model's holds its calls together with their results; the results become the
user's turn that follows. Thoughts are bound to their provider and stay in the original.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Raw

from contextfold.domain import is_typed
from contextfold.transcripts.facts import (
    billed_with_cache_inside,
    call_id,
    flat,
    input_object,
    kind,
    spelled,
    when,
    word,
)
from contextfold.transcripts.pairs import settled
from contextfold.transcripts.rows import JsonRow, Read, listed
from contextfold.transcripts.sample import Sample, plain
from contextfold.transcripts.session import Recorded, Recording, Skipped
from contextfold.transcripts.source import Source
from contextfold.transcripts.speech import Heard, SpokenTurn, call, message, result, text

from .contents import Contents, is_content
from .records import listed_in

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
            yield _said(read)
        elif read.word("type") == "gemini":
            yield from _answered(read)
        else:
            yield Skipped(read.line, kind(read.word("type")))


def _said(row: JsonRow) -> Heard:
    words = flat(row.value.get("content"))
    if not words.strip():
        return Skipped(row.line, "empty")
    at = when(row.value.get("timestamp"))
    return SpokenTurn(
        Recorded(message("user", [text(words)]), (row.line,), at, human=is_typed(words), original=row.raw)
    )


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
