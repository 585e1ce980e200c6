"""The OpenAI Agents SDK, two turns of one conversation: `python openai_agent.py model chat_completions|responses`."""

import sys
from pathlib import Path

from agents import Agent, Runner, function_tool, set_default_openai_api, set_tracing_disabled


@function_tool
def read_note(name: str) -> str:
    """Read one of the notes in this directory."""
    return Path(name).read_text(encoding="utf-8")


def main(model: str, api: str) -> None:
    set_tracing_disabled(True)
    set_default_openai_api(api)
    agent = Agent("reader", model=model, tools=[read_note])
    first = Runner.run_sync(agent, "What does alpha.txt say?")
    print(first.final_output)
    question = {"role": "user", "content": "And what do beta.txt and gamma.txt say?"}
    print(Runner.run_sync(agent, [*first.to_input_list(), question]).final_output)


main(*sys.argv[1:])
