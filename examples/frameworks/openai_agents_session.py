"""The OpenAI Agents SDK with a session that never outgrows its window: python …/openai_agents_session.py "question"."""

import asyncio
import sys
from pathlib import Path

from agents import Agent, Runner, function_tool

from contextfold.openai_agents import FoldSession, run_config


@function_tool
def read_file(path: str) -> str:
    """Read a file of this directory."""
    return Path(path).read_text(encoding="utf-8")


async def main(question: str) -> None:
    agent = Agent("reader", model="gpt-6-sol", tools=[read_file])
    session = FoldSession("notes", "agent.db")
    answer = await Runner.run(agent, question, session=session, run_config=run_config(session), hooks=session)
    print(answer.final_output)


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "What is in notes.md?"))
