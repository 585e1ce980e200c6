"""Text between tags that it cannot break: escaped, and framed by a tag that carries the thread's nonce.

What is written is well-formed XML whatever the text holds: closing tags, entities, control characters, look-alikes that
a normalizer turns into angle brackets, control tokens of chat templates. Nothing is left out and nothing is judged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256

from contextfold.domain import encodable

NONCE_LENGTH = 8

# Signs that some normal form turns into one that means something in markup are written by their number.
_LOOK_ALIKES = "＜﹤≮＞﹥≯＆﹠＂［﹇"
_MEANT = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_UNPRINTABLE = [*range(9), 11, 12, *range(14, 32), 0x7F, 0xFFFE, 0xFFFF]
_TEXT = str.maketrans(
    {**_MEANT, **{sign: f"&#{ord(sign)};" for sign in _LOOK_ALIKES}, **{chr(code): "\ufffd" for code in _UNPRINTABLE}}
)
_ATTRIBUTE = str.maketrans({'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;", "\x85": "&#133;"})
_TOUCHED = re.compile("[&<>" + re.escape(_LOOK_ALIKES) + "\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")

# The bracketed control tokens of chat templates; those with angle brackets are broken by the escapes above.
_BRACKETED = re.compile(
    r"\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CONTENT|IMG)\b)", re.IGNORECASE
)
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)


def nonce_of(*parts: str) -> str:
    """A nonce from what makes a thread: the same each time, and in no text by chance."""
    return sha256("\0".join(map(encodable, parts)).encode()).hexdigest()[:NONCE_LENGTH]


def escaped(text: str, nonce: str = "") -> str:
    """The text as it may stand between tags."""
    text = encodable(text)
    if nonce and _may_hold(text, nonce):
        text = _broken_up(text, nonce)
    if _TOUCHED.search(text):
        text = text.translate(_TEXT)
    return _BRACKETED.sub("&#91;", text) if "[" in text else text


def attribute(value: str, nonce: str = "") -> str:
    """The text as it may stand between quotation marks."""
    return escaped(value, nonce).translate(_ATTRIBUTE)


def opening(name: str, attributes: Iterable[tuple[str, str]] = (), nonce: str = "") -> str:
    """An opening tag without its last sign."""
    return f"<{name}" + "".join(f' {key}="{attribute(value, nonce)}"' for key, value in attributes)


def frame(name: str, nonce: str, body: str, note: str = "") -> str:
    """Markup in a frame; the tag names the nonce, so that no text can speak of this frame by chance."""
    tag = f"{name}-{nonce}"
    return f"<{tag}{note}>\n{body}\n</{tag}>"


def _may_hold(text: str, nonce: str) -> bool:
    if text.isascii():
        return nonce in text.lower()
    return nonce in _plain(text).lower()


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))


def _broken_up(text: str, nonce: str) -> str:
    """Somebody wrote the thread's nonce, perhaps in disguise: the disguise goes, and the nonce is taken apart."""
    return re.sub(nonce, lambda match: "·".join(match.group()), _plain(text), flags=re.IGNORECASE)
