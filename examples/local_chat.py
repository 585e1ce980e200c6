"""A chat with a model of your own: Ollama, vLLM, llama.cpp, LM Studio, anything that speaks Chat Completions.

    pip install 'contextfold[openai]'
    export OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_API_KEY=ollama
    export CONTEXTFOLD_MAX_INPUT_TOKENS=8192        # what your server was started with
    python local_chat.py "Hello!" "What did I say first?"

A local server often cuts what is too long without a word. Say how large its window is, and nothing is cut.
"""

import os
import sys

import openai

import contextfold as cf

MODEL = os.environ.get("LOCAL_MODEL", "llama3.3")


def main(questions: list[str]) -> None:
    with (
        openai.OpenAI() as client,
        cf.Session.open("agent.db", thread="local-chat", model=MODEL) as session,
    ):
        for question in questions:
            session.append({"role": "user", "content": question})
            request = session.prepare(system="Be brief.", max_tokens=500, dialect="openai-chat")
            try:
                reply = client.chat.completions.create(**request.body)
            except openai.BadRequestError as refusal:  # the server says that its window is smaller than we thought
                session.overflowed(refusal)
                request = session.prepare(system="Be brief.", max_tokens=500, dialect="openai-chat")
                reply = client.chat.completions.create(**request.body)
            session.append(reply)
            print(reply.choices[0].message.content)


if __name__ == "__main__":
    main(sys.argv[1:] or ["Hello!", "What did I say first?"])
