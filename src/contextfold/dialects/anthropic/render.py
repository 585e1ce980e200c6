"""An Anthropic request as bytes: its messages, its cache marks, and what it says beside them.

A message goes as its own bytes where it can, else its blocks are written anew. System and tools stand on top, and the
user speaks first. The API takes four cache marks in a request, and callers put one on each message they send last: the
newest stay, because they are where a prefix will be read again. A mark is no part of what is cached, so taking one off
changes nothing but the mark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from msgspec import Raw

from contextfold.dialects import wire
from contextfold.dialects.dialect import Marks, Wish, far_end, least_prefix, worth_marking
from contextfold.dialects.neutral import (
    LABEL,
    Carries,
    as_object,
    fits_role,
    is_address,
    is_blank,
    is_played,
    placeholder,
    shown,
    word,
    words,
)
from contextfold.dialects.repairs import opening, short_and_simple, simple
from contextfold.dialects.tools import offered
from contextfold.dialects.wire import Json, assembled, elements, fields, listed, plain, put
from contextfold.domain import (
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Reasoning,
    Shape,
    Text,
    ToolCall,
    ToolResult,
    View,
    ViewItem,
    decode,
    encode,
)
from contextfold.models import Model

from .parse import NAME
from .rules import IN_SYSTEM
from .touch import SILENT_ERROR, is_unsigned, touched
from .turns import SIGNS, holds_any, refused_sampling, settled

ON_DEMAND, THRESHOLD, CLEARING = "compact-2026-09-04", "compact_20260112", "clear_tool_uses_20250919"
BINDING = "thinking-binding-controls-2026-08-01"  # under which the provider takes the wish to drop stale reasoning
LEAST = 50_000  # tokens; the smallest trigger that is taken
LONGEST_COMPACTION = 8_000  # tokens
_BETAS = {
    "on-demand": ON_DEMAND,
    "threshold": "compact-2026-01-12",
    "clearing": "context-management-2025-06-27",
}
_EPHEMERAL = {"type": "ephemeral"}
_DROP = {"prefix_mismatch_behavior": "drop_block"}


def marks(view: View, model: Model, fixed: int, unchanged: int) -> Marks:
    """Before the newest fold, where the last request ended if that is far, around the messages, at the end."""
    items = worth_marking(view, model, fixed, {unchanged - 1, far_end(view, model)})
    return Marks(items, fixed >= least_prefix(model), end=True)


def marked_settings(settings: Mapping[str, Any], marks: Marks) -> Mapping[str, Any]:
    """The settings with their marks; those that the caller put are the caller's."""
    if not marks.end or "cache_control" in settings:
        return settings
    ended = {**settings, "cache_control": _EPHEMERAL}
    for name in ("system", "tools") if marks.frame else ():
        given = ended.get(name)
        blocks = [{"type": "text", "text": given}] if isinstance(given, str) and given else given
        if isinstance(blocks, list | tuple) and blocks:
            if not any("cache_control" in block for block in blocks):
                ended[name] = [*blocks[:-1], {**blocks[-1], "cache_control": _EPHEMERAL}]
            break
    return ended


def compacting(wish: Wish) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The edits that the provider is to make by itself, and the features to declare.

    A block that goes back needs what made it to be declared again.
    """
    forms = set(wish.made) | ({"threshold"} if wish.at else set())
    value = max(wish.at or wish.usable, LEAST)
    edits = [{"type": THRESHOLD, "trigger": {"type": "input_tokens", "value": value}}] if "threshold" in forms else []
    if wish.clears and CLEARING in wish.model.compaction:
        forms.add("clearing")
        edits.insert(0, {"type": CLEARING, "trigger": {"type": "input_tokens", "value": wish.usable // 2}})
    betas = tuple(beta for form, beta in _BETAS.items() if form in forms)
    return ({"context_management": {"edits": edits}} if edits else {}), betas


def compaction_settings(tools: object) -> Mapping[str, Any]:
    """What makes a request one for compaction on demand."""
    asked: dict[str, object] = {"max_tokens": LONGEST_COMPACTION, "compaction": {"type": "summarize"}}
    return asked | ({"tools": tools} if tools else {})


def drops_stale(settings: Mapping[str, Any]) -> bool:
    """Whether the provider was asked to leave out by itself what no longer stands."""
    match settings.get("thinking"):
        case {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}:
            return True
        case _:
            return False


def dropping_stale(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings with that wish in them, where thinking is asked for at all; what the caller said about it stays."""
    thinking = settings.get("thinking")
    if not isinstance(thinking, Mapping) or "block_binding" in thinking:
        return settings
    return {**settings, "thinking": {**thinking, "block_binding": _DROP}}


MOST = 4
MARK = b'"cache_control":'
_NEVER = ("thinking", "redacted_thinking")


