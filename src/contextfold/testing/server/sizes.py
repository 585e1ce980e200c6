"""How many tokens a piece of a request is, for the bill.

Words are counted by the model's own vocabulary where it is published, else estimated. Pictures and documents cost a
flat sum: what a provider charges for pixels is tested elsewhere. The same words are counted once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from contextfold.domain import Message, Text
from contextfold.models import Model
from contextfold.tokens import counter_for

from .seals import digest

# Names, marks and seals that a prompt does not hold as words.
_UNCOUNTED: Final = frozenset(
    {"type", "id", "tool_use_id", "tool_call_id", "call_id", "signature", "cache_control", "thoughtSignature", "role"}
    | {"status", "media_type", "mimeType", "detail", "prompt_cache_breakpoint"}
)
_AS_JSON: Final = frozenset({"input", "args", "response", "input_schema", "parameters", "parametersJsonSchema"})
_PICTURES: Final = frozenset({"image", "image_url", "input_image", "inlineData", "fileData"})
_FILES: Final = frozenset({"document", "file", "input_file", "container_upload"})

PICTURE: Final = 1_500
FILE: Final = 3_000
AROUND: Final = 4  # tokens around each piece
_MOST_KEPT: Final = 100_000


class Sizes:
    """Counts, and remembers what it counted."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], int] = {}

    def text(self, text: str, model: Model) -> int:
        key = (model.tokenizer, digest(text))
        counted = self._kept.get(key)
        if counted is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            counted = self._kept[key] = _counted(text, model)
        return counted

    def piece(self, piece: Any, model: Model) -> int:
        """Tokens of one block, tool or item, as it stands in a request."""
        words = "\n".join(_words(piece))
        return AROUND + (self.text(words, model) if words else 0) + _media(piece)


def _counted(text: str, model: Model) -> int:
    counter = counter_for(model)
    words = text.encode("utf-8", "replace").decode()
    return counter.tokens(counter.shape(Message("user", (Text(words),))))


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        if _media_kind(value):
            return
        for name, inner in value.items():
            if name in _AS_JSON and not isinstance(inner, str):
                yield msgspec.json.encode(inner).decode()
            elif name not in _UNCOUNTED:
                yield from _words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)


def _media(value: Any) -> int:
    if isinstance(value, Mapping):
        within = (inner for name, inner in value.items() if name not in _AS_JSON)
        return _media_kind(value) or sum(_media(inner) for inner in within)
    return sum(_media(inner) for inner in value) if isinstance(value, list) else 0


def _media_kind(value: Mapping[str, Any]) -> int:
    kind = str(value.get("type"))
    if kind in _PICTURES or "inlineData" in value or "fileData" in value:
        return PICTURE
    if kind in _FILES and not _is_plain(value):
        return FILE
    return 0


def _is_plain(value: Mapping[str, Any]) -> bool:
    source = value.get("source")
    return isinstance(source, Mapping) and source.get("type") in ("text", "content")
