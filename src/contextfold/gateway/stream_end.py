"""Where a stream of events ends for its reader, which is before the connection does.

Clients take an answer for whole when they have its last event, and may say the next thing at once. Looked for in bytes,
without reading any event: only the beginning of a line counts, and no text of an answer can begin one.
"""

from __future__ import annotations

import re

_LAST_EVENT = re.compile(
    rb"\n(?:event: ?(?:message_stop|response\.(?:completed|incomplete|failed))\b"
    rb'|data: ?(?:\[DONE\]|\{\s*"type": ?"(?:message_stop|response\.(?:completed|incomplete|failed))"))'
)
_LONGEST = 64  # bytes that are looked at again with the next piece, since an event may come in two


class StreamEnd:
    """Looks for the last event of one stream, piece by piece."""

    def __init__(self) -> None:
        self._before = b"\n"
        self._is_over = False

    def before(self, piece: bytes) -> int:
        """How many bytes of this piece come before the last event; none of what comes behind it."""
        if self._is_over:
            return 0
        seen = self._before + piece
        found = _LAST_EVENT.search(seen)
        if found is not None:
            self._is_over = True
            return max(0, found.start() + 1 - len(self._before))
        self._before = seen[-_LONGEST:]
        return len(piece)
