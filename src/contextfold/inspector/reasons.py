"""Why something was folded or sent, as a sentence: decisions name what set them off in a word for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contextfold.deferred import expression

_TRIGGERS = {
    "percent": "the window was filling up",
    "headroom": "too little room was left for the next turns",
    "ladder": "the window was filling up",
    "limit": "the request did not fit",
    "explicit": "somebody asked for it",
    "overflow": "the provider refused the request as too long",
    "bytes": "the request had too many bytes",
    "images": "the request had too many images",
    "clearing-pays": "old results cost more to send on than to clear",
    "summary-pays": "a summary costs less than sending on what it replaces",
    "guard": "the full history would have cost less from there on",
    "ahead": "a summary had been written in the background",
    "provider": "the provider compacted the conversation",
    "unfold": "room was made for what was unfolded",
    "door": "it was too large to be taken in as it came",
}
_NUMBERED = expression(r"-\d+$")  # steps of a ladder
_AT_NOTHING = "folding begins at 0"  # where no size set it off


def sentence(reason: str) -> str:
    """A reason without the word for programs in front of it; a word alone becomes what it means."""
    word, mark, rest = reason.partition(": ")
    meaning = _TRIGGERS.get(_NUMBERED.sub("", word))
    if meaning is None:
        return reason
    return rest if mark and not rest.endswith(_AT_NOTHING) else meaning


def with_reasons(value: Any, translate: Callable[[str], str]) -> Any:
    """An answer in which every reason is a sentence in the reader's language."""
    if isinstance(value, dict):
        return {
            name: translate(sentence(each))
            if name == "reason" and isinstance(each, str)
            else with_reasons(each, translate)
            for name, each in value.items()
        }
    return [with_reasons(each, translate) for each in value] if isinstance(value, list | tuple) else value
