"""An agent of OpenHands' SDK that never outgrows its window: python examples/frameworks/openhands_agent.py "question".

Needs Python 3.12. `LLM_MODEL` names the model as LiteLLM does.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.sdk.conversation import get_agent_final_response
from openhands.sdk.tool import Action, Observation, ToolDefinition, ToolExecutor, register_tool

from contextfold.openhands import Fold


class ReadAction(Action):
    path: str


class ReadObservation(Observation):
    """The file."""


class Reader(ToolExecutor):
    def __call__(self, action: ReadAction, conversation: object = None) -> ReadObservation:  # noqa: ARG002
        found: ReadObservation = ReadObservation.from_text(Path(action.path).read_text(encoding="utf-8"))
        return found


class ReadFileTool(ToolDefinition[ReadAction, ReadObservation]):
    name = "read_file"

    @classmethod
    def create(cls, *_: object, **__: object) -> Sequence["ReadFileTool"]:
        words = "Read a file of this directory."
        return [cls(description=words, action_type=ReadAction, observation_type=ReadObservation, executor=Reader())]


def main(question: str) -> None:
    llm = LLM(model=os.environ.get("LLM_MODEL", "openai/gpt-4.1"), api_key=os.environ["OPENAI_API_KEY"])
    register_tool("ReadFileTool", ReadFileTool)
    fold = Fold(store="agent.db")
    agent = Agent(llm=llm, tools=[Tool(name="ReadFileTool")], condenser=fold, include_default_tools=[])
    conversation = Conversation(agent=agent, workspace=str(Path.cwd()), visualizer=None)
    conversation.send_message(question)
    conversation.run()
    print(get_agent_final_response(conversation.state.events))
    fold.close()


main(sys.argv[1] if len(sys.argv) > 1 else "What is in notes.md?")
