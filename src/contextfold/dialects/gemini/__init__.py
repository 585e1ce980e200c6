"""Google's Gemini API as a dialect: `gemini`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from contextfold.dialects.assembly import Assembler, Event
from contextfold.dialects.dialect import Dialect, Settings
from contextfold.dialects.endpoint import Endpoint
from contextfold.dialects.neutral import losses
from contextfold.dialects.repairs import IdFields, Repaired
from contextfold.dialects.wire import Json, grown, readable
from contextfold.domain import Message, Problem, Reply, ViewItem
from contextfold.errors import BadConfiguration
from contextfold.models import Model

from .endpoint import ENDPOINT, GeminiStream
from .parse import NAME, claims, parse, reply
from .render import CARRIES, CONFIG, arguments, body, chunk, limited, stands
from .repair import repair
from .rules import RULES, check

SIGNED = "signed"


@dataclass(frozen=True, slots=True)
class GeminiDialect(Dialect):
    """The dialect; models since Gemini 3 take a history with calls only with thought signatures on them."""

    endpoint: ClassVar[Endpoint | None] = ENDPOINT
    id_fields: ClassVar[IdFields] = IdFields(("id",), ("args", "response", "text"))
    list_field: ClassVar[str] = "contents"
    takes_prefill: ClassVar[bool] = False

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

    def chunk(self, item: ViewItem, message: Message) -> bytes:
        return readable(chunk(item, message, self.signed))

    def as_given(self, item: ViewItem, raw: bytes) -> bytes | None:
        return readable(raw) if stands(item.shape) and not self.signed else None

    def losses(self, item: ViewItem, message: Message) -> tuple[str, ...]:
        return losses(item, message, CARRIES)

    def body(self, chunks: Sequence[bytes], settings: Settings, first: ViewItem | None) -> bytes:
        return body(chunks, settings, first)

    def grown(self, body: bytes, fresh: Sequence[bytes]) -> bytes | None:
        return grown(body, fresh)

    def limited(self, chunks: list[bytes], since: int) -> list[bytes]:
        return limited(chunks, since)

    def length(self, tokens: int, model: Model, *, is_asked: bool) -> Settings:  # noqa: ARG002
        return {CONFIG: {"maxOutputTokens": tokens}} if is_asked else {}

    def merged(self, ours: Settings, theirs: Settings) -> Settings:
        groups = ours.get(CONFIG), theirs.get(CONFIG)
        both = [each for each in groups if isinstance(each, Mapping)]
        return {**ours, **theirs, **({CONFIG: {**both[0], **both[1]}} if len(both) == 2 else {})}

    def hears(self, event: Event) -> bool:
        return any(name in event for name in ("candidates", "usageMetadata", "promptFeedback"))

    def assembler(self) -> Assembler:
        return GeminiStream()

    def flavoured(self, model: Model) -> str:
        # An unknown model is rather a new one, and new ones want signatures; so may whichever one goes on from another
        # provider's session, of which no more is known than its format.
        return SIGNED if model.binding == "part" or model.assumed or model.dialect != NAME else ""

    def in_flavour(self, flavour: str) -> Dialect:
        if flavour != SIGNED:
            raise BadConfiguration(f"Gemini has no flavour {flavour!r}. The one there is: {SIGNED}.")
        return GeminiDialect(signed=True)

    def check(self, body: Mapping[str, Any]) -> list[Problem]:
        return check(body, self.signed)

    def repair(self, body: Mapping[str, Any]) -> Repaired:
        return repair(body, self.signed)


__all__ = ["NAME", "RULES", "GeminiDialect", "arguments"]
