"""Small facts out of foreign fields: times, counts, texts, ids. Each answers for any value, however odd.

Nothing here raises: what cannot be understood is None, zero, or empty.

Whether a person spoke in the content of a recorded message; `contextfold.domain` says which words are a person's.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from contextfold.domain import decode, encode, is_typed
from contextfold.errors import BadMessage

_WORD = re.compile(r"[\w.:/-]{1,60}")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MILLISECONDS = 1e11  # seconds since 1970 stay below this for three thousand years
_PICTURES = ("image", "input_image", "image_url")


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
        case {"type": str(what)} if what in _PICTURES:
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
