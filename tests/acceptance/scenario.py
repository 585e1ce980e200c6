"""What acceptance scenarios are made of: messages, whole answers with bills, and calls of either kind of session."""

from __future__ import annotations

import base64
import inspect
import struct
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

import contextfold as cf
from contextfold.dialects import find
from contextfold.testing.wire import WireMessage

Open: TypeAlias = Callable[..., Awaitable[Any]]

MODEL = "claude-sonnet-5-5"
SUMMARY = "The user asked for several changes to the shop, and the assistant made each of them and ran the tests."
WORD = "word "


def user(text: str) -> WireMessage:
    return {"role": "user", "content": text}


def assistant(text: str) -> WireMessage:
    return {"role": "assistant", "content": text}


def answer(text: str, billed: int) -> WireMessage:
    """A whole answer of the provider's API, with its bill."""
    usage = {"input_tokens": billed, "output_tokens": 12}
    content = [{"type": "text", "text": text}]
    return {"type": "message", "role": "assistant", "content": content, "model": MODEL, "usage": usage}


def result(call: str, output: str) -> list[WireMessage]:
    use = {"type": "tool_use", "id": call, "name": "run", "input": {"command": "make log"}}
    done = {"type": "tool_result", "tool_use_id": call, "content": output}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [done]}]


def picture(size: int) -> WireMessage:
    """A user's message with an image of 800 by 600 in so many bytes."""
    header = struct.pack(">IIBBBBB", 800, 600, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + header + bytes(size)
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(data).decode()}
    return {"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": "look"}]}


async def got(value: Any) -> Any:
    """What a call gave, awaited if it must be: the only difference between the two kinds of session."""
    return await value if inspect.isawaitable(value) else value


class Used:
    """A session that remembers which of its public names were used."""

    def __init__(self, session: Any) -> None:
        self._session, self.names = session, set[str]()

    def __getattr__(self, name: str) -> Any:
        self.names.add(name)
        return getattr(self._session, name)


async def say(session: Any, messages: Iterable[WireMessage]) -> list[int]:
    return [await got(session.append(message)) for message in messages]


async def run(session: Any, messages: Iterable[WireMessage], **frame: Any) -> list[cf.Request]:
    """A recorded conversation, a request before each answer as an agent would ask for it."""
    made = []
    for message in messages:
        if message["role"] == "assistant":
            made.append(await got(session.prepare(**frame)))
        await got(session.append(message))
    return made


def exchanges(many: int, words: int = 150, text: str = "question", word: str = WORD) -> list[WireMessage]:
    said = [
        message
        for number in range(many)
        for message in (user(f"{text} {number} {word * words}"), assistant(f"reply {number} {word * words}"))
    ]
    return [*said, user("the live question")]


def rejected(requests: Iterable[cf.Request]) -> list[str]:
    return [problem.rule for request in requests for problem in find(request.dialect).check(request.body)]


def shown(request: cf.Request) -> str:
    return request.json.decode()
