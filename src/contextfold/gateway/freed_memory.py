"""What a large request took goes back to the system when it is done.

The C library raises by itself the size from which a block gets pages of its own, up to the largest that was ever freed:
after one large request the next grows in the common heap, is copied there whenever it grows, and leaves holes behind.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from typing import Final

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of settings, as malloc.h numbers them
_LARGE: Final = 1 << 20  # bytes


def keep_large_blocks_apart() -> None:
    """Give large blocks pages of their own, for as long as the process lives; where the C library cannot, nothing."""
    if not sys.platform.startswith("linux"):
        return
    with suppress(OSError, AttributeError):  # another C library than glibc
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, _LARGE)
        library.mallopt(_TRIM_THRESHOLD, _LARGE)
