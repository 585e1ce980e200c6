"""How large a picture, document, sound or film is, read from the first bytes of its data; and what that costs.

Providers bill pictures by their pixels, documents by their pages and sound by its length, not by the length of their
base64. Nothing here decodes more than it needs, trusts a header beyond reason, or raises on data that is no picture.
Media also stand as base64 inside items of a provider's own, which we do not read: there the kind is read from the first
bytes or from the fields beside them, and a long text that is neither stays text.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec

from contextfold.deferred import expression
from contextfold.models import Media

# Base64 characters looked at: JPEG files may carry large previews before their size.
_HEAD: Final = 1 << 18
_PDF_MOST: Final = 1 << 23

# A picture or document nobody can measure counts as a large one: better to fold early than to be refused.
UNKNOWN_WIDTH, UNKNOWN_HEIGHT = 2048, 1536
UNKNOWN_PAGES: Final = 10
_BYTES_PER_PAGE: Final = 50_000

# Bytes of a second where no header says it, and tokens that providers ask for one (Gemini's, which are the most).
_AUDIO_RATE, _VIDEO_RATE, _LEAST_RATE = 8_000, 100_000, 1_000
_SECOND: Final = {"audio": 32, "video": 300}

# Without a provider's own formula: what Claude's newer models charge, which is more than most.
DEFAULT: Final = Media(edge=2576, most=4784)


def dimensions(data: str) -> tuple[int, int]:
    """Width and height of a base64 picture (PNG, GIF, WebP, JPEG); zeros where they cannot be read."""
    head = _decoded(data[:64])
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _big(head, 16, 4), _big(head, 20, 4)
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return _little(head, 6, 2), _little(head, 8, 2)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp(head)
    if head.startswith(b"\xff\xd8"):
        return _jpeg(_decoded(data[:_HEAD]))
    return 0, 0


def pages(data: str, media_type: str) -> int:
    """Pages of a base64 document: counted in a PDF where they show, else guessed from its size."""
    size = len(data) * 3 // 4
    guess = max(1, -(-size // _BYTES_PER_PAGE))
    if media_type != "application/pdf" and not data.startswith("JVBER"):
        return guess
    body = _decoded(data[:_PDF_MOST])
    shown = body.count(b"/Type/Page") + body.count(b"/Type /Page")
    trees = body.count(b"/Type/Pages") + body.count(b"/Type /Pages")
    return shown - trees if shown > trees else guess


def seconds(data: str, kind: str) -> int:
    """Seconds of a base64 sound or film: by the rate in the header of a WAV file, else guessed from its size."""
    size, head = len(data) * 3 // 4, _decoded(data[:64])
    rate = _little(head, 28, 4) if head[:4] == b"RIFF" and head[8:12] == b"WAVE" else 0
    usual = _AUDIO_RATE if kind == "audio" else _VIDEO_RATE
    return max(1, -(-size // (rate if rate >= _LEAST_RATE else usual)))


def media_tokens(kind: str, first: int, second: int, rules: Media) -> int:
    """What one picture (width, height), document (pages), sound or film (seconds) costs by these rules."""
    if kind in _SECOND:
        return max(1, first) * _SECOND[kind]
    if kind == "document":
        return max(1, first or UNKNOWN_PAGES) * rules.page
    return image_tokens(first or UNKNOWN_WIDTH, second or UNKNOWN_HEIGHT, rules)


def image_tokens(width: int, height: int, rules: Media) -> int:
    """What a picture of this size costs by these rules."""
    if rules.formula == "flat":
        return rules.base
    if rules.formula == "tiles":
        return rules.base + rules.tile * _tiles(width, height)
    if rules.formula == "crops":
        return rules.base if max(width, height) <= 384 else rules.tile * _squares(width, height, 768)
    return -(-_patches(width, height, rules) * rules.percent // 100)


def _tiles(width: int, height: int) -> int:
    """512 px squares after fitting into 2048 px and shrinking the short side to 768 px."""
    scale = min(1.0, 2048 / max(width, height))
    scale = min(scale, 768 / min(width, height))
    return _squares(_scaled(width, scale), _scaled(height, scale), 512)


def _patches(width: int, height: int, rules: Media) -> int:
    """Patches after shrinking to the longest side and the largest number of patches allowed."""
    if rules.edge and max(width, height) > rules.edge:
        scale = rules.edge / max(width, height)
        width, height = _scaled(width, scale), _scaled(height, scale)
    count = _squares(width, height, rules.patch)
    return min(count, rules.most) if rules.most else count


def _scaled(side: int, scale: float) -> int:
    return max(1, int(side * scale))


def _squares(width: int, height: int, side: int) -> int:
    return -(-width // side) * -(-height // side)


def _decoded(data: str) -> bytes:
    try:
        return binascii.a2b_base64(data[: len(data) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def _big(raw: bytes, start: int, size: int) -> int:
    return int.from_bytes(raw[start : start + size], "big")


def _little(raw: bytes, start: int, size: int) -> int:
    return int.from_bytes(raw[start : start + size], "little")


def _webp(head: bytes) -> tuple[int, int]:
    kind = head[12:16]
    if kind == b"VP8X":
        return _little(head, 24, 3) + 1, _little(head, 27, 3) + 1
    if kind == b"VP8L":
        bits = _little(head, 21, 4)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        return _little(head, 26, 2) & 0x3FFF, _little(head, 28, 2) & 0x3FFF
    return 0, 0


def _jpeg(raw: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 < len(raw) and raw[at] == 0xFF:
        marker = raw[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(raw, at + 7, 2), _big(raw, at + 5, 2)
        at += 1 if marker == 0xFF else 2 + max(2, _big(raw, at + 2, 2))
    return 0, 0


MediaSize: TypeAlias = tuple[str, int, int]  # a kind, and its two numbers: see `media_tokens`

LEAST: Final = 512  # characters of base64; whatever is shorter costs little as text
_BASE64: Final = expression(r"[A-Za-z0-9+/_-]+={0,2}")
_DATA_URL: Final = expression(r"data:([\w.+-]+/[\w.+-]+)[^,]{0,100};base64,")
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
    found: list[MediaSize] = []
    try:
        rest = _walked(msgspec.json.decode(json), {}, found)
    except (msgspec.DecodeError, RecursionError):
        return json, ()
    return (msgspec.json.encode(rest).decode(), tuple(found)) if found else (json, ())


def _walked(value: Any, beside: Mapping[str, Any], found: list[MediaSize]) -> Any:
    if isinstance(value, dict):
        return {name: _walked(each, value, found) for name, each in value.items()}
    if isinstance(value, list):
        return [_walked(each, beside, found) for each in value]
    if not isinstance(value, str) or len(value) < LEAST:
        return value
    size = _media_size(value, beside)
    if size is None:
        return value
    found.append(size)
    return ""


def _media_size(text: str, beside: Mapping[str, Any]) -> MediaSize | None:
    url = _DATA_URL.match(text)
    data, said = (text[url.end() :], url[1]) if url else (text, "")
    if not _BASE64.fullmatch(data):
        return None
    kind = _media_kind(
        data, said or " ".join(str(beside[name]) for name in _BESIDE if isinstance(beside.get(name), str))
    )
    match kind:
        case "image":
            return ("image", *dimensions(data))
        case "document":
            return ("document", pages(data, "application/pdf" if data.startswith("JVBER") else said), 0)
        case "audio" | "video":
            return (kind, seconds(data, kind), 0)
        case _:
            return None


def _media_kind(data: str, said: str) -> str:
    begins = next((kind for start, kind in _BEGINNINGS.items() if data.startswith(start)), "")
    if not begins and data.startswith("UklGR"):  # RIFF: a picture or a sound
        begins = "image" if dimensions(data) != (0, 0) else "audio"
    words = said.lower()
    return begins or next((kind for kind, names in _WORDS.items() if any(name in words for name in names)), "")
