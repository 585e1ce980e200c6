"""Anthropic's Messages API as a dialect: `anthropic`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from contextfold.dialects.assembly import Assembler, Event
from contextfold.dialects.dialect import Dialect, Marks, Settings, Wish
from contextfold.dialects.endpoint import Endpoint
from contextfold.dialects.neutral import losses
from contextfold.dialects.repairs import IdFields, Repaired
from contextfold.dialects.wire import Json, bill_beside_the_cache, readable
from contextfold.domain import Bill, Message, Problem, Reply, View, ViewItem
from contextfold.models import Model

from . import render
from .endpoint import ENDPOINT, AnthropicStream
from .parse import NAME, claims, parse, reply
from .render import CARRIES, body, chunk, grown, limited, marked, stands_unread
from .repair import repair
from .rules import RULES, check
from .turns import Allowed, refused_sampling, settled


@dataclass(frozen=True, slots=True)
class AnthropicDialect(Dialect):
    """The dialect; `allowed` says what the model at hand takes, where its name does not."""

    endpoint: ClassVar[Endpoint | None] = ENDPOINT
    id_fields: ClassVar[IdFields] = IdFields(("id", "tool_use_id"), ("input", "text"))
    takes_prefill: ClassVar[bool] = False
    on_demand: ClassVar[str] = render.ON_DEMAND
    inline: ClassVar[str] = render.THRESHOLD

    allowed: Allowed | None = None

    @property
    def name(self) -> str:
        return NAME

    def parse(self, raw: bytes) -> Message:
        return parse(raw)

    def claims(self, value: Json) -> bool:
        return claims(value)

    def reads(self, value: Json) -> bool:
        return "parts" not in value and value.get("role") != "developer"

    def reply(self, body: Mapping[str, Any]) -> Reply | None:
        return reply(body)

    def chunk(self, item: ViewItem, message: Message) -> bytes:
        return readable(chunk(item, message))

    def as_given(self, item: ViewItem, raw: bytes) -> bytes | None:
        return readable(raw) if stands_unread(item.shape) else None

    def losses(self, item: ViewItem, message: Message) -> tuple[str, ...]:
        return losses(item, message, CARRIES)

    def lost_settings(self, given: Settings) -> tuple[str, ...]:
        return tuple(
            f"{name!r} is left out: this model takes no sampling parameters" for name in refused_sampling(given)
        )

    def body(self, chunks: Sequence[bytes], given: Settings, first: ViewItem | None) -> bytes:
        return body(chunks, given, first)

    def grown(self, body: bytes, fresh: Sequence[bytes]) -> bytes | None:
        return grown(body, fresh)

    def limited(self, chunks: list[bytes], since: int) -> list[bytes]:
        return limited(settled(chunks, since), since)

    def marked(self, chunk: bytes) -> bytes:
        return marked(chunk)

    def length(self, tokens: int, model: Model, *, is_asked: bool) -> Settings:  # noqa: ARG002
        return {"max_tokens": tokens}  # every request must say it

    def marks(self, view: View, model: Model, fixed: int, unchanged: int) -> Marks:
        return render.marks(view, model, fixed, unchanged)

    def marked_settings(self, given: Settings, marks: Marks) -> Settings:
        return render.marked_settings(given, marks)

    def compacting(self, wish: Wish) -> tuple[Settings, tuple[str, ...]]:
        return render.compacting(wish)

    def compaction_settings(self, tools: object) -> Settings:
        return render.compaction_settings(tools)

    def drops_stale(self, given: Settings) -> bool:
        return render.drops_stale(given)

    def dropping_stale(self, given: Settings) -> Settings:
        return render.dropping_stale(given)

    def betas(self, given: Settings) -> tuple[str, ...]:
        return (render.BINDING,) if render.drops_stale(given) else ()

    def hears(self, event: Event) -> bool:
        return event.get("type") == "message_start"

    def assembler(self) -> Assembler:
        return AnthropicStream()

    def bill(self, usage: Mapping[str, Any]) -> Bill:
        return bill_beside_the_cache(usage)

    def check(self, body: Mapping[str, Any]) -> list[Problem]:
        return check(body, self.allowed)

    def repair(self, body: Mapping[str, Any]) -> Repaired:
        return repair(body, self.allowed)


__all__ = ["NAME", "RULES", "Allowed", "AnthropicDialect"]
