"""A wire format that nobody speaks, written as an outsider would: one package, found by one entry point.

Speakers are `human`, `bot` and `narrator`; what they say is `lines`, a call is `do` with a `ref`, its result is `did`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from contextfold.dialects import Dialect, Heard, IdFields, neutral
from contextfold.domain import (
    Bill,
    Block,
    Message,
    Opaque,
    Problem,
    Reply,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ViewItem,
    decode,
    encode,
)
from contextfold.errors import BadMessage
from contextfold.models import Model

ROLES: Mapping[object, Role] = {"human": "user", "bot": "assistant", "narrator": "system"}
WHO = {role: who for who, role in ROLES.items()}


class Pieces:
    """Puts a streamed answer together."""

    def __init__(self) -> None:
        self._said, self._is_over = "", False
        self._spent: Mapping[str, Any] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        self._said += event.get("piece", "")
        self._spent = event.get("spent", self._spent)
        self._is_over = self._is_over or "spent" in event

    def heard(self) -> Heard:
        answer = {"answer": {"who": "bot", "lines": [{"say": self._said}]}, "spent": self._spent}
        return Heard(answer if self._said else None, self._is_over)


@dataclass(frozen=True)
class Parley(Dialect):
    """The dialect; it takes no request that ends with the bot."""

    list_field: ClassVar[str] = "talk"
    takes_prefill: ClassVar[bool] = False
    id_fields: ClassVar[IdFields] = IdFields(("ref", "did"), ("with", "got", "say"))

    @property
    def name(self) -> str:
        return "parley"

    def parse(self, raw: bytes) -> Message:
        value = decode(raw)
        if not isinstance(value, dict) or value.get("who") not in ROLES:
            raise BadMessage("A message of Parley says who speaks.")
        return Message(ROLES[value["who"]], tuple(map(_block, value.get("lines", ()))), raw, self.name)

    def claims(self, value: Mapping[str, Any]) -> bool:
        return "who" in value

    def reads(self, value: Mapping[str, Any]) -> bool:
        return "who" in value

    def reply(self, body: Mapping[str, Any]) -> Reply | None:
        if "answer" not in body:
            return None
        return Reply(self.parse(encode(body["answer"])), body.get("spent", {}), stop="end")

    def bill(self, usage: Mapping[str, Any]) -> Bill:
        return Bill(usage.get("in", 0), usage.get("out", 0))

    def hears(self, event: Mapping[str, Any]) -> bool:
        return "piece" in event

    def assembler(self) -> Pieces:
        return Pieces()

    def chunk(self, item: ViewItem, message: Message) -> bytes:
        if message.dialect == self.name and message.raw and not item.is_touched:
            return message.raw
        lines = [line for block in neutral.shown(item, message) if (line := _line(block))]
        return encode({"who": WHO[message.role], "lines": lines}) if lines else b""

    def body(self, chunks: Sequence[bytes], settings: Mapping[str, Any], first: ViewItem | None) -> bytes:  # noqa: ARG002
        talk = decode(b"[" + b",".join(filter(None, chunks)) + b"]")
        return encode({**settings, self.list_field: talk})

    def length(self, tokens: int, model: Model, *, is_asked: bool) -> Mapping[str, Any]:  # noqa: ARG002
        return {"longest": tokens}

    def check(self, body: Mapping[str, Any]) -> list[Problem]:
        problems, open_calls = [], set()
        for at, said in enumerate(body["talk"]):
            path = f"talk[{at}]"
            if not said["lines"]:
                problems.append(Problem(path, "empty", "Say something."))
            open_calls |= {line["ref"] for line in said["lines"] if "do" in line}
            for line in said["lines"]:
                if "did" in line and line["did"] not in open_calls:
                    problems.append(Problem(path, "orphan", "A result needs its call."))
                open_calls.discard(line.get("did"))
        if open_calls or not body["talk"] or body["talk"][-1]["who"] == "bot":
            problems.append(Problem("talk", "turn", "It is not the bot's turn."))
        return problems


def _block(line: dict[str, Any]) -> Block:
    match line:
        case {"say": str(text)}:
            return Text(text)
        case {"do": str(name), "ref": str(ref), "with": given}:
            return ToolCall(ref, name, encode(given).decode())
        case {"did": str(ref), "got": str(text)}:
            return ToolResult(ref, (Text(text),))
        case _:
            return Opaque(next(iter(line), ""), encode(line).decode())


def _line(block: Block) -> dict[str, Any] | None:
    match block:
        case Text():
            return {"say": block.text}
        case ToolCall():
            return {"do": block.name, "ref": block.id, "with": neutral.as_object(block)}
        case ToolResult():
            return {"did": block.call, "got": neutral.said(block.blocks)}
        case _:
            return None
