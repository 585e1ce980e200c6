"""A task of many tool calls in a small window, by official SDKs: thinking, calls and results go back and forth."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from contextfold.testing.server import Call, Say, StrictServer, strict_server
from tests.acceptance.gateway.house import House, gateway

WINDOW = 32_000
OUTPUT = "src/module.py: def function(argument): return argument  # a line of a file\n" * 60
CALLS = 40


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server(window=WINDOW) as server:
        yield server


@pytest.fixture
def house(tmp_path: Path, server: StrictServer) -> Iterator[House]:
    with gateway(tmp_path / "store.db", server.url, window=WINDOW) as house:
        yield house


def steps(thinking: str = "") -> list[Say]:
    called = [Say(f"Step {at}.", (Call("read", {"path": f"file{at}.py"}),), thinking) for at in range(CALLS)]
    return [*called, Say("All done.")]


@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "claude-opus-4-8"])
def test_forty_calls_with_thinking_fit_and_every_message_is_kept(
    house: House, server: StrictServer, model: str
) -> None:
    server.answer(*steps("Let me look at this file first."))
    history: list[Any] = [{"role": "user", "content": "Read all files, one by one."}]
    tools: Any = [{"name": "read", "description": "Reads a file", "input_schema": {"type": "object", "properties": {}}}]
    with anthropic.Anthropic(base_url=house.url, api_key=server.token, max_retries=0) as client:
        for _ in range(CALLS + 1):
            with client.messages.stream(
                model=model, max_tokens=2_000, messages=history, tools=tools, thinking={"type": "adaptive"}
            ) as stream:
                reply = stream.get_final_message()
            history.append({"role": "assistant", "content": [block.to_dict() for block in reply.content]})
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": OUTPUT}
                for block in reply.content
                if block.type == "tool_use"
            ]
            if not results:
                break
            history.append({"role": "user", "content": results})
    assert history[-1]["content"][-1]["text"] == "All done."
    assert server.refused == []
    (messages,) = house.threads(server.token).values()
    assert len(messages) == len(history)
    assert house.gateway.metrics.text().count("folds_total{") == 1


def test_forty_calls_over_responses_fit_and_every_item_is_kept(house: House, server: StrictServer) -> None:
    server.answer(*steps("Let me look at this file first."))
    history: list[Any] = [{"role": "user", "content": "Read all files, one by one."}]
    tools: Any = [{"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}]
    with openai.OpenAI(base_url=f"{house.url}/v1", api_key=server.token, max_retries=0) as client:
        for _ in range(CALLS + 1):
            # Given beside the SDK's own field, which walks through every item at every turn.
            reply = client.responses.create(
                model="gpt-6-sol",
                extra_body={"input": history},
                tools=tools,
                store=False,
                include=["reasoning.encrypted_content"],
            )
            history += [item.to_dict() for item in reply.output]
            calls = [item.call_id for item in reply.output if item.type == "function_call"]
            if not calls:
                break
            history += [{"type": "function_call_output", "call_id": call, "output": OUTPUT} for call in calls]
    assert history[-1]["content"][0]["text"] == "All done."
    assert server.refused == []
    (messages,) = house.threads(server.token).values()
    items = sum(len(each) if isinstance(each, list) else 1 for each in messages)
    assert items == len(history)
