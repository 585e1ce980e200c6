"""Whether what was granted covers what is required: the very same name, or a wildcard that was granted as such.

`fs:*` covers `fs:write`, `*` covers everything. No other sign means anything, and no part of a name is a name.
"""

from __future__ import annotations

from collections.abc import Iterable

from contextfold.errors import BadConfiguration

EVERYTHING = "*"


def covers(granted: Iterable[str], required: str) -> bool:
    """Whether one of the granted permissions is this one or a wildcard for it."""
    held = granted if isinstance(granted, frozenset) else frozenset(granted)
    if required in held or EVERYTHING in held:
        return True
    spaces = required.split(":")[:-1]
    return any(":".join([*spaces[: depth + 1], EVERYTHING]) in held for depth in range(len(spaces)))


def checked(required: Iterable[str]) -> frozenset[str]:
    """What a tool may require: plain names. Something empty would be covered by anything."""
    names = frozenset((required,) if isinstance(required, str) else required)
    for name in names:
        if not name.strip() or EVERYTHING in name:
            raise BadConfiguration(
                f"A tool cannot require the permission {name!r}. Name it in full, without wildcards."
            )
    return names
