"""LangChain's own agent, two turns of one conversation: `python langchain_agent.py provider:model`."""

import sys
from pathlib import Path

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model


def read_note(name: str) -> str:
    """Read one of the notes in this directory."""
    return Path(name).read_text(encoding="utf-8")


def main(model: str, *options: str) -> None:
    agent = create_agent(init_chat_model(model, **dict.fromkeys(options, True)), tools=[read_note])
    messages = []
    for question in ("What does alpha.txt say?", "And what do beta.txt and gamma.txt say?"):
        messages = agent.invoke({"messages": [*messages, {"role": "user", "content": question}]})["messages"]
        print(messages[-1].text)


main(*sys.argv[1:])
