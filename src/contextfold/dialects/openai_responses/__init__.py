"""OpenAI's Responses API as a dialect: `openai-responses`."""

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

from .answer import claims, reads, reply
from .carries import CARRIES
from .items import side, turns
from .parse import NAME, parse
from .render import chunk
from .repair import repair
from .request import CHAINS, body, is_chained
from .rules import RULES, check
from .successors import limited


class OpenAIResponses(Struct, frozen=True):
    """The dialect; some servers that copy it want each output right behind its call."""

    adjacent: bool = False

    @property
    def name(self) -> str:
        return NAME

    def parse(self, raw: bytes) -> Message:
        return parse(raw)

    def claims(self, value: Json) -> bool:
        return claims(value)

    def reads(self, value: Json) -> bool:
        return reads(value)

    def reply(self, body: Mapping[str, Any]) -> Reply | None:
        return reply(body)

    def chunk(self, item: Item, message: Message) -> bytes:
        return readable(chunk(item, message))

    def losses(self, item: Item, message: Message) -> tuple[str, ...]:
        return losses(item, message, CARRIES)

    def body(self, chunks: Sequence[bytes], settings: Mapping[str, Any], first: Item | None) -> bytes:  # noqa: ARG002
        return body(chunks, settings)

    def limited(self, chunks: list[bytes], since: int) -> list[bytes]:
        return limited(chunks, since)

    def marked(self, chunk: bytes) -> bytes:
        return marked(chunk)

    def check(self, body: Mapping[str, Any]) -> list[Problem]:
        return check(body, self.adjacent)

    def repair(self, body: Mapping[str, Any]) -> Repaired:
        return repair(body, self.adjacent)


__all__ = ["CHAINS", "NAME", "RULES", "OpenAIResponses", "is_chained", "side", "turns"]
