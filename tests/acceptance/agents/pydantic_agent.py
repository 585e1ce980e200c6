"""Pydantic AI's own agent, two turns of one conversation: `python pydantic_agent.py provider:model`."""

import sys
from pathlib import Path

from pydantic_ai import Agent


def read_note(name: str) -> str:
    """Read one of the notes in this directory."""
    return Path(name).read_text(encoding="utf-8")


def main(model: str) -> None:
    agent = Agent(model, tools=[read_note])
    first = agent.run_sync("What does alpha.txt say?")
    print(first.output)
    print(agent.run_sync("And what do beta.txt and gamma.txt say?", message_history=first.all_messages()).output)


main(*sys.argv[1:])
