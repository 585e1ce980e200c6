"""Anthropic's Messages API as a dialect: `anthropic`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from contextfold.dialects.assembly import Assembler, Event
from contextfold.dialects.dialect import Dialect, Settings
from contextfold.dialects.endpoint import Endpoint
from contextfold.dialects.neutral import losses
from contextfold.dialects.repairs import IdFields, Repaired
from contextfold.dialects.wire import Json, bill_beside_the_cache, readable
from contextfold.domain import Message, Problem, ViewItem
from contextfold.models import Model

from . import parse as reader
from . import render
from .endpoint import ENDPOINT, AnthropicStream
from .parse import NAME
from .repair import repair
from .rules import RULES, check
from .turns import Allowed, refused_sampling


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

    parse = staticmethod(reader.parse)
    words = staticmethod(reader.words)
    reads = staticmethod(reader.reads)
    reply = staticmethod(reader.reply)
    as_given = staticmethod(render.as_given)
    body = staticmethod(render.body)
    grown = staticmethod(render.grown)
    limited = staticmethod(render.settled_and_limited)
    may_be_limited = staticmethod(render.may_be_limited)
    marked = staticmethod(render.marked)
    marks = staticmethod(render.marks)
    marked_settings = staticmethod(render.marked_settings)
    compacting = staticmethod(render.compacting)
    compaction_settings = staticmethod(render.compaction_settings)
    drops_stale = staticmethod(render.drops_stale)
    dropping_stale = staticmethod(render.dropping_stale)
    bill = staticmethod(bill_beside_the_cache)

    def claims(self, value: Json) -> bool:
        return reader.claims(value)

    def chunk(self, item: ViewItem, message: Message) -> bytes:
        return readable(render.chunk(item, message))

    def losses(self, item: ViewItem, message: Message) -> tuple[str, ...]:
        return losses(item, message, render.CARRIES)

    def lost_settings(self, given: Settings) -> tuple[str, ...]:
        return tuple(
            f"{name!r} is left out: this model takes no sampling parameters" for name in refused_sampling(given)
        )

    def length(self, tokens: int, model: Model, *, is_asked: bool) -> Settings:  # noqa: ARG002
        return {"max_tokens": tokens}  # every request must say it

    def betas(self, given: Settings) -> tuple[str, ...]:
        return (render.BINDING,) if render.drops_stale(given) else ()

    def hears(self, event: Event) -> bool:
        return event.get("type") == "message_start"

    def assembler(self) -> Assembler:
        return AnthropicStream()

    def check(self, body: Mapping[str, Any]) -> list[Problem]:
        return check(body, self.allowed)

    def repair(self, body: Mapping[str, Any]) -> Repaired:
        return repair(body, self.allowed)


__all__ = ["NAME", "RULES", "Allowed", "AnthropicDialect"]
