"""SWE-agent trajectories: `history` is what the model saw, `trajectory` the same as actions and observations.

In older runs the action stands in the assistant's text and the observation is a user's message: they stay so. Newer
ones use tool calls. Demonstrations shown to the model are marked as put there by the product.
"""

from __future__ import annotations

from collections.abc import Iterator

from contextfold.domain import encode
from contextfold.transcripts.pairs import settled
from contextfold.transcripts.sample import Sample, plain
from contextfold.transcripts.session import Recorded, Recording, Skipped
from contextfold.transcripts.source import JsonRow, Read, Source, listed
from contextfold.transcripts.speech import Heard, flat, portable, spoken, unsound, word

from .records import is_silent, listed_in, system_text

NAME = "swe-agent"
_FACTS = ("exit_status", "model_stats")


class SweAgent:
    """The reader of `*.traj`."""

    __slots__ = ()
    name = NAME

    def claims(self, sample: Sample) -> bool:
        return {"trajectory", "history"} <= sample.object.keys()

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        said = listed_in(sample.object, "history")
        info = plain(sample.object.get("info"))
        facts = {name: info[name] for name in _FACTS if name in info} if isinstance(info, dict) else {}
        yield Recording(
            source.name,
            NAME,
            word(plain(sample.object.get("environment"))),
            system_text(listed(source, said)),
            lambda: settled(_heard(source, listed(source, said))),
            facts,
        )


def _heard(source: Source, reads: Iterator[Read]) -> Iterator[Heard]:
    begun = False  # whether the model has acted on the task; what the user's side says from then on are observations
    for read in reads:
        if not isinstance(read, JsonRow):
            yield read
            continue
        value = read.value
        if value.get("role") == "tool":  # an observation of a tool names its call in a list of its own
            ids = value.get("tool_call_ids")
            id = ids[0] if isinstance(ids, list) and ids else value.get("tool_call_id")
            value = {"role": "tool", "tool_call_id": id, "content": flat(value.get("content"))}
        if reason := unsound(value):
            yield from source.damage(read.line, reason)
        elif value["role"] == "system":
            yield Skipped(read.line, "system")
        elif is_silent(value):
            yield Skipped(read.line, "empty")
        else:
            demo = read.value.get("is_demo") is True
            human = value["role"] == "user" and not demo and not begun
            raw, original = portable(read.raw) if value["role"] != "tool" else (encode(value), read.raw)
            output = value["role"] == "user" and not demo and begun
            turn = Recorded(raw, (read.line,), is_meta=demo, human=human, is_output=output, original=original)
            yield spoken(turn, value)
            begun = begun or (value["role"] == "assistant" and not demo)
