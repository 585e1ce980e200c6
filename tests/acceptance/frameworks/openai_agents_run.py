"""The OpenAI Agents SDK with `FoldSession`, forty turns: `python openai_agents_run.py api:model STORE`."""

import asyncio
import sys
from copy import deepcopy

from agents import Agent, ModelSettings, Runner, function_tool, set_default_openai_api, set_tracing_disabled

from contextfold.openai_agents import FoldSession, run_config
from tests.acceptance.frameworks.task import TURNS, WINDOW, Report, page, question


@function_tool
def read(path: str) -> str:
    """Read a file."""
    return page(path)


async def streamed(agent: Agent, number: int, **given: object) -> None:
    run = Runner.run_streamed(agent, question(number), **given)
    async for _ in run.stream_events():
        pass


def main(model: str, store: str) -> None:
    api, _, name = model.partition(":")
    set_tracing_disabled(True)
    set_default_openai_api(api)
    report = Report()
    session = FoldSession("forty", store or None, window=WINDOW, on_fold=report.folded)
    settings = ModelSettings(store=False, response_include=["reasoning.encrypted_content"])
    kept = settings if api == "responses" else ModelSettings()
    agent = Agent("reader", instructions="Be brief.", model=name, tools=[read], model_settings=kept)
    before: list = []
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)  # the one in which `run_sync` waits
    for number in range(TURNS):
        given = {"session": session, "run_config": run_config(session), "hooks": session}
        if number % 3 == 0:
            loop.run_until_complete(streamed(agent, number, **given))
        elif number % 3 == 1:
            loop.run_until_complete(Runner.run(agent, question(number), **given))
        else:
            Runner.run_sync(agent, question(number), **given)
        after = loop.run_until_complete(session.get_items())
        report.compare(before, after)
        before = deepcopy(after)
    messages = session.conversations.of("forty", name, "openai-responses").session.stats
    report.tell(messages=messages.messages, billed=messages.billed, items=len(before))
    session.close()


main(*sys.argv[1:])
