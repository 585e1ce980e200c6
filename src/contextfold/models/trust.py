"""Settings files that the user trusts: by place and content, remembered in the user's own state directory.

A record is an empty file whose name is a hash of the settings file's directory, its name and its bytes. So nothing has
to be parsed, a file that changed or moved is trusted no more, and deleting the record takes the trust back. The
directory is the one in which the file is found, not that of a file it links to: what it names is looked for there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from contextfold.private import state_directory, write_private

_RECORDS = "trusted"


def records_in(environ: Mapping[str, str]) -> Path | None:
    """The directory of the records; None where the user has no place for them."""
    try:
        directory = state_directory(environ)
    except RuntimeError:  # no home
        return None
    return directory / _RECORDS if directory.is_absolute() else None


def is_recorded(records: Path | None, path: Path, content: bytes) -> bool:
    """Whether the user trusts a file with exactly this content at this place."""
    return records is not None and os.path.isfile(_record(records, path, content))  # noqa: PTH113  # never raises


def record(records: Path, path: Path, content: bytes) -> None:
    """Trust a file at this place with this content from now on."""
    records.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(_record(records, path, content), b"")


def revoke(records: Path, path: Path, content: bytes) -> None:
    """Trust a file at this place with this content no longer."""
    _record(records, path, content).unlink(missing_ok=True)


def _record(records: Path, path: Path, content: bytes) -> Path:
    place = os.fsencode(os.path.join(os.path.realpath(path.absolute().parent), path.name))  # noqa: PTH118
    return records / sha256(sha256(place).digest() + sha256(content).digest()).hexdigest()
