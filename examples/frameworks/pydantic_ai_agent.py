"""A Pydantic AI agent that never outgrows its window: python examples/frameworks/pydantic_ai_agent.py "question"."""

import sys
from pathlib import Path

from pydantic_ai import Agent

from contextfold.pydantic_ai import Fold


def read_file(path: str) -> str:
    """Read a file of this directory."""
    return Path(path).read_text(encoding="utf-8")


def main(question: str) -> None:
    agent = Agent("anthropic:claude-sonnet-5-5", tools=[read_file], capabilities=[Fold("agent.db")])
    print(agent.run_sync(question, conversation_id="notes").output)


main(sys.argv[1] if len(sys.argv) > 1 else "What is in notes.md?")
