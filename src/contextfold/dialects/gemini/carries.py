"""What Gemini's format takes over from the others. An id that only stands for a name is not written at all."""

from __future__ import annotations

from contextfold.dialects.ids import short
from contextfold.dialects.losing import Carries
from contextfold.domain import Document, Image, ToolCall

from .parse import NAME, UNNAMED
from .render import arguments_object, media_part


def _shows(block: Image | Document, _takes_media: bool) -> bool:
    return (isinstance(block, Document) and bool(block.text)) or "text" not in media_part(block)


def _spells(call: str) -> str:
    return call if call.startswith(UNNAMED) else short(call)


def _takes(call: ToolCall) -> bool:
    return arguments_object(call) is not None


CARRIES = Carries(NAME, "Gemini has no such part", _shows, _spells, _takes)
