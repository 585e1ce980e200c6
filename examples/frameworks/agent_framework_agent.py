"""An agent of Microsoft's framework that never outgrows its window: python …/agent_framework_agent.py "question"."""

import asyncio
import sys
from pathlib import Path

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient

from contextfold.agent_framework import Fold


def read_file(path: str) -> str:
    """Read a file of this directory."""
    return Path(path).read_text(encoding="utf-8")


async def main(question: str) -> None:
    client = OpenAIChatClient(model="gpt-6-sol")
    options = {"store": False, "include": ["reasoning.encrypted_content"]}
    agent = Agent(client, tools=[read_file], middleware=[Fold("agent.db")], default_options=options)
    print(await agent.run(question, session=agent.create_session(session_id="notes")))


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "What is in notes.md?"))
