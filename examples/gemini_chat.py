"""A chat on Gemini that never outgrows its window.

pip install 'contextfold[gemini]'
export GOOGLE_API_KEY=…
python gemini_chat.py "Hello!" "What did I say first?"
"""

import sys

from google import genai

import contextfold as cf
from contextfold.dialects.gemini import arguments

SYSTEM = "You are a friendly companion. Be brief."


def main(questions: list[str]) -> None:
    with (
        genai.Client() as client,
        cf.Session.open("agent.db", thread="gemini-chat", model="gemini-2.5-pro") as session,
    ):
        for question in questions:
            session.append({"role": "user", "parts": [{"text": question}]})
            request = session.prepare(system=SYSTEM, max_tokens=2_000)
            reply = client.models.generate_content(**arguments(request.body))
            session.append(reply)
            print(reply.text)


if __name__ == "__main__":
    main(sys.argv[1:] or ["Hello!", "What did I say first?"])
