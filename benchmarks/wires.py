"""Every request of every recipe on every long recorded run, in every dialect, sent by the official SDKs to the strict
server: all must be accepted. And every mutant of every rule: all must be refused, and accepted once repaired.

Runs of at least 50,000 tokens go through each recipe in a window of 32k and are asked at evenly spaced places; the ways
of asking (at once, awaited, streamed) take turns. A sample in a minute by default; `CONTEXTFOLD_RUNS=all` takes every
run, recipe and dialect, and more places.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import cache
from http.client import HTTPConnection
from importlib import import_module
from itertools import product
from random import Random
from typing import Any

import contextfold as cf
from benchmarks.frame import SHARED, Row, absent, at_least, at_most, reported
from contextfold.dialects.gemini import arguments
from contextfold.errors import InvalidRequest
from contextfold.folding.recipes import RECIPES
from contextfold.testing.server import Flavour, StrictServer, strict_server
from contextfold.transcripts import Recording, read

DATA = SHARED / "data"
LONG = 50_000
WINDOW = 32_000
SYSTEM = "You are a careful engineer. Work in small steps and keep the tests green."
MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "openai-chat": "gpt-4.1",
    "openai-responses": "gpt-5.5",
    "gemini": "gemini-3.8-flash",
}
SERVED = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-2.5-pro:generateContent",
    "gemini:signed": "/v1beta/models/gemini-3.8-flash:generateContent",
}
FLAVOURS = {
    "openai-chat:deepseek": Flavour(wants_reasoning=True),
    "openai-chat:bedrock": Flavour(alternates=True),
    "openai-chat:no-tools": Flavour(alternates=True, has_tool_role=False),
    "openai-responses:adjacent": Flavour(adjacent=True),
}
SEEDS = range(50)

Job = tuple[str, int, str, str]  # file, which of its conversations, recipe, dialect


def run() -> list[Row]:
    rows = _mutants()
    if not DATA.is_dir():
        return [*rows, absent("long runs", "the recorded sessions are not here")]
    return [*rows, *_runs()]


def is_thorough() -> bool:
    return os.environ.get("CONTEXTFOLD_RUNS") == "all"


# -- recorded runs ----------------------------------------------------------------------------------------------------


def _runs() -> list[Row]:
    jobs = list(_jobs())
    totals: Counter[str] = Counter()
    with ProcessPoolExecutor(os.cpu_count() or 1) as pool:
        for found in pool.map(replayed, jobs):
            totals.update(found)
    for line in sorted(each for each in totals if each.startswith("!")):
        print(f"{totals[line]:5} {line}", file=sys.stderr)
    return [
        reported("runs of >= 50k tokens", float(len({job[:2] for job in jobs}))),
        reported("runs x recipes x dialects", float(len(jobs))),
        at_least("requests sent by the official SDKs", float(totals["requests"]), 1),
        *(reported(f"of these {way}", float(totals[way])) for way in WAYS),
        reported("folds", float(totals["folds"])),
        at_most("refused by the strict server", float(totals["refused"]), 0),
        at_most("refused by ourselves", float(totals["invalid"]), 0),
        reported("cannot fit", float(totals["cannot fit"])),
    ]


def _jobs() -> Iterator[Job]:
    """All combinations; in the sample one run of each format, and the dialects in turn."""
    runs = _long_runs()
    if is_thorough():
        yield from ((*each, recipe, dialect) for each, recipe, dialect in product(runs, RECIPES, MODELS))
        return
    dialects = list(MODELS)
    for at, (each, recipe) in enumerate(product(runs, RECIPES)):
        yield (*each, recipe, dialects[(at + at // len(RECIPES)) % len(dialects)])


def _long_runs() -> list[tuple[str, int]]:
    """Conversations of at least so many tokens; in the sample the shortest of each format."""
    manifest = json.loads((DATA / "MANIFEST.json").read_text(encoding="utf-8"))
    sizes = {each["file"]: each.get("tokens_o200k", LONG) for each in manifest}
    found: list[tuple[str, int]] = []
    seen: set[str] = set()
    for file in sorted(sizes, key=lambda name: (sizes[name], name)):
        form = file.partition("/")[0]
        if sizes[file] >= LONG and (is_thorough() or form not in seen):
            long = [(file, number) for number, each in enumerate(read(DATA / file)) if _is_long(each)]
            found += long if is_thorough() else long[:1]
            seen |= {form} if long else set()
    return found


def _is_long(recording: Recording) -> bool:
    raws = [turn.raw for turn in recording.turns]
    return sum(map(len, raws)) >= 2 * LONG and cf.count(raws, model="gpt-4.1").tokens >= LONG


@cache
def _messages(file: str, number: int) -> tuple[bytes, ...]:
    for at, recording in enumerate(read(DATA / file)):
        if at == number:
            return tuple(turn.raw for turn in recording.turns)
    return ()


def replayed(job: Job) -> Counter[str]:
    """One run through one recipe, asked in one dialect."""
    file, number, recipe, dialect = job
    os.environ["CONTEXTFOLD_MAX_INPUT_TOKENS"] = str(WINDOW)
    messages = _messages(file, number)
    found: Counter[str] = Counter()
    places = _places(messages)
    server = _server("")
    with cf.Session.open(model=MODELS[dialect], policy=RECIPES[recipe](), system=SYSTEM) as session:
        for at, message in enumerate(messages):
            if at in places and any(not item.shape.is_blank for item in session.view.items):
                _ask(session, server, dialect, found, f"{dialect} {recipe} {file}[{number}] before {at}")
            session.append(message)
    return found


def _places(messages: tuple[bytes, ...]) -> set[int]:
    """Where the model is asked: before evenly spaced answers of its own, the last one among them."""
    answers = [at for at, raw in enumerate(messages) if at and json.loads(raw).get("role") == "assistant"]
    most = 24 if is_thorough() else 6
    return set(answers[:: -max(1, len(answers) // most)])


def _ask(session: cf.Session, server: StrictServer, dialect: str, found: Counter[str], where: str) -> None:
    try:
        request = session.prepare(max_tokens=1_000, dialect=dialect, cache=found["requests"] % 2 == 0)
    except cf.CannotFit:
        found["cannot fit"] += 1
        return
    except InvalidRequest as error:
        found["invalid"] += 1
        found[f"! {where}: {error}"] += 1
        return
    way = WAYS[found["requests"] % len(WAYS)]
    found["requests"] += 1
    found[way] += 1
    found["folds"] += len(request.report.folds)
    try:
        ASK[dialect][way](server, request.body)
    except Exception as error:  # noqa: BLE001  # each SDK has errors of its own
        found["refused"] += 1
        found[f"! {where}: {error}"] += 1


# -- the official SDKs ------------------------------------------------------------------------------------------------

WAYS = ("at once", "awaited", "streamed")
Ask = Callable[[StrictServer, dict[str, Any]], object]
_KEPT = ExitStack()


@cache
def _server(flavour: str) -> StrictServer:
    """A server for the life of the process; what others sealed is trusted, because the runs are recorded."""
    server = _KEPT.enter_context(strict_server(flavour=FLAVOURS.get(flavour, Flavour()), trust_foreign_seals=True))
    server.always("Understood.")
    return server


def _claude(server: StrictServer, kind: str) -> Any:
    import anthropic  # noqa: PLC0415  # an extra

    return getattr(anthropic, kind)(base_url=server.url, api_key=server.token, max_retries=0)


def _gpt(server: StrictServer, kind: str) -> Any:
    import openai  # noqa: PLC0415  # an extra

    return getattr(openai, kind)(base_url=f"{server.url}/v1", api_key=server.token, max_retries=0)


def _gemini(server: StrictServer) -> Any:
    from google import genai  # noqa: PLC0415  # an extra

    return genai.Client(api_key=server.token, http_options={"base_url": server.url})


def _anthropic(way: str) -> Ask:
    async def awaited(server: StrictServer, body: dict[str, Any]) -> object:
        async with _claude(server, "AsyncAnthropic") as client:
            return await client.messages.create(**body)

    def ask(server: StrictServer, body: dict[str, Any]) -> object:
        if way == "awaited":
            return asyncio.run(awaited(server, body))
        with _claude(server, "Anthropic") as client:
            return (
                list(client.messages.create(**body, stream=True))
                if way == "streamed"
                else client.messages.create(**body)
            )

    return ask


def _openai(way: str, path: str, **more: Any) -> Ask:
    def method(client: Any) -> Any:
        return client.responses.create if path == "responses" else client.chat.completions.create

    async def awaited(server: StrictServer, body: dict[str, Any]) -> object:
        async with _gpt(server, "AsyncOpenAI") as client:
            return await method(client)(**body, **more)

    def ask(server: StrictServer, body: dict[str, Any]) -> object:
        if way == "awaited":
            return asyncio.run(awaited(server, body))
        with _gpt(server, "OpenAI") as client:
            if way == "streamed":
                return list(method(client)(**body, **more, stream=True))
            return method(client)(**body, **more)

    return ask


def _google(way: str) -> Ask:
    async def awaited(server: StrictServer, body: dict[str, Any]) -> object:
        async with _gemini(server).aio as client:
            return await client.models.generate_content(**arguments(body))

    def ask(server: StrictServer, body: dict[str, Any]) -> object:
        if way == "awaited":
            return asyncio.run(awaited(server, body))
        with _gemini(server) as client:
            if way == "streamed":
                return list(client.models.generate_content_stream(**arguments(body)))
            return client.models.generate_content(**arguments(body))

    return ask


ASK: dict[str, dict[str, Ask]] = {
    "anthropic": {way: _anthropic(way) for way in WAYS},
    "openai-chat": {way: _openai(way, "chat") for way in WAYS},
    "openai-responses": {way: _openai(way, "responses", store=False) for way in WAYS},
    "gemini": {way: _google(way) for way in WAYS},
}


# -- mutants ----------------------------------------------------------------------------------------------------------


def _mutants() -> list[Row]:
    """Fifty of each rule where everything is run; five in the sample."""
    stricter = import_module("tests.property.test_mutants").STRICTER
    totals: Counter[str] = Counter()
    for dialect in MODELS:
        module = import_module(f"tests.property.mutants_{dialect.replace('-', '_')}")
        for rule, mutate in module.MUTATIONS.items():
            spoken = getattr(module, "FLAVOURS", {}).get(rule, dialect)
            totals["rules"] += 1
            for seed in SEEDS if is_thorough() else SEEDS[::10]:
                body = module.build(Random(f"body {seed}"))
                mutate(body, Random(f"{seed} {rule}"))
                _judge(spoken, rule, body, rule in stricter[dialect], totals)
    return [
        reported("rules", float(totals["rules"])),
        reported("mutants", float(totals["mutants"])),
        at_most("mutants that validate does not name by their rule alone", float(totals["unnamed"]), 0),
        at_most("mutants that the strict server takes", float(totals["taken"]), 0),
        reported("of rules in which we are stricter than it", float(totals["stricter"])),
        at_most("repaired mutants that it refuses", float(totals["refused"]), 0),
    ]


def _judge(dialect: str, rule: str, body: dict[str, Any], is_stricter: bool, totals: Counter[str]) -> None:
    totals["mutants"] += 1
    totals["unnamed"] += {each.rule for each in cf.validate(body, dialect=dialect)} != {rule}
    if is_stricter:
        totals["stricter"] += 1
    else:
        totals["taken"] += _status(dialect, body) != 400
    totals["refused"] += _status(dialect, cf.repair(body, dialect=dialect).body) != 200


def _status(dialect: str, body: dict[str, Any]) -> int:
    server = _server(dialect if dialect in FLAVOURS else "")
    path = SERVED[dialect if dialect in SERVED else dialect.partition(":")[0]]
    connection = HTTPConnection(server.url.removeprefix("http://"), timeout=30)
    headers = {
        "content-type": "application/json",
        "authorization": f"Bearer {server.token}",
        "x-goog-api-key": server.token,
        "anthropic-version": "2023-06-01",
    }
    try:
        connection.request("POST", path, json.dumps(body).encode(), headers)
        return connection.getresponse().status
    finally:
        connection.close()
