"""Whether a file still is what a tool's answer showed of it: the only witness when nobody was there to look.

Tools number lines in their own ways; numbers are taken off before comparing. Where the answer does not look like the
file at all (a digest, another format), this says that it cannot tell, rather than guess.
"""

from __future__ import annotations

import re

from .reads import Use

_NUMBERED = re.compile(r"^\s*\d+(?:\t|→| ?\| ?|: )")


def is_as_shown(use: Use, text: str) -> bool | None:
    """True, False, or None where it cannot be told."""
    if use.is_whole:
        return use.text == text
    if use.action == "write":
        return None
    shown = use.text.splitlines()
    lines = text.splitlines()[(use.first or 1) - 1 : use.last][: len(shown)]
    witnesses = {*shown, *(_NUMBERED.sub("", line) for line in shown)}
    found = sum(line in witnesses for line in lines)
    if lines and found == len(lines):
        return True
    return False if found * 2 >= max(1, len(lines)) else None
