"""What Gemini's format takes over from the others. An id that only stands for a name is not written at all."""

from __future__ import annotations

from contextfold.dialects.ids import short
from contextfold.dialects.losing import Carries
from contextfold.domain import Document, Image

from .parse import NAME, UNNAMED
from .render import media_part


def _shows(block: Image | Document, _takes_media: bool) -> bool:
    return (isinstance(block, Document) and bool(block.text)) or "text" not in media_part(block)


def _spells(call: str) -> str:
    return call if call.startswith(UNNAMED) else short(call)


CARRIES = Carries(NAME, "Gemini has no such part", _shows, _spells, only_objects=True)
