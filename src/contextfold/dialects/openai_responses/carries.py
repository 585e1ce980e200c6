"""What the Responses API takes over from the others: pictures and files inside outputs too, but no marks of errors."""

from __future__ import annotations

from contextfold.dialects.ids import short
from contextfold.dialects.losing import Carries
from contextfold.dialects.media import image_url
from contextfold.domain import Document, Image

from .parse import NAME
from .render import file_part


def _shows(block: Image | Document, takes_media: bool) -> bool:
    if isinstance(block, Image):
        return takes_media and bool(image_url(block))
    return bool(block.text) or (takes_media and file_part(block) is not None)


CARRIES = Carries(
    NAME,
    "the Responses API has no such item",
    _shows,
    short,
    marks_errors=False,
    only_users_show=True,
)
