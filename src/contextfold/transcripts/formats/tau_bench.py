"""tau-bench trajectories: a list of `{task_id, trial, reward, traj}`, `traj` in OpenAI chat form.

The user's side was played by a model; it stands for a person, and its turns are marked so.

tau2-bench results: `{info, tasks, simulations}`, messages close to OpenAI chat but not in it.

Arguments are objects there, and a result names its call in `id`: both are written as OpenAI chat wants them. What the
user did with tools of its own the agent never saw, so it is passed over with its kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from contextfold.domain import encode
from contextfold.transcripts.pairs import settled
from contextfold.transcripts.sample import Sample, plain
from contextfold.transcripts.session import Recorded, Recording, Skipped
from contextfold.transcripts.source import JsonRow, Read, Source, listed
from contextfold.transcripts.speech import Heard, flat, openai_usage, spelled, spoken, unsound, when, word

from . import records
from .records import inner, listed_in, recordings

NAME = "tau-bench"
_FACTS = ("task_id", "trial", "reward")


class TauBench:
    """The reader of `historical_trajectories/*.json`."""

    __slots__ = ()
    name = NAME

    def claims(self, sample: Sample) -> bool:
        first = sample.first_item()
        return isinstance(first.get("traj"), list) and "task_id" in first

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        def make(row: JsonRow) -> Recording:
            said = inner(row.raw, "traj")
            return Recording(
                f"{source.name}#{row.line}",
                NAME,
                f"{row.value.get('task_id')}.{row.value.get('trial', 0)}",
                records.system_text(listed(source, said)),
                lambda: settled(records.heard(source, listed(source, said))),
                {name: row.value[name] for name in _FACTS if name in row.value},
            )

        return recordings(source, NAME, sample.items, "traj", make)


TAU2_NAME = "tau2-bench"
_TAU2_FACTS = ("task_id", "trial", "termination_reason", "agent_cost")


class Tau2Bench:
    """The reader of a simulation run's results."""

    __slots__ = ()
    name = TAU2_NAME

    def claims(self, sample: Sample) -> bool:
        if "simulations" not in sample.object:
            return False
        simulations = listed_in(sample.object, "simulations")
        first = plain(simulations[0]) if simulations else None
        return "info" in sample.object or (isinstance(first, dict) and isinstance(first.get("messages"), list))

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        info = plain(sample.object.get("info"))
        match info:
            case {"environment_info": {"policy": str(policy)}}:
                system = policy
            case _:
                system = ""
        match info:
            case {"agent_info": {"llm": str(name)}}:
                model = name
            case _:
                model = ""

        def make(row: JsonRow) -> Recording:
            said = inner(row.raw, "messages")
            return Recording(
                f"{source.name}#{row.line}",
                TAU2_NAME,
                word(row.value.get("id")),
                system,
                lambda: settled(_heard(source, listed(source, said), model)),
                {name: row.value[name] for name in _TAU2_FACTS if name in row.value},
            )

        items = listed_in(sample.object, "simulations")
        return recordings(source, TAU2_NAME, items, "messages", make)


def _heard(source: Source, reads: Iterator[Read], model: str) -> Iterator[Heard]:
    for read in reads:
        if not isinstance(read, JsonRow):
            yield read
            continue
        value = _as_chat(read.value)
        role, calls = value["role"], read.value.get("tool_calls")
        is_users_own = read.value.get("requestor") == "user" if role == "tool" else role == "user" and bool(calls)
        if is_users_own:
            yield Skipped(read.line, "user-tool")
        elif reason := unsound(value):
            yield from source.damage(read.line, reason)
        elif not value.get("tool_calls") and role != "tool" and not flat(value.get("content")).strip():
            yield Skipped(read.line, "empty")
        else:
            own = role == "assistant"
            turn = Recorded(
                encode(value),
                (read.line,),
                when(read.value.get("timestamp")),
                openai_usage(read.value.get("usage")) if own else None,
                model if own else "",
                human=role == "user",
                original=read.raw,
            )
            yield spoken(turn, value)


def _as_chat(value: dict[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {"role": value.get("role"), "content": value.get("content")}
    if value.get("role") == "tool":
        return {"role": "tool", "tool_call_id": value.get("id"), "content": said["content"]}
    given = value.get("tool_calls")
    calls = list(given) if isinstance(given, list) else []
    for index, each in enumerate(calls):
        if isinstance(each, dict):
            words = each.get("arguments")
            arguments = words if isinstance(words, str) else spelled(words or {})
            function = {"name": word(each.get("name")), "arguments": arguments}
            calls[index] = {"id": each.get("id"), "type": "function", "function": function}
    return {**said, "tool_calls": calls} if calls else said
