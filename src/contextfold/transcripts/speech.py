"""Messages as they leave a reader: built from blocks, freed of bookkeeping, checked, with the calls they make and
answer.

It refuses (with a reason, for the report) what a thread could not take: no role, content of no known shape, calls
without an id. It never invents content. The small facts that foreign fields tell (times, counts, texts, ids, whether a
person spoke) are read first; that never raises: what cannot be understood is None, zero, or empty.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from msgspec import Raw, Struct

from contextfold.deferred import expression
from contextfold.domain import decode, encode, is_typed
from contextfold.errors import BadMessage

from .session import Defect, Recorded, Skipped
from .source import assembled, fields, json_array

_WORD = expression(r"[\w.:/-]{1,60}")
_ID = expression(r"[a-zA-Z0-9_-]{1,64}")
_MILLISECONDS = 1e11  # seconds since 1970 stay below this for three thousand years
_PICTURE_TYPES = ("image", "input_image", "image_url")


def when(value: object) -> float | None:
    """Seconds since 1970, from ISO text, seconds or milliseconds. A time without a zone is taken as UTC."""
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value)
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value / 1000 if value > _MILLISECONDS else float(value)


def number(value: object) -> int:
    """A count of tokens; zero for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return max(0, int(value))


def billed(fresh: object, cached: object = 0, written: object = 0, output: object = 0) -> dict[str, int] | None:
    """Usage in the words of Anthropic's API; None where nothing was billed."""
    usage = {
        "input_tokens": number(fresh),
        "cache_read_input_tokens": number(cached),
        "cache_creation_input_tokens": number(written),
        "output_tokens": number(output),
    }
    return usage if any(usage.values()) else None


def billed_with_cache_inside(whole: object, cached: object, output: object) -> dict[str, int] | None:
    """The same where the provider counts cached input as part of the input."""
    return billed(number(whole) - number(cached), cached, 0, output)


def openai_usage(usage: object) -> dict[str, int] | None:
    """What an OpenAI chat answer says was billed."""
    if not isinstance(usage, Mapping):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    return billed_with_cache_inside(usage.get("prompt_tokens"), cached, usage.get("completion_tokens"))


def word(value: object) -> str:
    """A string, or nothing."""
    return value if isinstance(value, str) else ""


def kind(*words: object) -> str:
    """The file's own word for a line, safe to print; `other` where it is no plain word."""
    said = ":".join(each for each in words if isinstance(each, str) and each)
    return said if _WORD.fullmatch(said) else "other"


def flat(content: object) -> str:
    """The text in a content, whatever its shape; pictures have none."""
    match content:
        case None:
            return ""
        case str():
            return content
        case list():
            return "\n".join(text for each in content if (text := flat(each)))
        case {"type": str(what)} if what in _PICTURE_TYPES:
            return ""
        case {"text": inner} | {"content": inner} | {"output": inner}:
            return flat(inner)
        case _:
            return spelled(content)


def spelled(value: object) -> str:
    """A value as JSON text."""
    try:
        return encode(value).decode()
    except BadMessage:
        return ""


def parsed(words: str) -> Any:
    """The value that a text spells as JSON; None where it spells none."""
    try:
        return decode(words)
    except (BadMessage, UnicodeEncodeError):
        return None


def call_id(value: object) -> str:
    """An id that every provider takes: the original where it is one, else a short one made from it."""
    if isinstance(value, str) and _ID.fullmatch(value):
        return value
    said = value if isinstance(value, str) else spelled(value)
    return "call_" + hashlib.sha256(said.encode("utf-8", "backslashreplace")).hexdigest()[:24]


def input_object(given: Any) -> dict[str, Any]:
    """Arguments as the object that Anthropic's form wants: spelled out, or put under `input` where they are none."""
    value = parsed(given) if isinstance(given, str) else given
    if isinstance(value, dict):
        return value
    return {"input": given} if given not in (None, "") else {}


