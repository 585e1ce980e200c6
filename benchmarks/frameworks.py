"""What an adapter adds to a turn, beside the same turn said to a session by hand; and `follow` at two lengths.

Runs where the frameworks are: `PYTHONPATH=src:. .venv-agents/bin/python -m benchmarks.frameworks`. In memory, so that
no disk hides what is measured; the least of several rounds. A turn is a question, a request, and an answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import contextfold as cf

MODEL = "claude-sonnet-5-5"
BEFORE, TURNS, ROUNDS = 400, 40, 3
WORDS = "a line of the file that was read\n" * 10
Turn = Callable[[int], Awaitable[None]]


async def least(make: Callable[[], Turn]) -> float:
    """Seconds of one turn, behind BEFORE messages: the least of the rounds."""
    found = []
    for _ in range(ROUNDS):
        turn = make()
        await turn(-1)
        start = time.perf_counter()
        for number in range(TURNS):
            await turn(number)
        found.append((time.perf_counter() - start) / TURNS)
    return min(found)


def by_hand() -> Turn:
    session = cf.Session.open(model=MODEL)
    for number in range(BEFORE):
        session.append({"role": ("user", "assistant")[number % 2], "content": f"{number} {WORDS}"})

    async def turn(number: int) -> None:
        session.append({"role": "user", "content": f"question {number} {WORDS}"})
        session.prepare(system="Be brief.", max_tokens=500)
        session.append({"role": "assistant", "content": f"answer {number} {WORDS}"})

    return turn


def langchain() -> Turn:
    from langchain.agents.middleware import ModelRequest, ModelResponse  # noqa: PLC0415
    from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415

    from contextfold.langchain import Fold  # noqa: PLC0415

    fold, model = Fold(thread="t"), SimpleNamespace(model=MODEL, max_tokens=500)
    said: list[Any] = [(HumanMessage, AIMessage)[number % 2](f"{number} {WORDS}") for number in range(BEFORE)]

    async def turn(number: int) -> None:
        said.append(HumanMessage(f"question {number} {WORDS}"))
        answer = AIMessage(f"answer {number} {WORDS}")
        request = ModelRequest(model=model, messages=list(said), system_prompt="Be brief.")
        fold.wrap_model_call(request, lambda _: ModelResponse(result=[answer]))
        said.append(answer)

    return turn


def openai_agents() -> Turn:
    from agents import Agent  # noqa: PLC0415
    from agents.run import CallModelData, ModelInputData  # noqa: PLC0415

    from contextfold.openai_agents import FoldSession  # noqa: PLC0415

    session, agent = FoldSession("t"), Agent("reader", model=MODEL)
    said = [{"role": ("user", "assistant")[number % 2], "content": f"{number} {WORDS}"} for number in range(BEFORE)]

    async def turn(number: int) -> None:
        said.append({"role": "user", "content": f"question {number} {WORDS}"})
        data = CallModelData(ModelInputData(list(said), "Be brief."), agent, None)
        await session.filter(data)
        said.append({"role": "assistant", "content": f"answer {number} {WORDS}"})

    return turn


def pydantic_ai() -> Turn:
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart  # noqa: PLC0415
    from pydantic_ai.models import ModelRequestContext, ModelRequestParameters  # noqa: PLC0415

    from contextfold.pydantic_ai import Fold  # noqa: PLC0415

    fold = Fold(thread="t")
    kinds = (lambda text: ModelRequest([UserPromptPart(text)]), lambda text: ModelResponse([TextPart(text)]))
    said: list[Any] = [kinds[number % 2](f"{number} {WORDS}") for number in range(BEFORE)]
    model: Any = SimpleNamespace(model_name=MODEL)

    async def turn(number: int) -> None:
        said.append(kinds[0](f"question {number} {WORDS}"))
        parameters = ModelRequestParameters()
        asked = ModelRequestContext(
            model=model, messages=list(said), model_settings=None, model_request_parameters=parameters
        )
        await fold.prepare_model_request(None, asked)
        answer = kinds[1](f"answer {number} {WORDS}")
        await fold.after_model_request(None, request_context=asked, response=answer)
        said.append(answer)

    return turn


def adk() -> Turn:
    from google.adk.models import LlmRequest, LlmResponse  # noqa: PLC0415
    from google.genai import types  # noqa: PLC0415

    from contextfold.adk import Fold  # noqa: PLC0415

    fold = Fold()
    context = SimpleNamespace(session=SimpleNamespace(id="t"), agent_name="reader")

    def content(role: str, text: str) -> Any:
        return types.Content(role=role, parts=[types.Part(text=text)])

    said = [content(("user", "model")[number % 2], f"{number} {WORDS}") for number in range(BEFORE)]

    async def turn(number: int) -> None:
        said.append(content("user", f"question {number} {WORDS}"))
        asked = LlmRequest(model="gemini-3.8-flash", contents=list(said))
        await fold.before_model_callback(callback_context=context, llm_request=asked)
        answer = content("model", f"answer {number} {WORDS}")
        response = LlmResponse(content=answer)
        await fold.after_model_callback(callback_context=context, llm_response=response)
        said.append(answer)

    return turn


def followed(length: int) -> float:
    """Seconds of `follow` for one new message behind so many: the least of many."""
    session = cf.Session.open(model=MODEL)
    said = [{"role": ("user", "assistant")[number % 2], "content": f"{number} {WORDS}"} for number in range(length)]
    session.follow(said)
    found = []
    for number in range(60):
        said.append({"role": ("user", "assistant")[number % 2], "content": f"more {number}"})
        start = time.perf_counter()
        session.follow(said)
        found.append(time.perf_counter() - start)
    return min(found)


async def main() -> None:
    alone = await least(by_hand)
    print(f"a turn by hand: {alone * 1e3:.2f} ms, behind {BEFORE} messages")
    for adapter in (langchain, openai_agents, pydantic_ai, adk):
        took = await least(adapter)
        print(f"{adapter.__name__}: {took * 1e3:.2f} ms, {took / alone:.2f} of it (<= 1.5)")
    few, many = followed(100), followed(10_000)
    print(f"follow: {few * 1e3:.3f} ms at 100, {many * 1e3:.3f} ms at 10,000: {many / few:.2f} (<= 1.3)")


if __name__ == "__main__":
    asyncio.run(main())
