"""An agent with one tool on Anthropic's Messages API, with a context that is kept for it.

pip install 'contextfold[anthropic]'
export ANTHROPIC_API_KEY=…
python anthropic_agent.py "What is in this directory?"
"""

import sys
from pathlib import Path

import anthropic

import contextfold as cf

SYSTEM = "You answer questions about the files in the working directory. Be brief."
TOOLS = [
    {
        "name": "read_file",
        "description": "Read a text file. A directory gives the names in it.",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    }
]


def read_file(path: str) -> str:
    place = Path(path)
    return "\n".join(sorted(each.name for each in place.iterdir())) if place.is_dir() else place.read_text()


def results(reply: anthropic.types.Message) -> list[dict[str, object]]:
    """Do what the model asked for."""
    found = []
    for block in reply.content:
        if block.type == "tool_use":
            try:
                text, is_error = read_file(str(block.input["path"])), False
            except (OSError, ValueError, KeyError) as error:
                text, is_error = str(error), True
            found.append({"type": "tool_result", "tool_use_id": block.id, "content": text, "is_error": is_error})
    return found


def main(question: str) -> None:
    with (
        anthropic.Anthropic() as client,
        cf.Session.open("agent.db", thread="anthropic-agent", model="claude-sonnet-5-5") as session,
    ):
        session.append({"role": "user", "content": question})
        while True:
            request = session.prepare(system=SYSTEM, tools=TOOLS, max_tokens=2_000)  # fits and is valid, or CannotFit
            reply = client.messages.create(**request.body)
            session.append(reply)  # with what it cost: counts get better as bills come in
            if reply.stop_reason != "tool_use":
                break
            session.append({"role": "user", "content": results(reply)})
        print("".join(block.text for block in reply.content if block.type == "text"))
        print(f"({session.view.count.tokens:,} tokens in view, {len(session.folds)} folds)", file=sys.stderr)


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "What is in this directory?")
