"""A deep agent with `Fold` for its own summary, a sub-agent in each turn: `python deepagents_run.py model STORE`."""

import sys
import warnings
from copy import deepcopy

warnings.simplefilter("ignore")

from deepagents import create_deep_agent  # noqa: E402
from langchain.chat_models import init_chat_model  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402

from contextfold.langchain import Fold  # noqa: E402
from tests.acceptance.frameworks.task import Report, page, question  # noqa: E402

TURNS, WINDOW = 12, 24_000


def read(path: str) -> str:
    """Read a file."""
    return page(path) * 2


def main(model: str, store: str) -> None:
    report = Report()
    fold = Fold(store, window=WINDOW, on_fold=report.folded, replaces="SummarizationMiddleware")
    chat = init_chat_model(model, max_tokens=500)
    agent = create_deep_agent(chat, [read], middleware=[fold], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "deep"}}
    before: list[dict] = []
    for number in range(TURNS):
        after = agent.invoke({"messages": [{"role": "user", "content": question(number)}]}, config)["messages"]
        report.compare(before, [message.model_dump() for message in after])
        before = deepcopy([message.model_dump() for message in after])
    report.tell(messages=len(before), turns=TURNS)
    fold.conversations.close()


main(*sys.argv[1:])
