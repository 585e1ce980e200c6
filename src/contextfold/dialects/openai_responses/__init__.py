"""OpenAI's Responses API as a dialect: `openai-responses`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from contextfold.dialects.assembly import Assembler, Event
from contextfold.dialects.dialect import Dialect, Marks, Settings, Wish, marked, marks
from contextfold.dialects.endpoint import Endpoint
from contextfold.dialects.neutral import losses
from contextfold.dialects.repairs import IdFields, Repaired
from contextfold.dialects.wire import Json, readable
from contextfold.domain import Message, Problem, Reply, View, ViewItem
from contextfold.errors import BadConfiguration
from contextfold.models import Model

from .endpoint import ENDPOINT, ResponsesStream
from .parse import NAME, claims, parse, reads, reply, side, turns
from .render import CARRIES, CHAINS, bare, body, chunk, limited, stands
from .repair import repair
from .rules import RULES, check

ADJACENT = "adjacent"


@dataclass(frozen=True, slots=True)
class OpenAIResponsesDialect(Dialect):
    """The dialect; some servers that copy it want each output right behind its call."""

    endpoint: ClassVar[Endpoint | None] = ENDPOINT
    id_fields: ClassVar[IdFields] = IdFields(("id", "call_id"), ("arguments", "input", "text"))
    list_field: ClassVar[str] = "input"
    is_written_in_items: ClassVar[bool] = True
    on_demand: ClassVar[str] = "responses/compact"
    inline: ClassVar[str] = "context_management"

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

    def chunk(self, item: ViewItem, message: Message) -> bytes:
        return readable(chunk(item, message))

    def as_given(self, item: ViewItem, raw: bytes) -> bytes | None:
        return readable(bare(raw)) if stands(item.shape) else None

    def losses(self, item: ViewItem, message: Message) -> tuple[str, ...]:
        return losses(item, message, CARRIES)

    def body(self, chunks: Sequence[bytes], settings: Settings, first: ViewItem | None) -> bytes:  # noqa: ARG002
        return body(chunks, settings)

    def limited(self, chunks: list[bytes], since: int) -> list[bytes]:
        return limited(chunks, since)

    def marked(self, chunk: bytes) -> bytes:
        return marked(chunk)

    def is_of_an_answer(self, value: Json) -> bool:
        return side(value) == "assistant"

    def length(self, tokens: int, model: Model, *, is_asked: bool) -> Settings:  # noqa: ARG002
        return {"max_output_tokens": tokens} if is_asked else {}

    def allowing(self, names: Sequence[str], model: Model) -> Settings:
        if model.provider != "openai":
            return {}
        named = [{"type": "function", "name": name} for name in names]
        return {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": named}}

    def chains(self, settings: Settings) -> tuple[str, ...]:
        return tuple(name for name in CHAINS if settings.get(name))

    def marks(self, view: View, model: Model, fixed: int, unchanged: int) -> Marks:
        return marks(view, model, fixed, unchanged)

    def compacting(self, wish: Wish) -> tuple[Settings, tuple[str, ...]]:
        edits = [{"type": "compaction", "compact_threshold": wish.at}]
        return ({"context_management": edits} if wish.at else {}), ()

    def hears(self, event: Event) -> bool:
        kind = event.get("type")
        return isinstance(kind, str) and kind.startswith("response.")

    def assembler(self) -> Assembler:
        return ResponsesStream()

    def flavoured(self, model: Model) -> str:
        return ADJACENT if model.provider == "deepseek" else ""

    def in_flavour(self, flavour: str) -> Dialect:
        if flavour != ADJACENT:
            raise BadConfiguration(f"OpenAI Responses have no flavour {flavour!r}. The one there is: {ADJACENT}.")
        return OpenAIResponsesDialect(adjacent=True)

    def check(self, body: Mapping[str, Any]) -> list[Problem]:
        return check(body, self.adjacent)

    def repair(self, body: Mapping[str, Any]) -> Repaired:
        return repair(body, self.adjacent)


__all__ = ["CHAINS", "NAME", "RULES", "OpenAIResponsesDialect", "side", "turns"]
