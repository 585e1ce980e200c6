"""What came of conversations through several gateways, judged by what a provider received and what a store holds."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx

import contextfold as cf
from contextfold.domain import Appended, Folded
from contextfold.testing.server.provider import Exchange
from tests.crash.fleet import Fleet
from tests.crash.fleet_agents import MARK, FleetAgent

_LISTS = {"openai-responses": "input", "gemini": "contents"}
_RENAMED = re.compile(r'"(?:call_id|tool_use_id|tool_call_id|id)": "[^"]*-\d{1,2}"')
_MOST_TRIES = 40


def converse(gateways: Fleet, agents: Sequence[FleetAgent], turns: int, *, kill_each: int = 0) -> int:
    """Have all agents speak at once, each turn through the next gateway; how many answers were heard.

    After each `kill_each` answers the gateway that gave the last one is killed, as soon as its last event was heard.
    """
    heard = itertools.count(1)

    def speak(agent: FleetAgent, first: int) -> int:
        with httpx.Client(timeout=60) as client:
            for turn in range(turns):
                agent.speak()
                number = one_answer(gateways, agent, client, first + turn, stream=bool((first + turn // 2) % 2))
                if kill_each and next(heard) % kill_each == 0:
                    gateways.kill(number)
        return turns

    with ThreadPoolExecutor(len(agents)) as aside:
        return sum(aside.map(speak, agents, range(len(agents))))


def one_answer(gateways: Fleet, agent: FleetAgent, client: httpx.Client, first: int, *, stream: bool) -> int:
    """Ask one gateway after another until one answers; which did."""
    for attempt in range(_MOST_TRIES):
        number = (first + attempt) % len(gateways)
        try:
            agent.ask(client, gateways.url(number), stream=stream)
        except httpx.TransportError:
            continue
        return number
    raise AssertionError(f"nobody answered {agent.name}")


@dataclass(frozen=True)
class Verdict:
    """What went wrong; nothing should."""

    twice: Sequence[str] = ()  # marks that the store holds more than once
    lost: Sequence[str] = ()  # marks of acknowledged messages that are not where they were said
    breaks: Sequence[str] = ()  # changes of a request's beginning that no fold explains
    refused: Sequence[str] = ()
    invented: Sequence[str] = ()  # results that were made up, ids that were changed
    problems: Sequence[str] = ()
    folds: int = 0

    @property
    def is_clean(self) -> bool:
        return not (self.twice or self.lost or self.breaks or self.refused or self.invented or self.problems)


def judge(exchanges: Iterable[Exchange], store: str, space: str, agents: Sequence[FleetAgent]) -> Verdict:
    """Compare what agents hold with what arrived upstream and with what was kept."""
    requests: dict[str, list[Exchange]] = {}
    refused: list[str] = []
    for each in exchanges:
        marks = MARK.findall(json.dumps(each.request))
        if each.refused is not None:
            refused.append(each.refused.message)
        elif marks:
            requests.setdefault(marks[-1][0], []).append(each)
    kept: Counter[str] = Counter()
    live: dict[str, list[str]] = {}
    stand_ins: dict[str, list[str]] = {}
    with cf.open(store, space=space) as opened:
        problems = [str(each) for each in opened.verify()]
        for row in opened.threads():
            thread = opened.thread(row.title)
            events = thread.branch.events
            said = {e.seq: _marks(thread.message(e.seq).raw) for e in events if isinstance(e.event, Appended)}
            kept.update(mark for marks in said.values() for mark in marks)
            on_path = [mark for seq in thread.branch.path for mark in said.get(seq, ())]
            for name in {mark.partition(".")[0].removeprefix("<<") for mark in on_path}:
                live.setdefault(name, []).extend(on_path)
            folds = [thread.lens.stand_in(e.seq) for e in events if isinstance(e.event, Folded)]
            texts = [text for each in folds for text in (each.text, *each.blocks) if text]
            for name in {mark.partition(".")[0].removeprefix("<<") for marks in said.values() for mark in marks}:
                stand_ins.setdefault(name, []).extend(texts)
    lost = [
        f"{agent.name}: {wanted} but {live.get(agent.name)}"
        for agent in agents
        if live.get(agent.name) != (wanted := _marks(json.dumps(agent.history).encode()))
    ]
    breaks = [
        told
        for agent in agents
        for told in _breaks(agent.name, requests.get(agent.name, []), stand_ins.get(agent.name, []))
    ]
    invented = [told for each in requests.values() for exchange in each for told in _invented(exchange)]
    twice = [mark for mark, times in kept.items() if times > 1]
    return Verdict(twice, lost, breaks, refused, invented, problems, sum(map(len, stand_ins.values())))


def _marks(raw: bytes) -> list[str]:
    return [found.group(0) for found in MARK.finditer(raw.decode())]


def _messages(exchange: Exchange) -> list[str]:
    said: Iterable[Mapping[str, Any]] = exchange.request[_LISTS.get(exchange.format, "messages")]
    return [json.dumps(each, sort_keys=True) for each in said]


def _breaks(name: str, requests: Sequence[Exchange], stand_ins: Sequence[str]) -> Iterator[str]:
    """Requests that do not begin with what the one before said, though they show no stand-in that it did not show."""
    for before, after in itertools.pairwise(requests):
        old, new = _messages(before), _messages(after)
        if new[: len(old)] == old:
            continue
        shown, now = "".join(old), "".join(new)
        if any((written := json.dumps(text)[1:-1]) in now and written not in shown for text in stand_ins):
            continue
        place = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), len(new))
        was, is_now = (old[place] if place < len(old) else ""), (new[place] if place < len(new) else "")
        yield f"{name} at {place} of {len(old)}: {was[:300]} became {is_now[:300]}"


def _invented(exchange: Exchange) -> Iterator[str]:
    text = json.dumps(exchange.request)
    if "[No result" in text:
        yield f"no result: {text[text.index('[No result') :][:100]}"
    if (renamed := _RENAMED.search(text)) is not None:
        yield renamed.group(0)
