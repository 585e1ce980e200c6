"""OpenHands with `Fold`, forty turns: `python openhands_run.py provider/model STORE`."""

import os
import sys
import warnings
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

warnings.simplefilter("ignore")
os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", OPENHANDS_SUPPRESS_BANNER="1", LOG_LEVEL="ERROR")

from openhands.sdk import LLM, Agent, Conversation, Tool  # noqa: E402
from openhands.sdk.event import ActionEvent, Condensation, MessageEvent, ObservationEvent  # noqa: E402
from openhands.sdk.tool import Action, Observation, ToolDefinition, ToolExecutor, register_tool  # noqa: E402

from contextfold.openhands import Fold  # noqa: E402
from tests.acceptance.frameworks.task import TURNS, WINDOW, Report, page, question  # noqa: E402


class ReadAction(Action):
    path: str


class ReadObservation(Observation):
    """The file."""


class Reader(ToolExecutor):
    def __call__(self, action: ReadAction, conversation: object = None) -> ReadObservation:  # noqa: ARG002
        return ReadObservation.from_text(page(action.path))


class ReadTool(ToolDefinition[ReadAction, ReadObservation]):
    name = "read"

    @classmethod
    def create(cls, *_: object, **__: object) -> Sequence["ReadTool"]:
        return [
            cls(
                description="Read a file.",
                action_type=ReadAction,
                observation_type=ReadObservation,
                executor=Reader(),
            )
        ]


def main(model: str, store: str) -> None:
    report = Report()
    base = os.environ["ANTHROPIC_BASE_URL" if model.startswith("anthropic/") else "OPENAI_BASE_URL"]
    key = os.environ["ANTHROPIC_API_KEY" if model.startswith("anthropic/") else "OPENAI_API_KEY"]
    llm = LLM(model=model, base_url=base, api_key=key, num_retries=0, usage_id="agent")
    register_tool("ReadTool", ReadTool)
    fold = Fold(store=store, window=WINDOW)
    agent = Agent(llm=llm, tools=[Tool(name="ReadTool")], condenser=fold, include_default_tools=[])
    conversation = Conversation(agent=agent, workspace=str(Path.cwd()), visualizer=None)
    before: list = []
    for number in range(TURNS):
        conversation.send_message(question(number))
        conversation.run()
        after = [event.model_dump(mode="json") for event in conversation.state.events]
        report.compare(before, after)
        before = deepcopy(after)
        if number == TURNS // 2:  # one that remembers nothing finds its place in the store
            fold._seqs.clear()
    report.folds = sum(isinstance(event, Condensation) for event in conversation.state.events)
    said = sum(isinstance(event, MessageEvent | ObservationEvent) for event in conversation.state.events)
    asked = len({event.llm_response_id for event in conversation.state.events if isinstance(event, ActionEvent)})
    report.tell(messages=said + asked - 1)  # the last answer was shown to no model
    fold.close()


main(*sys.argv[1:])
