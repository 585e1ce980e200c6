"""Google's Agent Development Kit with `Fold`, forty turns: `python adk_run.py model STORE`."""

import asyncio
import sys
import warnings
from copy import deepcopy

warnings.simplefilter("ignore")

from google.adk.agents import LlmAgent, RunConfig  # noqa: E402
from google.adk.agents.run_config import StreamingMode  # noqa: E402
from google.adk.runners import Runner  # noqa: E402
from google.adk.sessions import InMemorySessionService  # noqa: E402
from google.genai import types  # noqa: E402

from contextfold.adk import Fold  # noqa: E402
from tests.acceptance.frameworks.task import TURNS, WINDOW, Report, page, question  # noqa: E402


def read(path: str) -> dict[str, str]:
    """Read a file."""
    return {"output": page(path)}


async def main(model: str, store: str) -> None:
    report = Report()
    fold = Fold(store or None, window=WINDOW, on_fold=report.folded)
    agent = LlmAgent(name="reader", model=model, instruction="Be brief.", tools=[read])
    sessions = InMemorySessionService()
    runner = Runner(agent=agent, app_name="forty", session_service=sessions, plugins=[fold])
    await sessions.create_session(app_name="forty", user_id="me", session_id="forty")
    before: list = []
    for number in range(TURNS):
        mode = StreamingMode.NONE if number % 3 else StreamingMode.SSE
        asked = types.Content(role="user", parts=[types.Part(text=question(number))])
        config = RunConfig(streaming_mode=mode)
        given = {"user_id": "me", "session_id": "forty", "new_message": asked, "run_config": config}
        if number % 3 == 2:  # its synchronous loop, in a thread of its own
            await asyncio.to_thread(lambda: list(runner.run(**given)))  # noqa: B023  # awaited here
        else:
            async for _ in runner.run_async(**given):
                pass
        kept = await sessions.get_session(app_name="forty", user_id="me", session_id="forty")
        after = [event.content.model_dump() for event in kept.events if event.content]
        report.compare(before, after)
        before = deepcopy(after)
    report.tell(messages=len(before))
    await runner.close()


asyncio.run(main(*sys.argv[1:]))