def has_typed(content: object) -> bool:
    """Whether some text in it was typed by a person, and not only answered by tools."""
    if isinstance(content, str):
        return is_typed(content)
    if not isinstance(content, list):
        return False
    texts = [block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"]
    return any(isinstance(words, str) and is_typed(words) for words in texts)


_ROLES = ("user", "assistant", "system", "developer", "tool", "function")
# What a provider takes back; anything else in a logged message is bookkeeping.
_PORTABLE = frozenset(
    {
        "role",
        "content",
        "name",
        "tool_calls",
        "tool_call_id",
        "function_call",
        "refusal",
        "audio",
        "reasoning",
        "reasoning_content",
    }
)
_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


class SpokenTurn(Struct, frozen=True):
    """A turn with the calls it makes and the calls it answers, each as (id, line)."""

    turn: Recorded
    calls: tuple[tuple[str, int], ...] = ()
    answers: tuple[tuple[str, int], ...] = ()


class Boundary(Struct, frozen=True):
    """A compaction whose place among the turns is not known yet; `kept_line` is the first line that stayed."""

    lines: tuple[int, ...]
    summary: str = ""
    kept_line: int = 0
    trigger: str = ""
    before_tokens: int = 0
    kind: Literal["summary", "clear", "window"] = "summary"
    cleared: tuple[str, ...] = ()
    shown: tuple[bytes, ...] = ()


Heard: TypeAlias = SpokenTurn | Boundary | Skipped | Defect


def text(words: str) -> bytes:
    return encode({"type": "text", "text": words})


def document(words: str) -> bytes:
    """Words that nobody typed, as a file."""
    return encode({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": words}})


def call(id: str, name: str, arguments: Mapping[str, Any]) -> bytes:
    return encode({"type": "tool_use", "id": id, "name": name or "tool", "input": arguments})


def result(id: str, content: object, is_error: bool = False) -> bytes:
    """`content`: text, or a list of Anthropic blocks."""
    block: dict[str, object] = {"type": "tool_result", "tool_use_id": id}
    if content:
        block["content"] = content
    return encode({**block, "is_error": True} if is_error else block)


def picture(url: str) -> bytes:
    """A picture by its address, or by its bytes where the address holds them; only named where neither will do."""
    head, _, data = url.partition(",")
    media_type = head.removeprefix("data:").partition(";")[0]
    if media_type in _PICTURES and data:
        return encode({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
    if url.startswith(("https://", "http://")):
        return encode({"type": "image", "source": {"type": "url", "url": url}})
    return text(f"[picture: {head[:200]}]")


def message(role: str, blocks: Iterable[bytes | Raw]) -> bytes:
    """A message in Anthropic's form out of blocks that are JSON already."""
    return b'{"role":' + encode(role) + b',"content":' + json_array(blocks) + b"}"


def portable(raw: bytes | Raw) -> tuple[bytes, bytes]:
    """A logged message without fields that no provider takes back, and the original where it had some."""
    found = fields(raw)
    kept = {
        name: value
        for name, value in found.items()
        if name in ("role", "content") or (name in _PORTABLE and bytes(value) not in (b"null", b"[]"))
    }
    if len(kept) == len(found):
        return bytes(raw), b""
    return assembled(kept), bytes(raw)


def unsound(value: Mapping[str, Any]) -> str:
    """Why a message cannot be taken; empty where it can."""
    role, content = value.get("role"), value.get("content")
    if role not in _ROLES:
        return "a message without a known role"
    if content is not None and not isinstance(content, str) and not _are_objects(content):
        return "a message whose content is neither text nor a list of blocks"
    if isinstance(content, list) and any(_is_unsound_block(block) for block in content):
        return "a tool call or result without an id"
    calls = value.get("tool_calls")
    if calls is not None and not _are_objects(calls):
        return "a tool call without an id or a function"
    for each in calls or ():
        if not isinstance(each.get("id"), str) or not isinstance(each.get("function") or each.get("custom"), dict):
            return "a tool call without an id or a function"
    if role == "tool" and not isinstance(value.get("tool_call_id"), str):
        return "a tool result without the id of its call"
    if role == "function" and not isinstance(value.get("name"), str):
        return "a function's result without its name"
    return ""


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _is_unsound_block(block: Mapping[str, Any]) -> bool:
    match block.get("type"):
        case "tool_use":
            return not isinstance(block.get("id"), str)
        case "tool_result":
            inner = block.get("content")
            fits = inner is None or isinstance(inner, str) or _are_objects(inner)
            return not isinstance(block.get("tool_use_id"), str) or not fits
        case _:
            return False


def calls_in(value: Mapping[str, Any]) -> Iterator[str]:
    """The ids of the calls a message makes, in either form."""
    for block in _blocks(value):
        if block.get("type") == "tool_use":
            yield block["id"]
    for each in value.get("tool_calls") or ():
        yield each["id"]


def answers_in(value: Mapping[str, Any]) -> Iterator[str]:
    """The ids of the calls a message answers, in either form."""
    for block in _blocks(value):
        if block.get("type") == "tool_result":
            yield block["tool_use_id"]
    if value.get("role") == "tool":
        yield value["tool_call_id"]


def _blocks(value: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    content = value.get("content")
    return content if isinstance(content, list) else ()


def spoken(turn: Recorded, value: Mapping[str, Any]) -> SpokenTurn:
    """A turn of one line with what it calls and answers."""
    line = turn.lines[0]
    return SpokenTurn(
        turn,
        tuple((call, line) for call in calls_in(value)),
        tuple((answer, line) for answer in answers_in(value)),
    )