def limited(chunks: list[bytes], since: int = 0, most: int = MOST) -> list[bytes]:
    """The chunks with at most so many marks, the newest; `since` is where chunks begin that were not looked at yet."""
    if not holds_any(chunks, since, (MARK,)):
        return chunks
    left = most
    for index in range(len(chunks) - 1, -1, -1):
        marks = chunks[index].count(MARK)
        if marks > left:
            chunks[index] = b",".join(encode(_without(message)) for message in decode(b"[" + chunks[index] + b"]"))
        if marks <= most:  # one that no room is enough for takes none from those before it
            left = max(0, left - marks)
    return chunks


def settled_and_limited(chunks: list[bytes], since: int) -> list[bytes]:
    """The chunks without halves of what ran at a server, and with the newest marks only."""
    return limited(settled(chunks, since), since)


def may_be_limited(chunk: bytes) -> bool:
    """Whether it holds a mark, or the sign of something that ran at a server."""
    return MARK in chunk or SIGNS[0] in chunk or SIGNS[1] in chunk


def marked(chunk: bytes) -> bytes:
    """The message with a mark on its last block; the very same bytes where there is no block, or none may be marked."""
    parts = fields(chunk)
    content = parts.get("content")
    blocks = elements(content) if content is not None and bytes(content).lstrip()[:1] == b"[" else []
    last = fields(blocks[-1]) if blocks else {}
    if not last or plain(last.get("type")) in _NEVER or MARK in chunk:
        return chunk
    blocks[-1] = Raw(assembled({**last, "cache_control": put({"type": "ephemeral"})}))
    return assembled({**parts, "content": listed(blocks)})


def marks_in(*settings: object) -> int:
    """Marks on system and tools, which count too."""
    return sum(encode(each).count(MARK) for each in settings if each)


def _without(value: Any) -> Any:
    """Everything but marks; what a tool was given is the model's own and stays."""
    if isinstance(value, list):
        return [_without(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: each if key == "input" else _without(each) for key, each in value.items() if key != "cache_control"}


_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def chunk(item: ViewItem, message: Message) -> bytes:
    """The item as zero or one wire message; two where a system message that stands elsewhere changes what follows."""
    if message.raw and message.dialect == NAME and not item.displaced:
        if not item.edits and not item.late and _stands(item.shape, message):
            return message.raw
        return touched(item, message)
    content, changes = _content(item, message), _changes(item, message)
    if not content and not changes:
        return b""
    said = content or [{"type": "text", "text": LABEL.strip()}]
    spoken = encode({"role": "assistant" if message.role == "assistant" else "user", "content": said})
    return b",".join((spoken, encode(changes))) if changes else spoken


def _changes(item: ViewItem, message: Message) -> Json:
    """What a displaced system message does beside its words: it must follow a user's turn, as its words then do."""
    if message.role != "system" or message.dialect != NAME:
        return {}
    own = [block for block in shown(item, message) if isinstance(block, Opaque)]
    content = [decode(block.json.encode()) for block in own if block.kind in IN_SYSTEM]
    settings = {block.kind: decode(block.json.encode()) for block in own if block.kind == "output_config"}
    return {"role": "system", **({"content": content} if content else {}), **settings} if own else {}


def _stands(shape: Shape, message: Message) -> bool:
    """Whether the API takes the message as it is: something in it, no blank text, results first, thinking signed."""
    if any(simple(call) != call for call in (*shape.calls, *shape.results)):
        return False
    only_results, has_results = True, False
    for block in shape.blocks:
        if block.kind == "reasoning" and has_unsigned(message):
            return False
        if block.kind == "result":
            if not only_results or (block.is_error and block.size == 0):
                return False
            has_results = True
        elif block.kind == "text" and block.size == 0:
            return False
        else:
            only_results = False
    inside = [each for block in message.results for each in block.blocks] if has_results else []
    return bool(shape.blocks) and not any(isinstance(each, Text) and is_blank(each.text) for each in inside)


def as_given(item: ViewItem, raw: bytes) -> bytes | None:
    """The message's own bytes, where its outline alone says so: what is inside of results has to be read."""
    blocks = item.shape.blocks
    for block in blocks:
        if block.kind == "result" or (block.call and simple(block.call) != block.call):
            return None
        if block.kind == "text" and block.size == 0:
            return None
    return wire.readable(raw) if blocks else None


def has_unsigned(message: Message) -> bool:
    """Whether thinking lacks the signature without which the API does not take it back."""
    return any(is_unsigned(block) for block in message.blocks)


def _content(item: ViewItem, message: Message) -> list[Json]:
    keeps_ids = message.dialect == NAME
    said = shown(item, message)
    if message.role == "assistant":  # pictures and files have no place in what the model says
        said = [Text(word(block)) if isinstance(block, Image | Document) else block for block in said]
    blocks = [
        spelled for block in said if (spelled := _block(block, keeps_ids)) is not None and fits_role(block, message)
    ]
    if message.role == "system" and blocks:  # models before Opus 4.8 reject one among the others
        blocks[0] = {"type": "text", "text": f"{LABEL}{blocks[0].get('text', '')}"}
    return blocks


def _block(block: Block, keeps_ids: bool) -> Json | None:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Image() | Document():
            return _media(block)
        case ToolCall():
            call = simple(block.id) if keeps_ids else short_and_simple(block.id)
            return {"type": "tool_use", "id": call, "name": block.name, "input": as_object(block)}
        case ToolResult():
            return _result(block, simple(block.call) if keeps_ids else short_and_simple(block.call))
        case Reasoning() | Opaque():
            return None
        case _:
            assert_never(block)


def _result(block: ToolResult, call: str) -> Json:
    shown = [part for part in block.blocks if not (isinstance(part, Text) and is_blank(part.text))]
    inner: list[Json] = [
        {"type": "text", "text": part.text} if isinstance(part, Text) else _media(part)
        for part in shown
        if isinstance(part, Text | Image | Document)
    ]
    result: dict[str, object] = {"type": "tool_result", "tool_use_id": call}
    if inner or block.is_error:
        result["content"] = inner or SILENT_ERROR
    if block.is_error:
        result["is_error"] = True
    return result


def _media(block: Image | Document) -> Json:
    source = image_source(block) if isinstance(block, Image) else document_source(block)
    if source is None:
        return {"type": "text", "text": placeholder(block)}
    if isinstance(block, Image):
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, **({"title": block.title} if block.title else {})}


