"""What OpenAI chat takes over from the others: a tool message holds words only, and nothing marks an error."""

from __future__ import annotations

from contextfold.dialects.ids import short
from contextfold.dialects.losing import Carries
from contextfold.dialects.media import image_url
from contextfold.domain import Document, Image

from .parse import NAME


def _shows(block: Image | Document, takes_media: bool) -> bool:
    if isinstance(block, Image):
        return takes_media and bool(image_url(block))
    return bool(block.text) or (takes_media and bool(block.data))


CARRIES = Carries(
    NAME,
    "OpenAI chat has no such part",
    _shows,
    short,
    marks_errors=False,
    only_users_show=True,
    results_show=False,
)
