"""An agent with one tool on OpenAI's Responses API, with a context that is kept for it.

pip install 'contextfold[openai]'
export OPENAI_API_KEY=…
python openai_agent.py "What is in this directory?"
"""

import json
import sys
from pathlib import Path

import openai

import contextfold as cf

SYSTEM = "You answer questions about the files in the working directory. Be brief."
TOOLS = [
    {
        "type": "function",
        "name": "read_file",
        "description": "Read a text file. A directory gives the names in it.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        "strict": False,
    }
]


def read_file(path: str) -> str:
    place = Path(path)
    return "\n".join(sorted(each.name for each in place.iterdir())) if place.is_dir() else place.read_text()


def result(call: openai.types.responses.ResponseFunctionToolCall) -> dict[str, object]:
    """Do what the model asked for."""
    try:
        output = read_file(json.loads(call.arguments)["path"])
    except (OSError, ValueError, KeyError) as error:
        output = f"error: {error}"
    return {"type": "function_call_output", "call_id": call.call_id, "output": output}


def main(question: str) -> None:
    with (
        openai.OpenAI() as client,
        cf.Session.open("agent.db", thread="openai-agent", model="gpt-6-sol") as session,
    ):
        session.append({"role": "user", "content": question})
        while True:
            request = session.prepare(system=SYSTEM, tools=TOOLS, max_tokens=2_000)
            reply = client.responses.create(**request.body, store=False, include=["reasoning.encrypted_content"])
            session.append(reply)
            calls = [item for item in reply.output if item.type == "function_call"]
            if not calls:
                break
            for call in calls:
                session.append(result(call))
        print(reply.output_text)
        print(f"({session.view.count.tokens:,} tokens in view, {len(session.folds)} folds)", file=sys.stderr)


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "What is in this directory?")
