"""The loggers of this house, one for each room, under `contextfold`.

They are heard by whoever configures logging and by nobody else: without a handler of ours, Python would write a warning
such as "cannot fit", which is raised as an error too, to the terminal of an application that never asked for it.
"""

from __future__ import annotations

import logging

_TOP = "contextfold"


def logger(room: str) -> logging.Logger:
    """The logger of a room, silent until an application listens."""
    top = logging.getLogger(_TOP)
    if not top.handlers:
        top.addHandler(logging.NullHandler())
    return top.getChild(room)
