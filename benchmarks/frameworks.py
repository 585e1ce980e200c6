"""What an adapter adds to a turn, beside the same messages said to a session by hand.

The frameworks live in `.venv-agents`, so they are measured there, in a process of its own. In memory, so that no disk
hides what is measured; processor time, of each round the median turn, and of the rounds the least. A turn is a
question, a request, and an answer. A short turn in memory is taken within the caller's event loop, one on a file beside
it: so the same turns on a SQLite file, both sides with one of their own, are told as well.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, NamedTuple

import contextfold as cf
from benchmarks.frame import ROOT, Row, absent, at_most, reported
from contextfold.conversations import OwnerFormat

PYTHON = ROOT / ".venv-agents" / "bin" / "python"
MODEL, GEMINI = "claude-sonnet-5-5", "gemini-3.8-flash"
BEFORE, TURNS, ROUNDS = 400, 40, 5
WORDS = "a line of the file that was read\n" * 10


def run() -> list[Row]:
    """The rows, from a process that has the frameworks."""
    if not PYTHON.is_file():
        return [absent("a turn through an adapter / by hand", "the frameworks are not installed: make agents")]
    done = subprocess.run(
        [str(PYTHON), "-W", "ignore", "-m", "benchmarks.frameworks"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return [Row(**row) for row in json.loads(done.stdout)]


class Clock:
    """Processor time of what runs inside `with`; what the framework itself does beside it is not counted."""

    def __init__(self) -> None:
        self.spent, self._start = 0.0, 0.0

    def __enter__(self) -> None:
        self._start = time.process_time()

    def __exit__(self, *_: object) -> None:
        self.spent += time.process_time() - self._start


async def one_round(*turns: Turn) -> list[float]:
    """Seconds of a turn of each, behind BEFORE messages; taken in turn, so that a busy machine is busy for all."""
    for turn in turns:
        await turn(-1, Clock())
    clocks = [[Clock() for _ in turns] for _ in range(TURNS)]
    gc.collect()
    gc.disable()  # a framework's imports make each collection long, whoever is measured
    for number, each in enumerate(clocks):
        for turn, clock in zip(turns, each, strict=True):
            await turn(number, clock)
    gc.enable()
    return [median(clock.spent for clock in spent) for spent in zip(*clocks, strict=True)]


Turn = Callable[[int, Clock], Awaitable[None]]


class Adapter(NamedTuple):
    """A framework's turns, and its messages as it writes them, for the same turns by hand."""

    turn: Turn
    model: str
    dialect: str
    said: list[Any]
    form: OwnerFormat


def by_hand(adapter: Adapter, place: Path | None) -> Turn:
    """The same messages for the same model, said to a session."""
    session = cf.Session.open(place, model=adapter.model, dialect=adapter.dialect)
    *before, question, answer = [adapter.form.write(each) for each in (*adapter.said[:BEFORE], *adapter.said[-2:])]
    for message in before:
        session.append(message)

    async def turn(number: int, clock: Clock) -> None:
        with clock:
            session.append(question.replace(b"question", b"question %d" % number))
            session.prepare(system="Be brief.", max_tokens=500)
            session.append(answer.replace(b"answer", b"answer %d" % number))

    return turn


def langchain(place: Path | None) -> Adapter:
    from langchain.agents.middleware import ModelRequest, ModelResponse  # noqa: PLC0415
    from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415

    from contextfold.langchain import FORMAT, Fold  # noqa: PLC0415

    fold, model = Fold(place, thread="t"), SimpleNamespace(model=MODEL, max_tokens=500)
    said: list[Any] = [(HumanMessage, AIMessage)[number % 2](f"{number} {WORDS}") for number in range(BEFORE)]

    async def turn(number: int, clock: Clock) -> None:
        said.append(HumanMessage(f"question {number} {WORDS}"))
        answer = AIMessage(f"answer {number} {WORDS}")
        response = ModelResponse(result=[answer])
        request = ModelRequest(model=model, messages=list(said), system_prompt="Be brief.")
        with clock:
            fold.wrap_model_call(request, lambda _: response)
        said.append(answer)

    return Adapter(turn, MODEL, "langchain", said, FORMAT)


