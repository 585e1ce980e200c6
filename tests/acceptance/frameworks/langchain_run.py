"""LangChain's agent with `Fold`, forty turns: `python langchain_run.py provider:model STORE`."""

import asyncio
import sys
from copy import deepcopy

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langgraph.checkpoint.memory import InMemorySaver

from contextfold.langchain import Fold
from tests.acceptance.frameworks.task import TURNS, WINDOW, Report, page, question

OPTIONS = {
    "anthropic": {"thinking": {"type": "adaptive"}, "max_tokens": 500},
    "openai": {"use_responses_api": True, "include": ["reasoning.encrypted_content"], "store": False},
    "google_genai": {"include_thoughts": True},
}


def read(path: str) -> str:
    """Read a file."""
    return page(path)


def main(model: str, store: str) -> None:
    report = Report()
    fold = Fold(store or None, window=WINDOW, on_fold=report.folded)
    chat = init_chat_model(model, **OPTIONS[model.partition(":")[0]])
    agent = create_agent(chat, tools=[read], system_prompt="Be brief.", middleware=[fold], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "forty"}}
    before: list[dict] = []
    loop = asyncio.Runner()
    for number in range(TURNS):
        asked = {"messages": [{"role": "user", "content": question(number)}]}
        if number % 4 == 1:
            after = loop.run(agent.ainvoke(asked, config))["messages"]
        elif number % 4 == 2:
            for _ in agent.stream(asked, config):
                pass
            after = agent.get_state(config).values["messages"]
        else:
            after = agent.invoke(asked, config)["messages"]
        report.compare(before, [message.model_dump() for message in after])
        before = deepcopy([message.model_dump() for message in after])
    report.tell(messages=len(before))
    loop.close()
    fold.conversations.close()


main(*sys.argv[1:])
