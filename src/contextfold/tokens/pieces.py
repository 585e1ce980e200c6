"""Cut a long text so that no tokenizer meets an unbroken run it is slow at.

Byte-pair merging is more than linear in the length of a run: a megabyte of spaces took one library half a second and
made another panic. A cut falls where a tokenizer splits anyway whenever there is such a place, and changes no count.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 1 << 14

# Every pre-tokenizer splits between a letter and a blank that is followed by a letter.
_SEAM: Final = re.compile(r"[a-z](?= [a-z])", re.ASCII)


def pieces(text: str, longest: int = LONGEST) -> list[str]:
    """The text in pieces of at most `longest` characters; joined, they are the text."""
    found, start = [], 0
    while len(text) - start > longest:
        end = _seam(text, start + longest // 2, start + longest)
        found.append(text[start:end])
        start = end
    found.append(text[start:])
    return found


def _seam(text: str, first: int, last: int) -> int:
    match = _SEAM.search(text, first, last)
    return match.end() if match else last
