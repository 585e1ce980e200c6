"""Which of the six sections a summary lacks, and how to ask for them once more.

A summary is told by its headings, not by what stands under them. Whoever writes none of them was asked for something
else, and lacks nothing: a callable of the user's own may have a form of its own.
"""

from __future__ import annotations

from dataclasses import replace

from .instructions import instructions
from .prompt import Prompt
from .request import SummaryRequest

_AGAIN = {
    "en": "You left out these sections: {missing}. Write the whole summary again, under all six headings in order.",
    "ja": "次の節が抜けています：{missing}。6つの見出しをすべて順に使って、要約全体をもう一度書いてください。",
}


def missing_sections(text: str, request: SummaryRequest) -> tuple[str, ...]:
    """The headings that a summary lacks, of those it was asked for."""
    headings = [_heading(section) for section in instructions(request.language).sections]
    said = text.casefold()
    missing = tuple(heading for heading in headings if heading.casefold() not in said)
    return () if len(missing) == len(headings) else missing


def second_pass(prompt: Prompt, text: str, missing: tuple[str, ...], request: SummaryRequest) -> Prompt:
    """Ask once more, with what was written and what it lacks."""
    again = _AGAIN[request.language].format(missing="; ".join(missing))
    return replace(prompt, text=f"{prompt.text}\n\n{text}\n\n{again}", shared=None)


def _heading(section: str) -> str:
    """ "1. Current work: what was…" → "Current work"."""
    named = section.partition(". ")[2]
    return named.partition("：")[0] if "：" in named else named.partition(":")[0]
