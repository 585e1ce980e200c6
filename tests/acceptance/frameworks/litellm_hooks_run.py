"""LiteLLM's callback as its proxy calls it, without the proxy, a few turns: `python litellm_hooks_run.py MODEL STORE`.

The proxy itself is too large for every run; `make frameworks` drives it (litellm_run.py).
"""

import asyncio
import json
import os
import sys
import warnings
from copy import deepcopy
from types import SimpleNamespace

warnings.simplefilter("ignore")
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402

from contextfold.litellm import Fold  # noqa: E402
from tests.acceptance.frameworks.task import WINDOW, Report, page, question  # noqa: E402

TURNS = 12
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOL = {"type": "function", "function": {"name": "read", "description": "Read a file.", "parameters": SCHEMA}}
KEY = SimpleNamespace(api_key="a key", user_id=None)


async def main(model: str, store: str) -> None:
    report = Report()
    fold = Fold(store, window=WINDOW, on_fold=report.folded)
    place = {"api_base": os.environ["OPENAI_BASE_URL"], "api_key": os.environ["OPENAI_API_KEY"]}
    messages: list = []
    for number in range(TURNS):
        messages.append({"role": "user", "content": question(number)})
        for step in range(2):
            before = deepcopy(messages)
            call = {"litellm_call_id": f"{number}-{step}", "litellm_session_id": "few"}
            data = {"model": model, "messages": messages, "tools": [TOOL], **call}
            asked = await fold.async_pre_call_hook(KEY, None, data, "acompletion")
            shown = {name: asked[name] for name in ("model", "messages", "tools")}
            answer = await litellm.acompletion(**shown, **place)
            await fold.async_post_call_success_hook(asked, KEY, answer)
            report.compare(before, messages)
            message = answer.choices[0].message.model_dump(exclude_none=True)
            kept = {name: message[name] for name in ("role", "content", "tool_calls") if message.get(name)}
            messages.append({"content": "", **kept})
            for each in kept.get("tool_calls") or ():
                found = page(json.loads(each["function"]["arguments"])["path"])
                messages.append({"role": "tool", "tool_call_id": each["id"], "content": found})
    report.tell(messages=len(messages), turns=TURNS)
    fold.conversations.close()


asyncio.run(main(*sys.argv[1:]))
