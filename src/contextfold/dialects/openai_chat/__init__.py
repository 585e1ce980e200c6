"""OpenAI's Chat Completions API, and whoever copies it, as a dialect: `openai-chat`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from contextfold.dialects.breakpoints import marked
from contextfold.dialects.halves import readable
from contextfold.dialects.losing import losses
from contextfold.dialects.mending import Repaired
from contextfold.dialects.wire import Json
from contextfold.domain import Item, Message, Problem, Reply

from .alternating import in_turn
from .answer import claims, reply
from .carries import CARRIES
from .flavours import PLAIN, Flavour, flavour_of, flavours
from .parse import NAME, parse
from .render import chunk
from .repair import repair
from .request import body
from .rules import RULES, check
from .seasoned import seasoned


class OpenAIChat(Struct, frozen=True):
    """The dialect; a flavour says what a compatible server demands beyond it."""

    flavour: Flavour = PLAIN

    @property
    def name(self) -> str:
        return NAME

    def parse(self, raw: bytes) -> Message:
        return parse(raw)

    def claims(self, value: Json) -> bool:
        return claims(value)

    def reads(self, value: Json) -> bool:
        return "parts" not in value

    def reply(self, body: Mapping[str, Any]) -> Reply | None:
        return reply(body)

    def chunk(self, item: Item, message: Message) -> bytes:
        return readable(seasoned(chunk(item, message), item, self.flavour))

    def losses(self, item: Item, message: Message) -> tuple[str, ...]:
        return losses(item, message, CARRIES)

    def body(self, chunks: Sequence[bytes], settings: Mapping[str, Any], first: Item | None) -> bytes:  # noqa: ARG002
        return body(chunks, settings, in_turn if self.flavour.alternates else list)

    def limited(self, chunks: list[bytes], since: int) -> list[bytes]:  # noqa: ARG002
        return chunks

    def marked(self, chunk: bytes) -> bytes:
        return marked(chunk)

    def check(self, body: Mapping[str, Any]) -> list[Problem]:
        return check(body, self.flavour)

    def repair(self, body: Mapping[str, Any]) -> Repaired:
        return repair(body, self.flavour)


__all__ = ["NAME", "RULES", "Flavour", "OpenAIChat", "flavour_of", "flavours"]
