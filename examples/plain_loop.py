"""A tool loop without any SDK: `request.json` is the body to send, the answer goes back in as it came.

export OPENAI_BASE_URL=https://api.example.com/v1 OPENAI_API_KEY=…
python plain_loop.py "What is 6 times 7?"
"""

import json
import os
import sys
import urllib.request
from typing import Any

import contextfold as cf

MODEL = os.environ.get("LOCAL_MODEL", "llama3.3")
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "multiply",
            "description": "Multiply two numbers.",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                "required": ["a", "b"],
            },
        },
    }
]


def send(body: bytes) -> dict[str, Any]:
    address = os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions"
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    request = urllib.request.Request(address, body, headers)  # noqa: S310  # the user's own address
    with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
        answer: dict[str, Any] = json.load(response)
        return answer


def result(call: dict[str, Any]) -> dict[str, object]:
    given = json.loads(call["function"]["arguments"])
    return {"role": "tool", "tool_call_id": call["id"], "content": str(given["a"] * given["b"])}


def main(question: str) -> None:
    with cf.Session.open("agent.db", thread="plain-loop", model=MODEL) as session:
        session.append({"role": "user", "content": question})
        while True:
            request = session.prepare(system="Use your tool.", tools=TOOLS, max_tokens=500, dialect="openai-chat")
            answer = send(request.json)
            session.append(answer)
            message = answer["choices"][0]["message"]
            if not message.get("tool_calls"):
                break
            for call in message["tool_calls"]:
                session.append(result(call))
        print(message["content"])


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "What is 6 times 7?")
