"""Microsoft Agent Framework with `Fold`, forty turns: `python agent_framework_run.py api:model STORE`."""

import asyncio
import sys
import warnings
from copy import deepcopy

warnings.simplefilter("ignore")

from agent_framework import Agent  # noqa: E402
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient  # noqa: E402

from contextfold.agent_framework import Fold  # noqa: E402
from tests.acceptance.frameworks.task import TURNS, WINDOW, Report, page, question  # noqa: E402

OPTIONS = {"responses": {"store": False, "include": ["reasoning.encrypted_content"]}, "chat": {}}


def read(path: str) -> str:
    """Read a file."""
    return page(path)


async def main(model: str, store: str) -> None:
    api, _, name = model.partition(":")
    report = Report()
    fold = Fold(store or None, window=WINDOW, on_fold=report.folded)
    client = (OpenAIChatClient if api == "responses" else OpenAIChatCompletionClient)(model=name)
    agent = Agent(client, "Be brief.", tools=[read], middleware=[fold], default_options=OPTIONS[api])
    session = agent.create_session(session_id="forty")
    before: list = []
    for number in range(TURNS):
        if number % 3:
            await agent.run(question(number), session=session)
        else:
            stream = agent.run(question(number), session=session, stream=True)
            async for _ in stream:
                pass
            await stream.get_final_response()
        after = [message.to_dict() for message in session.state["in_memory"]["messages"]]
        report.compare(before, after)
        before = deepcopy(after)
    report.tell(messages=len(before))
    fold.conversations.close()


asyncio.run(main(*sys.argv[1:]))
