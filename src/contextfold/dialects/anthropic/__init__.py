"""Anthropic's Messages API as a dialect: `anthropic`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from contextfold.dialects.halves import readable
from contextfold.dialects.losing import losses
from contextfold.dialects.mending import Repaired
from contextfold.dialects.wire import Json
from contextfold.domain import Item, Message, Problem, Reply

from .answer import claims, reply
from .carries import CARRIES
from .marks import limited, marked
from .parse import NAME, parse
from .render import chunk
from .repair import repair
from .request import OPENER, body, grown
from .rules import RULES, Allowed, check
from .servers import settled


class Anthropic(Struct, frozen=True):
    """The dialect; `allowed` says what the model at hand takes, where its name does not."""

    allowed: Allowed | None = None

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
        return readable(chunk(item, message))

    def losses(self, item: Item, message: Message) -> tuple[str, ...]:
        return losses(item, message, CARRIES)

    def body(self, chunks: Sequence[bytes], settings: Mapping[str, Any], first: Item | None) -> bytes:
        return body(chunks, settings, first)

    def grown(self, body: bytes, fresh: Sequence[bytes]) -> bytes | None:
        return grown(body, fresh)

    def limited(self, chunks: list[bytes], since: int) -> list[bytes]:
        return limited(settled(chunks, since), since)

    def marked(self, chunk: bytes) -> bytes:
        return marked(chunk)

    def check(self, body: Mapping[str, Any]) -> list[Problem]:
        return check(body, self.allowed)

    def repair(self, body: Mapping[str, Any]) -> Repaired:
        return repair(body, self.allowed)


__all__ = ["NAME", "OPENER", "RULES", "Allowed", "Anthropic"]
