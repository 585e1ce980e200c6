"""A view as a Gemini request: the original bytes of contents wherever they stand as they are, written anew elsewhere.

Thoughts of another dialect are not portable and are left out. Where the model wants signed calls, a call that it never
signed carries the signature that says so. The system instruction and tools stand on top, and contents are joined into
the turns the API wants; the joined ones are not looked at, except the very first.

Some contents must change in one place: folded parts, late responses, blank text, calls nobody signed. Every other part
keeps its bytes, its signature included: signatures stay on their exact part. A part that changes loses the signature it
had, and says so to the API.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from contextfold.dialects.neutral import (
    LABEL,
    Carries,
    as_object,
    document_text,
    fits_role,
    folded_input,
    is_address,
    is_blank,
    late_blocks,
    placeholder,
    said,
    shown,
    words,
)
from contextfold.dialects.repairs import opening, short
from contextfold.dialects.tools import offered
from contextfold.dialects.wire import Json, assembled, elements, fields, listed, plain, put, request
from contextfold.domain import (
    Block,
    Document,
    Image,
    Message,
    Reasoning,
    Shape,
    Text,
    ToolCall,
    ToolResult,
    ViewItem,
    decode,
    encode,
)

from .parse import KINDS, NAME, UNNAMED, field_of, held, kind_of, signature

NAMELESS = "tool"


def chunk(item: ViewItem, message: Message, is_signed: bool) -> bytes:
    """The item as zero or one content."""
    if message.raw and message.dialect == NAME:
        if not item.edits and not item.late and stands(item.shape) and not is_signed:
            return message.raw
        return touched(item, message, is_signed)
    names = names_in(item.shape)
    blocks = [block for block in shown(item, message) if fits_role(block, message)]
    parts = [part for block in blocks if (part := _part(block, names)) is not None]
    if not parts:
        return b""
    if message.role == "system":  # there is none among contents
        parts[0] = {"text": f"{LABEL}{parts[0]['text']}"}
    if message.role != "assistant":
        return encode({"role": "user", "parts": parts})
    first = next((index for index, part in enumerate(parts) if "functionCall" in part), None)
    if is_signed and first is not None:  # the first call of a step carries the signature of the step
        parts[first] = {**parts[first], "thoughtSignature": UNSIGNED}
    return encode({"role": "model", "parts": parts})


def stands(shape: Shape) -> bool:
    """Whether the API takes the content as it is: something in it, and no blank text."""
    return bool(shape.blocks) and not any(block.is_blank for block in shape.blocks)


def names_in(shape: Shape) -> Mapping[str, str]:
    """The functions that answered, by the ids of the calls, as far as the outline knows them."""
    return {block.call: block.name for block in shape.blocks if block.kind == "result" and block.name}


def _part(block: Block, names: Mapping[str, str]) -> Json | None:
    if isinstance(block, ToolCall):
        return {"functionCall": {**_id(block.id), "name": block.name or NAMELESS, "args": as_object(block)}}
    if isinstance(block, Image | Document):
        return media_part(block)
    if not isinstance(block, ToolResult):
        return {"text": block.text} if isinstance(block, Text) and not is_blank(block.text) else None
    # What a function said stands under the name it was called by; pictures and files stand beside the words.
    name = names.get(block.call) or (block.call.removeprefix(UNNAMED) if block.call.startswith(UNNAMED) else NAMELESS)
    inner = [part for each in block.blocks if (part := _part(each, names)) is not None]
    words = "\n".join(str(part["text"]) for part in inner if "text" in part)
    media = [part for part in inner if "text" not in part]
    said = {"error" if block.is_error else "output": words}
    response = {**_id(block.call), "name": name, "response": said, **({"parts": media} if media else {})}
    return {"functionResponse": response}


def _id(call: str) -> dict[str, str]:
    return {} if call.startswith(UNNAMED) else {"id": short(call)}


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


CARRIES = Carries(
    NAME,
    "Gemini has no such part",
    lambda block, _: (isinstance(block, Document) and bool(block.text)) or "text" not in media_part(block),
    lambda call: call if call.startswith(UNNAMED) else short(call),
    only_objects=True,
    takes_detail=False,
    names_files=False,
)


CONFIG = "generationConfig"


def body(chunks: Sequence[bytes], settings: Mapping[str, Any], first: ViewItem | None) -> bytes:
    """The request's bytes: settings in their order, then the contents."""
    settings = offered(settings, NAME)
    system = words(settings.pop("system", None))
    contents = list(filter(None, chunks))
    if contents and first is not None and first.shape.role == "system" and contents[0] is chunks[0]:
        lifted = words(decode(contents.pop(0))).removeprefix(LABEL)
        system = lifted if is_blank(system) else f"{system}\n{lifted}"
    if not is_blank(system) and "systemInstruction" not in settings:
        settings["systemInstruction"] = {"parts": [{"text": system}]}
    if contents and (spoken := decode(contents[0])).get("role") == "model":
        # The API wants the user to speak first; a view may begin with the model after a fold.
        contents.insert(0, encode({"role": "user", "parts": [{"text": opening(spoken)}]}))
    return request(settings, contents, "contents")


def arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    """The request as google-genai wants it: `client.models.generate_content(**arguments(request.body))`."""
    beside = {name: value for name, value in body.items() if name not in ("model", "contents", CONFIG)}
    config = {**beside, **(body.get(CONFIG) or {})}
    return {"model": body["model"], "contents": body["contents"], "config": config}


_MARKS = (b"unctionResponse", b"unction_response", b"unctionCall", b"unction_call")


