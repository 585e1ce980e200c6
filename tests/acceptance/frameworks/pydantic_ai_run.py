"""Pydantic AI's agent with `Fold`, forty turns: `python pydantic_ai_run.py provider:model STORE`."""

import asyncio
import sys
from collections.abc import AsyncIterable
from copy import deepcopy

from pydantic_ai import Agent, ModelMessagesTypeAdapter

from contextfold.pydantic_ai import Fold
from tests.acceptance.frameworks.task import TURNS, WINDOW, Report, page, question

SETTINGS = {
    "anthropic": {"anthropic_thinking": {"type": "adaptive"}, "max_tokens": 500},
    "openai-responses": {"openai_store": False},
}


def read(path: str) -> str:
    """Read a file."""
    return page(path)


async def listen(_context: object, events: AsyncIterable[object]) -> None:
    async for _ in events:
        pass


def main(model: str, store: str) -> None:
    report = Report()
    fold = Fold(store or None, thread="forty", window=WINDOW, on_fold=report.folded)
    settings = SETTINGS.get(model.partition(":")[0], {})
    agent = Agent(model, system_prompt="Be brief.", tools=[read], capabilities=[fold], model_settings=settings)
    before: list = []
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)  # the one in which `run_sync` waits
    history = None
    for number in range(TURNS):
        if number % 3 == 2:
            run = agent.run_sync(question(number), message_history=history)
        else:
            streamed = {} if number % 3 else {"event_stream_handler": listen}
            run = loop.run_until_complete(agent.run(question(number), message_history=history, **streamed))
        history = run.all_messages()
        after = ModelMessagesTypeAdapter.dump_python(history, mode="json")
        report.compare(before, after)
        before = deepcopy(after)
    report.tell(messages=len(history) + 1)  # the system prompt is a message of its own
    fold.conversations.close()


main(*sys.argv[1:])
