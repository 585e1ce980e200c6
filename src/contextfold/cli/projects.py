"""Which conversations belong to which project: a space of the store for each directory in which an agent is started.

What was said in one project is found again there and nowhere else: a stranger's repository could have its model ask for
what was said in another.
"""

from __future__ import annotations

import os
from pathlib import Path

_PROJECT = "project:"


def project_space(directory: str | os.PathLike[str]) -> str:
    """The space of a project, by the real path of its directory."""
    return _PROJECT + os.fsencode(Path(directory).resolve()).decode("utf-8", "backslashreplace")
