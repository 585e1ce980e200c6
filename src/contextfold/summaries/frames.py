"""Frames around what others wrote, so that data stays data wherever it is shown.

A frame's tag carries a nonce. Hostile text may hold closing tags, role markers, look-alike letters or invisible ones:
none of them closes the frame, because the nonce is broken up wherever it stands in the text, in any disguise, and the
control tokens of chat templates are spelled so that no template reads them. Nothing here judges what a text says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256

from contextfold.deferred import expression

NONCE_LENGTH = 12

_INVISIBLE = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]*"
)
_UNSEEN = expression(_INVISIBLE.removesuffix("*"))
_WIDE = expression("[\uff01-\uff5e]")
_CONTROL = expression(  # each begins with one of three letters: whatever stands between them is passed over quickly
    rf"[<＜\[](?:(?<=[<＜]){_INVISIBLE}(?=[|｜¦][^\s|｜¦<>＜＞]{{1,60}}[|｜¦]{_INVISIBLE}[>＞])"
    r"|(?<=<)(?=/?(?:start_of_turn|end_of_turn|bos|eos|pad|s)>|</?SYS>>)"
    r"|(?<=\[)(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS)\]))"
)
_SAFE = {"<": "‹", "＜": "‹", "[": "⟦"}


def nonce_of(texts: Iterable[str]) -> str:
    """A nonce that none of the texts contains: made from all of them, so none of them can know it."""
    parts = list(texts)
    sealed = sha256(b"\0".join(part.encode("utf-8", "surrogatepass") for part in parts))
    while True:
        nonce = sealed.hexdigest()[:NONCE_LENGTH]
        if not any(nonce in part for part in parts):
            return nonce
        sealed.update(b"again")


def frame(kind: str, body: str, nonce: str, attributes: Sequence[tuple[str, str]] = ()) -> str:
    """The body between an opening and a closing line that it cannot imitate."""
    named = "".join(f' {name}="{_attribute(value, nonce)}"' for name, value in attributes)
    return f"<{kind}-{nonce}{named}>\n{guarded(body, nonce)}\n</{kind}-{nonce}>"


def guarded(text: str, nonce: str) -> str:
    """The text with every spelling of the nonce broken up and no control token of a chat template left whole."""
    plain = neutral(text)
    if not _may_hold(plain, nonce):
        return plain
    return _spellings(nonce).sub(lambda match: "·".join(match.group()), plain)


def _may_hold(text: str, nonce: str) -> bool:
    """Whether the nonce stands in the text in some spelling. Its pattern takes 15 ms to make; few texts need it."""
    bare = text
    if not text.isascii():
        bare = _WIDE.sub(lambda match: chr(ord(match.group()) - 0xFEE0), _UNSEEN.sub("", text))
    return nonce.lower() in bare.lower()


def neutral(text: str) -> str:
    """The text with the control tokens of chat templates spelled harmlessly; everything else stays as it is."""
    return _CONTROL.sub(lambda match: _SAFE[match.group()[0]], text)


def _attribute(value: str, nonce: str) -> str:
    plain = " ".join(guarded(value, nonce).split())
    return plain.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


@lru_cache(maxsize=64)
def _spellings(nonce: str) -> re.Pattern[str]:
    """The nonce in any case, in full-width letters, and with invisible characters in between."""
    letters = ("[" + re.escape(letter + letter.swapcase()) + _wide(letter) + "]" for letter in nonce)
    return re.compile(_INVISIBLE.join(letters))


def _wide(letter: str) -> str:
    return "".join(chr(ord(form) + 0xFEE0) for form in {letter, letter.swapcase()} if "!" <= form <= "~")
