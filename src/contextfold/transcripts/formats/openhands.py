"""OpenHands' log of one model call: the request's `messages` in OpenAI chat form, and the `response`.

The response is the last turn, with what it cost. What the log says of tools and settings is not part of a
conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from contextfold.transcripts.pairs import settled
from contextfold.transcripts.sample import Sample, plain
from contextfold.transcripts.session import Recording
from contextfold.transcripts.source import Source, fields, listed
from contextfold.transcripts.speech import Heard, SpokenTurn, flat, openai_usage, when, word

from . import records
from .records import inner, listed_in

NAME = "openhands"
_MARKS = ("kwargs", "context_window", "latency_sec", "cost")


class OpenHands:
    """The reader of `llm-logs/*.json`."""

    __slots__ = ()
    name = NAME

    def claims(self, sample: Sample) -> bool:
        found = sample.object.keys()
        return {"messages", "response"} <= found and any(mark in found for mark in _MARKS)

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        said = listed_in(sample.object, "messages")
        response = plain(sample.object["response"])
        body: dict[str, Any] = response if isinstance(response, dict) else {}
        choices = inner(sample.object["response"], "choices") if body else ()
        first = fields(choices[0]) if choices and isinstance(plain(choices[0]), dict) else {}
        answer = [first["message"]] if "message" in first else []
        at = when(plain(sample.object.get("timestamp")))
        yield Recording(
            source.name,
            NAME,
            word(body.get("id")),
            records.system_text(listed(source, said)),
            lambda: settled(_heard(source, [*said, *answer], len(said), body, at)),
        )


def _heard(
    source: Source, said: Sequence[Raw], asked: int, body: Mapping[str, Any], at: float | None
) -> Iterator[Heard]:
    """The turns; only the last one was answered by this call, so only it knows its cost and its time."""
    for each in records.heard(source, listed(source, said)):
        if isinstance(each, SpokenTurn) and each.turn.lines[0] > asked:
            turn = replace(each.turn, usage=openai_usage(body.get("usage")), model=flat(body.get("model")), at=at)
            yield replace(each, turn=turn)
        else:
            yield each
