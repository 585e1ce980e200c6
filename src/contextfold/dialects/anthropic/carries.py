"""What Anthropic's format takes over from the others."""

from __future__ import annotations

from contextfold.dialects.ids import short_and_simple
from contextfold.dialects.losing import Carries
from contextfold.domain import Document, Image

from .parse import NAME
from .render import document_source, image_source


def _shows(block: Image | Document, _takes_media: bool) -> bool:
    source = image_source(block) if isinstance(block, Image) else document_source(block)
    return source is not None


CARRIES = Carries(NAME, "Anthropic has no such block", _shows, short_and_simple, only_objects=True)