def image_source(block: Image) -> Json | None:
    """Where the picture is, in Anthropic's words; None where it cannot be carried."""
    if block.data and block.media_type in _PICTURES:
        return {"type": "base64", "media_type": block.media_type, "data": block.data}
    return {"type": "url", "url": block.url} if is_address(block.url) else None


def document_source(block: Document) -> Json | None:
    """Where the document is, in Anthropic's words; None where it cannot be carried."""
    if block.data and block.media_type == "application/pdf":
        return {"type": "base64", "media_type": block.media_type, "data": block.data}
    if not is_blank(block.text):
        return {"type": "text", "media_type": "text/plain", "data": block.text}
    return {"type": "url", "url": block.url} if is_address(block.url) and not is_played(block) else None


def _shows(block: Image | Document, takes_media: bool) -> bool:
    if isinstance(block, Image):
        return takes_media and image_source(block) is not None
    return bool(block.text) or (takes_media and document_source(block) is not None)


CARRIES = Carries(
    NAME,
    "Anthropic has no such block",
    _shows,
    short_and_simple,
    only_objects=True,
    only_users_show=True,
    takes_detail=False,
)


def body(chunks: Sequence[bytes], settings: Mapping[str, Any], first: ViewItem | None) -> bytes:
    """The request's bytes: settings in their order, then the messages."""
    settings = offered(settings, NAME)
    for name in refused_sampling(settings):
        del settings[name]
    if isinstance(settings.get("system"), dict):
        settings["system"] = words(settings["system"])
    messages = list(filter(None, chunks))
    changes: list[bytes] = []
    is_led = first is not None and first.shape.role == "system"  # by a system message, which may be shown as text
    while messages and (_speaker(messages[0]) == "system" or (is_led and messages[0] is chunks[0])):
        said, *others = elements(b"[" + messages.pop(0) + b"]")
        settings["system"] = _with_system(settings.get("system"), bytes(said))
        changes += map(bytes, others)
    if not settings.get("system", True):
        del settings["system"]
    if messages and _speaker(messages[0]) == "assistant" and not _is_compacted(messages[0]):
        # The API wants the user to speak first; a view may begin with the assistant after a fold.
        spoken = decode(b"[" + messages[0] + b"]")[0]
        messages.insert(0, encode({"role": "user", "content": opening(spoken.get("content"))}))
    if changes:
        place = next((place for place, each in enumerate(messages) if _speaker(each) == "user"), len(messages))
        messages[place + 1 : place + 1] = changes
    marks = marks_in(settings.get("system"), settings.get("tools")) + ("cache_control" in settings)
    return wire.request(settings, limited(messages, most=max(0, MOST - marks)) if marks else messages)


def grown(body: bytes, fresh: Sequence[bytes]) -> bytes | None:
    """The request with more messages; one more mark may mean one less in front of it."""
    return None if holds_any(fresh, 0, (MARK,)) else wire.grown(body, fresh)


def _is_compacted(message: bytes) -> bool:
    """Whether it begins with what the API made of everything before: that stands first, with nothing in front."""
    content = decode(b"[" + message + b"]")[0].get("content")
    return isinstance(content, list) and bool(content) and content[0].get("type") == "compaction"


def _speaker(message: bytes) -> str:
    return str(decode(b"[" + message + b"]")[0].get("role"))


def _with_system(system: object, message: bytes) -> list[Any]:
    """The system prompt, followed by what a system message at the head of the thread says."""
    if isinstance(system, Raw):
        system = decode(bytes(system))
    before = system if isinstance(system, list) else _as_blocks(system)
    return [*before, *_as_blocks(decode(message).get("content"))]


def _as_blocks(content: object) -> list[Any]:
    if isinstance(content, list):
        said = [block for block in content if block.get("text") != LABEL.strip()]
        return [{**block, "text": block["text"].removeprefix(LABEL)} if "text" in block else block for block in said]
    return [{"type": "text", "text": content}] if content else []
