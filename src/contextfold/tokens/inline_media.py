"""Media inside what we do not read: pictures, documents, sound and film that stand as base64 in a provider's own item.

A provider bills them by their kind and size, never by the length of their base64. The kind is read from the first bytes
or from the fields beside them; a long text that is neither stays text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec

from .media import dimensions, pages, seconds

MediaSize: TypeAlias = tuple[str, int, int]  # a kind, and its two numbers: see `media_tokens`

LEAST: Final = 512  # characters of base64; whatever is shorter costs little as text
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_DATA_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)[^,]{0,100};base64,")
_BEGINNINGS: Final = {
    "iVBOR": "image",
    "/9j/": "image",
    "R0lGOD": "image",
    "JVBER": "document",
    "SUQz": "audio",
    "T2dnUw": "audio",
    "ZkxhQ": "audio",
}
# Fields that say what the data beside them is, and words in them.
_BESIDE: Final = ("media_type", "mime_type", "mimeType", "format", "type", "output_format", "filename")
_WORDS: Final = {
    "image": ("image", "png", "jpeg", "jpg", "webp", "gif"),
    "document": ("pdf", "document", "msword", "officedocument"),
    "audio": ("audio", "wav", "mp3", "ogg", "flac", "pcm", "aac", "opus"),
    "video": ("video", "mp4", "mpeg", "quicktime", "webm"),
}


def without_media(json: str) -> tuple[str, tuple[MediaSize, ...]]:
    """The JSON of an item without the media in it, and these by kind and size."""
    if len(json) < LEAST:
        return json, ()
    try:
        item = msgspec.json.decode(json)
    except (msgspec.DecodeError, RecursionError):
        return json, ()
    found: list[MediaSize] = []
    rest = _walked(item, {}, found)
    return (msgspec.json.encode(rest).decode(), tuple(found)) if found else (json, ())


def _walked(value: Any, beside: Mapping[str, Any], found: list[MediaSize]) -> Any:
    if isinstance(value, dict):
        return {name: _walked(each, value, found) for name, each in value.items()}
    if isinstance(value, list):
        return [_walked(each, beside, found) for each in value]
    if not isinstance(value, str) or len(value) < LEAST:
        return value
    size = _size(value, beside)
    if size is None:
        return value
    found.append(size)
    return ""


def _size(text: str, beside: Mapping[str, Any]) -> MediaSize | None:
    url = _DATA_URL.match(text)
    data, said = (text[url.end() :], url[1]) if url else (text, "")
    if not _BASE64.fullmatch(data):
        return None
    kind = _kind(data, said or " ".join(str(beside[name]) for name in _BESIDE if isinstance(beside.get(name), str)))
    match kind:
        case "image":
            return ("image", *dimensions(data))
        case "document":
            return ("document", pages(data, "application/pdf" if data.startswith("JVBER") else said), 0)
        case "audio" | "video":
            return (kind, seconds(data, kind), 0)
        case _:
            return None


def _kind(data: str, said: str) -> str:
    begins = next((kind for start, kind in _BEGINNINGS.items() if data.startswith(start)), "")
    if not begins and data.startswith("UklGR"):  # RIFF: a picture or a sound
        begins = "image" if dimensions(data) != (0, 0) else "audio"
    words = said.lower()
    return begins or next((kind for kind, names in _WORDS.items() if any(name in words for name in names)), "")
