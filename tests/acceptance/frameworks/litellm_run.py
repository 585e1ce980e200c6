"""LiteLLM's proxy with `Fold`, forty turns of a plain client: `python litellm_run.py API:provider/model STORE`.

The proxy runs in this process with a configuration of its own; it is asked over HTTP, streamed and not.
"""

import asyncio
import json
import os
import sys
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["LITELLM_MODE"] = "PRODUCTION"

import httpx  # noqa: E402
import litellm  # noqa: E402
import yaml  # noqa: E402
from litellm.proxy import proxy_server  # noqa: E402

from contextfold.dialects import Listener  # noqa: E402
from contextfold.litellm import Fold  # noqa: E402
from tests.acceptance.frameworks.task import TURNS, WINDOW, Report, page, question  # noqa: E402

KEY = "sk-test-of-forty-turns"
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
CHAT_TOOL = {"type": "function", "function": {"name": "read", "description": "Read a file.", "parameters": SCHEMA}}
CLAUDE_TOOL = {"name": "read", "description": "Read a file.", "input_schema": SCHEMA}


def asked(api: str, messages: list[dict[str, Any]], stream: bool) -> tuple[str, dict[str, Any]]:
    body = {"model": "house-model", "messages": messages, "stream": stream, "litellm_session_id": "forty"}
    if api == "responses":
        kept = {"store": False, "include": ["reasoning.encrypted_content"]}
        tool = {"type": "function", "strict": False, **CHAT_TOOL["function"]}
        return "/v1/responses", {**body, **kept, "tools": [tool], "input": body.pop("messages")}
    if api == "anthropic":
        return "/v1/messages", {**body, "tools": [CLAUDE_TOOL], "max_tokens": 500}
    return "/v1/chat/completions", {**body, "tools": [CHAT_TOOL]}


def answered(message: dict[str, Any]) -> list[dict[str, Any]]:
    """What the client says to an answer: the results of its calls."""
    if message.get("type") == "function_call":
        found = page(json.loads(message["arguments"])["path"])
        return [{"type": "function_call_output", "call_id": message["call_id"], "output": found}]
    if "type" in message:
        return []
    if isinstance(message["content"], list):
        calls = [each for each in message["content"] if each["type"] == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": page(call["input"]["path"])} for call in calls
        ]
        return [{"role": "user", "content": results}] if results else []
    return [
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": page(json.loads(call["function"]["arguments"])["path"]),
        }
        for call in message.get("tool_calls") or ()
    ]


async def said(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The answer as the client puts it into its list: one message, or the items of Responses."""
    reply = await client.post(path, json=body, headers={"authorization": f"Bearer {KEY}"})
    assert reply.status_code == 200, reply.text
    value = reply.json() if not body["stream"] else heard(reply.content)
    if "output" in value:
        return [{name: each for name, each in item.items() if each is not None} for item in value["output"]]
    message = value["choices"][0]["message"] if "choices" in value else value
    kept = {name: message[name] for name in ("role", "content", "tool_calls") if message.get(name) is not None}
    return [{"content": "", **kept}]


def heard(stream: bytes) -> dict[str, Any]:
    listener = Listener()
    listener.hear(stream)
    return listener.heard().answer


async def main(model: str, store: str) -> None:
    api, _, model = model.partition(":")
    report = Report()
    fold = Fold(store, window=WINDOW, on_fold=report.folded)
    base = os.environ["ANTHROPIC_BASE_URL" if api == "anthropic" else "OPENAI_BASE_URL"]
    token = os.environ["ANTHROPIC_API_KEY" if api == "anthropic" else "OPENAI_API_KEY"]
    params = {"model": model, "api_base": base, "api_key": token}
    config = {
        "model_list": [{"model_name": "house-model", "litellm_params": params}],
        "general_settings": {"master_key": KEY},
    }
    Path("config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")  # noqa: ASYNC240  # nothing runs yet
    await proxy_server.initialize(config="config.yaml")
    litellm.callbacks = [*litellm.callbacks, fold]
    messages: list[dict[str, Any]] = []
    before: list = []
    transport = httpx.ASGITransport(proxy_server.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://proxy", timeout=60) as client:
        for number in range(TURNS):
            messages.append({"role": "user", "content": question(number)})
            for _ in range(2):
                path, body = asked(api, messages, number % 3 == 0)
                answer = await said(client, path, deepcopy(body))
                messages += [*answer, *(result for each in answer for result in answered(each))]
            report.compare(before, messages)
            before = deepcopy(messages)
    answers = {"responses": 2 * TURNS}.get(api)  # the items of an answer are one message
    results = sum(each.get("type") == "function_call_output" for each in messages)
    report.tell(messages=TURNS + answers + results if answers else len(messages))
    fold.conversations.close()


asyncio.run(main(*sys.argv[1:]))
sys.stdout.flush()
os._exit(0)  # the proxy's own workers would be waited for
