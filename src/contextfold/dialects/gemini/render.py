"""Items as Gemini contents: the original bytes wherever they stand as they are, contents written anew elsewhere.

Thoughts of another dialect are not portable and are left out. Where the model wants signed calls, a call that it never
signed carries the signature that says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextfold.dialects.ids import short
from contextfold.dialects.losses import Carries
from contextfold.dialects.media import document_text, is_address, placeholder
from contextfold.dialects.neutral import LABEL, as_object, fits_role, is_blank, shown
from contextfold.dialects.wire import Json
from contextfold.domain import (
    Block,
    Document,
    Image,
    Message,
    Shape,
    Text,
    ToolCall,
    ToolResult,
    ViewItem,
    encode,
)

from .parse import NAME, UNNAMED
from .touch import UNSIGNED, touched

NAMELESS = "tool"


def chunk(item: ViewItem, message: Message, is_signed: bool) -> bytes:
    """The item as zero or one content."""
    if message.raw and message.dialect == NAME:
        if not item.edits and not item.late and _stands(item.shape) and not is_signed:
            return message.raw
        return touched(item, message, is_signed)
    parts = _parts(message, shown(item, message), names_in(item.shape))
    if not parts:
        return b""
    if is_signed and message.role == "assistant":
        _sign(parts)
    return encode({"role": "model" if message.role == "assistant" else "user", "parts": parts})


def _stands(shape: Shape) -> bool:
    """Whether the API takes the content as it is: something in it, and no blank text."""
    return bool(shape.blocks) and not any(block.is_blank for block in shape.blocks)


def names_in(shape: Shape) -> Mapping[str, str]:
    """The functions that answered, by the ids of the calls, as far as the outline knows them."""
    return {block.call: block.name for block in shape.blocks if block.kind == "result" and block.name}


def _parts(message: Message, blocks: Sequence[Block], names: Mapping[str, str]) -> list[Json]:
    parts = [part for block in blocks if fits_role(block, message) and (part := _part(block, names)) is not None]
    if message.role == "system" and parts:  # there is none among contents
        parts[0] = {"text": f"{LABEL}{parts[0]['text']}"}
    return parts


def _sign(parts: list[Json]) -> None:
    """The first call of a step carries the signature of the step."""
    first = next((index for index, part in enumerate(parts) if "functionCall" in part), None)
    if first is not None:
        parts[first] = {**parts[first], "thoughtSignature": UNSIGNED}


def _part(block: Block, names: Mapping[str, str]) -> Json | None:
    if isinstance(block, ToolCall):
        return {"functionCall": {**_id(block.id), "name": block.name or NAMELESS, "args": as_object(block)}}
    if isinstance(block, ToolResult):
        return {"functionResponse": _response(block, names)}
    return media_part(block) if isinstance(block, Image | Document) else _words(block)


def _words(block: Block) -> Json | None:
    return {"text": block.text} if isinstance(block, Text) and not is_blank(block.text) else None


def _id(call: str) -> dict[str, str]:
    return {} if call.startswith(UNNAMED) else {"id": short(call)}


def _response(block: ToolResult, names: Mapping[str, str]) -> Json:
    """What a function said, under the name it was called by; pictures and files stand beside the words."""
    name = names.get(block.call) or (block.call.removeprefix(UNNAMED) if block.call.startswith(UNNAMED) else NAMELESS)
    inner = [part for each in block.blocks if (part := _part(each, names)) is not None]
    words = "\n".join(str(part["text"]) for part in inner if "text" in part)
    response: dict[str, object] = {**_id(block.call), "name": name}
    response["response"] = {"error" if block.is_error else "output": words}
    media = [part for part in inner if "text" not in part]
    return {**response, "parts": media} if media else response


def media_part(block: Image | Document) -> Json:
    """A picture or file; words where it is words, or cannot be carried."""
    if block.data:
        return {"inlineData": {"mimeType": block.media_type or "application/octet-stream", "data": block.data}}
    if isinstance(block, Document) and not is_blank(block.text):
        return {"text": document_text(block)}
    if is_address(block.url):
        media_type = block.media_type or ("image/png" if isinstance(block, Image) else "application/pdf")
        return {"fileData": {"mimeType": media_type, "fileUri": block.url}}
    return {"text": placeholder(block)}


def _shows(block: Image | Document, _takes_media: bool) -> bool:
    return (isinstance(block, Document) and bool(block.text)) or "text" not in media_part(block)


def _spells(call: str) -> str:
    return call if call.startswith(UNNAMED) else short(call)


CARRIES = Carries(
    NAME, "Gemini has no such part", _shows, _spells, only_objects=True, takes_detail=False, names_files=False
)
