"""Google's Gemini API as a dialect: `gemini`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from contextfold.dialects.halves import readable
from contextfold.dialects.losing import losses
from contextfold.dialects.mending import Repaired
from contextfold.dialects.wire import Json, grown
from contextfold.domain import Item, Message, Problem, Reply

from .answer import claims, reply
from .carries import CARRIES
from .parse import NAME, parse
from .render import chunk
from .repair import repair
from .request import OPENER, arguments, body
from .rules import RULES, check
from .turns import limited


class Gemini(Struct, frozen=True):
    """The dialect; models since Gemini 3 take a history with calls only with thought signatures on them."""

    signed: bool = False

    @property
    def name(self) -> str:
        return NAME

    def parse(self, raw: bytes) -> Message:
        return parse(raw)

    def claims(self, value: Json) -> bool:
        return claims(value)

    def reads(self, value: Json) -> bool:
        return claims(value)

    def reply(self, body: Mapping[str, Any]) -> Reply | None:
        return reply(body)

    def chunk(self, item: Item, message: Message) -> bytes:
        return readable(chunk(item, message, self.signed))

    def losses(self, item: Item, message: Message) -> tuple[str, ...]:
        return losses(item, message, CARRIES)

    def body(self, chunks: Sequence[bytes], settings: Mapping[str, Any], first: Item | None) -> bytes:
        return body(chunks, settings, first)

    def grown(self, body: bytes, fresh: Sequence[bytes]) -> bytes | None:
        return grown(body, fresh)

    def limited(self, chunks: list[bytes], since: int) -> list[bytes]:
        return limited(chunks, since)

    def check(self, body: Mapping[str, Any]) -> list[Problem]:
        return check(body, self.signed)

    def repair(self, body: Mapping[str, Any]) -> Repaired:
        return repair(body, self.signed)


__all__ = ["NAME", "OPENER", "RULES", "Gemini", "arguments"]