def openai_agents(place: Path | None) -> Adapter:
    from agents import Agent  # noqa: PLC0415
    from agents.run import CallModelData, ModelInputData  # noqa: PLC0415

    from contextfold.openai_agents import FORMAT, FoldSession  # noqa: PLC0415

    session, agent = FoldSession("t", place), Agent("reader", model=MODEL)
    said = [{"role": ("user", "assistant")[number % 2], "content": f"{number} {WORDS}"} for number in range(BEFORE)]

    async def turn(number: int, clock: Clock) -> None:
        said.append({"role": "user", "content": f"question {number} {WORDS}"})
        data = CallModelData(ModelInputData(list(said), "Be brief."), agent, None)
        with clock:
            await session.filter(data)
        said.append({"role": "assistant", "content": f"answer {number} {WORDS}"})

    return Adapter(turn, MODEL, "openai-responses", said, FORMAT)


def pydantic_ai(place: Path | None) -> Adapter:
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart  # noqa: PLC0415
    from pydantic_ai.models import ModelRequestContext, ModelRequestParameters  # noqa: PLC0415

    from contextfold.pydantic_ai import FORMAT, Fold  # noqa: PLC0415

    fold = Fold(place, thread="t")
    kinds = (lambda text: ModelRequest([UserPromptPart(text)]), lambda text: ModelResponse([TextPart(text)]))
    said: list[Any] = [kinds[number % 2](f"{number} {WORDS}") for number in range(BEFORE)]
    model: Any = SimpleNamespace(model_name=MODEL)

    async def turn(number: int, clock: Clock) -> None:
        said.append(kinds[0](f"question {number} {WORDS}"))
        parameters = ModelRequestParameters()
        asked = ModelRequestContext(
            model=model, messages=list(said), model_settings=None, model_request_parameters=parameters
        )
        with clock:
            await fold.prepare_model_request(None, asked)
        answer = kinds[1](f"answer {number} {WORDS}")
        with clock:
            await fold.after_model_request(None, request_context=asked, response=answer)
        said.append(answer)

    return Adapter(turn, MODEL, "pydantic-ai", said, FORMAT)


def adk(place: Path | None) -> Adapter:
    from google.adk.models import LlmRequest, LlmResponse  # noqa: PLC0415
    from google.genai import types  # noqa: PLC0415

    from contextfold.adk import FORMAT, Fold  # noqa: PLC0415

    fold = Fold(place)
    context = SimpleNamespace(session=SimpleNamespace(id="t"), agent_name="reader")

    def content(role: str, text: str) -> Any:
        return types.Content(role=role, parts=[types.Part(text=text)])

    said = [content(("user", "model")[number % 2], f"{number} {WORDS}") for number in range(BEFORE)]

    async def turn(number: int, clock: Clock) -> None:
        said.append(content("user", f"question {number} {WORDS}"))
        asked = LlmRequest(model=GEMINI, contents=list(said))
        with clock:
            await fold.before_model_callback(callback_context=context, llm_request=asked)
        answer = content("model", f"answer {number} {WORDS}")
        response = LlmResponse(content=answer)
        with clock:
            await fold.after_model_callback(callback_context=context, llm_response=response)
        said.append(answer)

    return Adapter(turn, GEMINI, "gemini", said, FORMAT)


ADAPTERS = (langchain, openai_agents, pydantic_ai, adk)


async def row(make: Callable[[Path | None], Adapter], folder: Path | None = None) -> Row:
    rounds = []
    for number in range(ROUNDS):
        places = [folder and folder / f"{make.__name__}-{number}-{side}.db" for side in ("through", "hand")]
        adapter = make(places[0])
        rounds.append(await one_round(adapter.turn, by_hand(adapter, places[1])))
    through, alone = map(min, zip(*rounds, strict=True))
    name, note = f"a turn through {make.__name__} / by hand", f"by hand {alone * 1e3:.2f} ms, behind {BEFORE} messages"
    if folder is not None:
        return reported(f"{name}, on a file", through / alone, note=note)
    return at_most(name, through / alone, 1.5, note=note)


async def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return [await row(make, place) for place in (None, Path(folder)) for make in ADAPTERS]


if __name__ == "__main__":
    print(json.dumps([asdict(row) for row in asyncio.run(rows())]))
