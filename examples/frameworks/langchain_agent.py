"""A LangChain agent that never outgrows its window: python examples/frameworks/langchain_agent.py "your question"."""

import sys
from pathlib import Path

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from contextfold.langchain import Fold


def read_file(path: str) -> str:
    """Read a file of this directory."""
    return Path(path).read_text(encoding="utf-8")


def main(question: str) -> None:
    agent = create_agent(
        "anthropic:claude-sonnet-5-5",
        tools=[read_file],
        middleware=[Fold("agent.db")],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "notes"}}
    answer = agent.invoke({"messages": [{"role": "user", "content": question}]}, config)
    print(answer["messages"][-1].text)


main(sys.argv[1] if len(sys.argv) > 1 else "What is in notes.md?")