class Outline(NamedTuple):
    """What a content is made of, as far as joining asks."""

    role: str
    calls: bool
    responses: bool


class _ContentRole(Struct):
    role: object = None


class _WrittenContent(_ContentRole):
    parts: list[dict[str, Raw]] = []


_spoken = msgspec.json.Decoder(_ContentRole)
_made = msgspec.json.Decoder(_WrittenContent)


def outline(chunk: bytes) -> Outline:
    """Asked of every content, so no more of it is decoded than the answer needs."""
    has_tools = any(mark in chunk for mark in _MARKS)
    try:
        made = _made.decode(chunk) if has_tools else _WrittenContent(_spoken.decode(chunk).role)
    except msgspec.MsgspecError:  # lone surrogates: only the tolerant decoder reads them
        value = decode(chunk)
        made = _WrittenContent(value.get("role"), [{kind_of(part): Raw(b"{}")} for part in value["parts"]])
    kinds = {KINDS.get(name) for part in made.parts for name, value in part.items() if bytes(value) != b"null"}
    role = "model" if made.role == "model" else "user"
    return Outline(role, "functionCall" in kinds, "functionResponse" in kinds)


def limited(chunks: list[bytes], since: int = 0) -> list[bytes]:
    """The chunks with those joined that must be one turn; chunks before `since` were looked at."""
    last = _before(chunks, since)
    before = outline(chunks[last]) if last is not None and since < len(chunks) else None
    for index in range(since, len(chunks)):
        if not chunks[index]:
            continue
        now = outline(chunks[index])
        while last is not None and before is not None and _belongs(before, now):
            # Both as one content, responses in front of whatever else was said in between.
            whole = fields(chunks[last])
            parts = [*elements(whole["parts"]), *elements(fields(chunks[index])["parts"])]
            parts.sort(key=lambda part: kind_of(decode(bytes(part))) != "functionResponse")
            chunks[last], chunks[index] = b"", assembled({**whole, "parts": listed(parts)})
            now = Outline(now.role, before.calls or now.calls, before.responses or now.responses)
            last = _before(chunks, last)
            before = None if last is None else outline(chunks[last])
        last, before = index, now
    return chunks


def _before(chunks: list[bytes], index: int) -> int | None:
    """The last chunk before this place that says something."""
    return next((place for place in range(index - 1, -1, -1) if chunks[place]), None)


def _belongs(before: Outline, now: Outline) -> bool:
    if before.role != now.role:
        return False
    return now.calls or before.calls if now.role == "model" else now.responses and before.responses


# What the API takes in place of a signature that it never gave: for calls of other models, and calls that were changed.
UNSIGNED = "skip_thought_signature_validator"


def touched(item: ViewItem, message: Message, is_signed: bool) -> bytes:
    """The content with its changes; nothing where nothing is left, the very same bytes where nothing had to change."""
    parts = fields(message.raw)
    given = parts.get("parts")
    if given is None or bytes(given) == b"null":
        return b""
    before = elements(given)
    after = _spelled(item, message, before)
    if is_signed and message.role == "assistant":
        # The first call of a step carries a signature, the provider's own or the one that says there is none.
        first = next((index for index, part in enumerate(after) if kind_of(plain(part)) == "functionCall"), None)
        if first is not None and not signature(plain(after[first])):
            after[first] = _resigned(fields(after[first]))
    if not after:
        return b""
    if len(after) == len(before) and all(a is b for a, b in zip(after, before, strict=True)):
        return message.raw
    parts["parts"] = listed(after)
    return assembled(parts)


def _spelled(item: ViewItem, message: Message, originals: list[Raw]) -> list[Raw]:
    edits = {edit.block: edit.text for edit in item.edits}
    responses: list[Raw] = []
    others: list[Raw] = []
    for index, (original, block) in enumerate(zip(originals, message.blocks, strict=True)):
        edit = edits.get(index)
        if isinstance(block, ToolResult) and index in item.late:
            # Labelled words where a response would be rejected; its pictures follow as they were.
            others.append(put({"text": said(late_blocks(block, edit))}))
            response: Any = held(plain(original), "functionResponse")
            media = response.get("parts") if isinstance(response, Mapping) and edit is None else None
            others += [put(part) for part in media or () if isinstance(part, Mapping)]
        elif isinstance(block, ToolResult):
            responses += [original] if edit is None else _edited(original, block, edit)
        elif edit is not None:
            others += _edited(original, block, edit)
        elif not (isinstance(block, Text) and is_blank(block.text)):
            others.append(original)
    return responses + others


def _edited(original: Raw, block: Block, text: str) -> list[Raw]:
    if isinstance(block, Reasoning) or is_blank(text):
        return []
    if isinstance(block, ToolCall):
        return [_changed(original, "functionCall", "args", put(folded_input(text)))]
    if isinstance(block, ToolResult):
        return [_changed(original, "functionResponse", "response", put({"output": text}))]
    return [put({"text": text})]


def _changed(original: Raw, kind: str, name: str, value: Raw) -> Raw:
    """The part with one thing in it replaced; pictures beside a response go with the words."""
    parts, part = fields(original), plain(original)
    field = field_of(part, kind)
    inside = {**fields(parts[field]), name: value}
    if kind == "functionResponse":
        inside.pop("parts", None)
    parts[field] = Raw(assembled(inside))
    return _resigned(parts) if signature(part) else Raw(assembled(parts))


def _resigned(parts: dict[str, Raw]) -> Raw:
    parts.pop("thought_signature", None)
    return Raw(assembled({**parts, "thoughtSignature": put(UNSIGNED)}))
