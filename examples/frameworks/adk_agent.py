"""An agent of Google's kit that never outgrows its window: python examples/frameworks/adk_agent.py "question"."""

import asyncio
import sys
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from contextfold.adk import Fold


def read_file(path: str) -> str:
    """Read a file of this directory."""
    return Path(path).read_text(encoding="utf-8")


async def main(question: str) -> None:
    agent = LlmAgent(name="reader", model="gemini-3.8-flash", tools=[read_file])
    sessions = InMemorySessionService()
    runner = Runner(agent=agent, app_name="notes", session_service=sessions, plugins=[Fold("agent.db")])
    await sessions.create_session(app_name="notes", user_id="me", session_id="notes")
    asked = types.Content(role="user", parts=[types.Part(text=question)])
    async for event in runner.run_async(user_id="me", session_id="notes", new_message=asked):
        if event.is_final_response() and event.content and event.content.parts:
            print(event.content.parts[-1].text)
    await runner.close()


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "What is in notes.md?"))
