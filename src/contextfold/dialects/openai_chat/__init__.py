"""OpenAI's Chat Completions API, and whoever copies it, as a dialect: `openai-chat`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from contextfold.dialects.assembly import Assembler, Event
from contextfold.dialects.dialect import Dialect, Marks, Settings, marked, marks
from contextfold.dialects.endpoint import Endpoint
from contextfold.dialects.neutral import losses
from contextfold.dialects.repairs import IdFields, Repaired
from contextfold.dialects.wire import Json, readable
from contextfold.domain import Message, Problem, Reply, View, ViewItem
from contextfold.errors import BadConfiguration
from contextfold.models import Model

from .endpoint import ENDPOINT, PLAIN, ChatFlavour, ChatStream, flavour_of, flavours
from .parse import NAME, claims, parse, reply
from .render import CARRIES, body, chunk, stands
from .repair import repair
from .rules import RULES, check
from .suit import in_turn, seasoned


@dataclass(frozen=True, slots=True)
class OpenAIChatDialect(Dialect):
    """The dialect; a flavour says what a compatible server demands beyond it."""

    endpoint: ClassVar[Endpoint | None] = ENDPOINT
    id_fields: ClassVar[IdFields] = IdFields(("id", "tool_call_id"), ("function", "custom", "text"))
    flavour: ChatFlavour = PLAIN

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

    def chunk(self, item: ViewItem, message: Message) -> bytes:
        return readable(seasoned(chunk(item, message), item, self.flavour))

    def as_given(self, item: ViewItem, raw: bytes) -> bytes | None:
        return readable(seasoned(raw, item, self.flavour)) if stands(item.shape, raw) else None

    def losses(self, item: ViewItem, message: Message) -> tuple[str, ...]:
        return losses(item, message, CARRIES)

    def body(self, chunks: Sequence[bytes], settings: Settings, first: ViewItem | None) -> bytes:  # noqa: ARG002
        return body(chunks, settings, in_turn if self.flavour.alternates else list)

    def marked(self, chunk: bytes) -> bytes:
        return marked(chunk)

    def length(self, tokens: int, model: Model, *, is_asked: bool) -> Settings:
        name = "max_completion_tokens" if model.provider == "openai" else "max_tokens"
        return {name: tokens} if is_asked else {}

    def allowing(self, names: Sequence[str], model: Model) -> Settings:
        if model.provider != "openai":
            return {}
        allowed = [{"type": "function", "function": {"name": name}} for name in names]
        return {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": allowed}}}

    def marks(self, view: View, model: Model, fixed: int, unchanged: int) -> Marks:
        return marks(view, model, fixed, unchanged)

    def hears(self, event: Event) -> bool:
        return isinstance(event.get("choices"), list) or (event.get("type") == "chunk" and "chunk" in event)

    def assembler(self) -> Assembler:
        return ChatStream()

    def flavoured(self, model: Model) -> str:
        return flavour_of(model)

    def in_flavour(self, flavour: str) -> Dialect:
        if flavour not in flavours():
            raise BadConfiguration(f"OpenAI chat has no flavour {flavour!r}. Use one of: {', '.join(flavours())}.")
        return OpenAIChatDialect(flavours()[flavour])

    def check(self, body: Mapping[str, Any]) -> list[Problem]:
        return check(body, self.flavour)

    def repair(self, body: Mapping[str, Any]) -> Repaired:
        return repair(body, self.flavour)


__all__ = ["NAME", "RULES", "ChatFlavour", "OpenAIChatDialect", "flavour_of", "flavours"]
