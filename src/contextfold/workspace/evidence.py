"""Whether a file still is what a tool's answer showed of it: the only witness when nobody was there to look.

Tools number lines in their own ways; numbers are taken off before comparing. Where the answer does not look like the
file at all (a digest, another format), this says that it cannot tell, rather than guess.
"""

from __future__ import annotations

import re

from .reads import Use

_NUMBERED = re.compile(r"^\s*\d+(?:\t|→| ?\| ?|: )")
_CUT = re.compile(r"truncat|omitted|more lines|\.\.\.|…|省略", re.IGNORECASE)
_AROUND = 3  # lines that a tool may put around a file …
_AROUND_BY = ("<", "(", "[", "{", "#")  # … and how such lines begin
_CAP = 200  # lines that no tool cuts a file to; a longer answer may be cut by its tool


def is_as_shown(use: Use, text: str) -> bool | None:
    """True, False, or None where it cannot be told."""
    if use.is_whole:
        return use.text == text
    if use.action == "write":
        return None
    shown = use.text.splitlines()
    lines = text.splitlines()[(use.first or 1) - 1 : use.last]
    numbered = [_NUMBERED.sub("", line) for line in shown if _NUMBERED.match(line)]
    said = numbered if len(numbered) * 2 > len(shown) else shown
    begin = next((at for at in range(min(len(said), _AROUND + 1)) if lines and said[at] == lines[0]), None)
    if begin is None:
        return False if said is numbered and said else _roughly(said, lines)
    same = 0
    while same < len(lines) and begin + same < len(said) and said[begin + same] == lines[same]:
        same += 1
    rest = [line for line in said[begin + same :] if line.strip() and not line.lstrip().startswith(_AROUND_BY)]
    is_capped = use.last is not None or len(said) >= _CAP or any(_CUT.search(line) for line in shown[-_AROUND:])
    return _verdict(rest, lines[same:], is_capped=is_capped)


def _verdict(shown: list[str], lines: list[str], *, is_capped: bool) -> bool:
    """What the first difference means: `shown` and `lines` are what follows it, in the answer and in the file."""
    if not lines:
        return not shown  # else there were more lines then
    if not shown:
        return is_capped  # else the file has grown
    is_cut = len(shown) <= _AROUND and lines[0].startswith(shown[0])  # in the middle of a line
    return is_cut or (is_capped and len(shown) <= _AROUND and bool(_CUT.search(shown[0])))


def _roughly(said: list[str], lines: list[str]) -> bool | None:
    """For an answer that does not begin like the file: whether it can have been the file at all."""
    witnesses = {line for line in said if line.strip()}
    wanted = [line for line in lines[: len(said)] if line.strip()]
    found = sum(line in witnesses for line in wanted)
    if found * 2 >= max(1, len(wanted)):
        return False
    is_plain = len(witnesses) >= _AROUND and not any(line.lstrip().startswith(_AROUND_BY) for line in said[:1])
    return False if is_plain and not found else None
