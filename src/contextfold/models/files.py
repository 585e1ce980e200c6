"""Which settings files hold, and how they are read: never a pipe, a device or gigabytes, and never more trust than due.

The user's own file (`~/.config/contextfold/contextfold.toml`) and a file that the user names may say anything. A
`contextfold.toml` that merely lies in the working directory may come from a stranger, as with a cloned repository, and
who owns the file says nothing about that: it may set how our output looks (`APPEARANCE`) and nothing else, so a setting
that is new needs trust as well. The rest is left out, and a warning names it. The user trusts such a file for one run
(`--trust`, `CONTEXTFOLD_TRUST=1`), or this content of it from now on (`contextfold trust`, see `trust`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from contextfold.errors import BadConfiguration

from .trust import is_recorded, records_in

FILE = "contextfold.toml"
CONFIG_VARIABLE, TRUST_VARIABLE = "CONTEXTFOLD_CONFIG", "CONTEXTFOLD_TRUST"
_YES = ("1", "true", "yes", "on")
APPEARANCE = ("language", "color")  # all that a file which nobody vouches for may set
TABLES = ("models", "profiles")
MOST_SETTINGS = 256_000  # bytes of a settings file
MOST_TABLE = 32_000_000  # bytes of a table of models; litellm's has three million
MOST_NAMED = 20  # settings that a warning names
_MOST_DOTS = 200  # in a line of a settings file
_MOST_LETTERS = 60  # of a name in a warning


class SettingsFiles(Struct, frozen=True):
    """The nearer settings file and the user's own, where they are, and what is trusted of the nearer one."""

    near: Path | None
    own: Path | None
    is_trusted: bool  # whatever the nearer file says
    records: Path | None  # the directory that tells which contents of it are trusted


class SettingsTable(Struct, frozen=True):
    """What the settings files say together, the nearer before the user's own."""

    table: Mapping[str, Any] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)  # the file of each key; "models.NAME" of each model
    path: str = ""  # of the nearest file; empty when there is none
    left_out: tuple[str, ...] = ()  # what a file that nobody vouches for may not say


def contents(path: str | Path, most: int) -> bytes:
    """The bytes of a regular file of at most so many; anything else is an `OSError` that says what it is."""
    # Without O_NONBLOCK, opening a pipe waits until somebody writes to it.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError("it is not a regular file")
        read = b"" if found.st_size > most else file.read(most + 1)
        if found.st_size > most or len(read) > most:
            raise OSError(f"it has more than the {most:,} bytes that are read")
    return read


def settings_files(environ: Mapping[str, str], named: str | Path | None = None) -> SettingsFiles:
    """Where settings are: in the file that is named or lies here, and in the user's own."""
    chosen = str(named or environ.get(CONFIG_VARIABLE, ""))
    near = Path(chosen or FILE)
    is_there = bool(chosen) or os.path.lexists(near)
    own = _own_file(environ)
    is_own = own is not None and is_there and near.exists() and near.resolve() == own.resolve()
    if is_own and not chosen:
        is_there = False  # a link to the user's own file: tables beside the link are a stranger's
    elif is_own:
        own = None
    is_trusted = bool(chosen) or environ.get(TRUST_VARIABLE, "").lower() in _YES
    return SettingsFiles(near if is_there else None, own, is_trusted, None if is_trusted else records_in(environ))


def _own_file(environ: Mapping[str, str]) -> Path | None:
    """The user's own file, if there is one; a home that is relative would be looked for in a stranger's directory."""
    home = environ.get("XDG_CONFIG_HOME") or environ.get("APPDATA")
    if not home and environ.get("HOME"):
        home = str(Path(environ["HOME"]) / ".config")
    own = Path(home) / "contextfold" / FILE if home else None
    # Asked so, a home that may not be looked into has no file, as that of another user.
    return own if own is not None and own.is_absolute() and os.path.isfile(own) else None  # noqa: PTH113


def read_settings(files: SettingsFiles) -> SettingsTable:
    """What both files say; whatever the nearer one may not say is left out."""
    near, own = files.near, files.own
    table: dict[str, Any] = {}
    origins: dict[str, str] = {}
    left_out: tuple[str, ...] = ()
    if own is not None:
        table = _placed(read_table(own)[1], own)
        origins = _origins(table, own)
    if near is not None:
        content, nearer = read_table(near)
        if not files.is_trusted and not is_recorded(files.records, near, content):
            left_out = tuple(setting_names({name: value for name, value in nearer.items() if name not in APPEARANCE}))
            nearer = {name: nearer[name] for name in APPEARANCE if name in nearer}
        nearer = _placed(nearer, near)
        # The nearer file's word for every key; models and profiles are taken from both, one by one.
        both = [name for name in TABLES if all(isinstance(each.get(name), Mapping) for each in (table, nearer))]
        table = {**table, **nearer, **{name: {**table[name], **nearer[name]} for name in both}}
        origins = {**origins, **_origins(nearer, near)}
    return SettingsTable(table, origins, str(near or own or ""), left_out)


def read_named(path: Path) -> SettingsTable:
    """What one file says, all of it."""
    return read_settings(SettingsFiles(path, None, is_trusted=True, records=None))


def setting_names(table: Mapping[str, Any], depth: int = 3) -> Iterator[str]:
    """The dotted names of all settings in a table, of so many parts at most."""
    for name, value in table.items():
        if isinstance(value, Mapping) and value and depth > 1:
            yield from (f"{_shown(name)}.{each}" for each in setting_names(value, depth - 1))
        else:
            yield _shown(name)


def named_settings(names: tuple[str, ...]) -> str:
    """Names of settings as a warning lists them: a stranger's file may have very many."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f", … ({more} more)" if more > 0 else "")


def _shown(name: str) -> str:
    """A key as it is written in the file; one that holds anything strange is quoted and made harmless."""
    if name.isascii() and name.replace("-", "_").isidentifier():
        return name if len(name) <= _MOST_LETTERS else f"{name[:_MOST_LETTERS]}…"
    shown = ascii(name[:_MOST_LETTERS])[1:-1].replace('"', '\\"')
    return f'"{shown}{"…" if len(name) > _MOST_LETTERS else ""}"'


def read_table(path: Path) -> tuple[bytes, dict[str, Any]]:
    """A settings file: its bytes, and what they say."""
    try:
        content = contents(path, MOST_SETTINGS)
        # A key of many parts takes the square of them to parse.
        if max(line.count(b".") for line in content.split(b"\n")) > _MOST_DOTS:
            raise OSError(f"it has a line with more than {_MOST_DOTS:,} dots")
        table: dict[str, Any] = msgspec.toml.decode(content)
    except (OSError, ValueError, RecursionError) as error:  # what is no TOML is a ValueError of several kinds
        raise BadConfiguration(f"{path} cannot be read: {error}. Mend the file, or name another.") from error
    return content, table


def _placed(table: dict[str, Any], path: Path) -> dict[str, Any]:
    """Tables of models are looked for beside the file that names them."""
    beside = {
        name: str(path.parent / table[name])
        for name in ("litellm", "catalogue")
        if isinstance(table.get(name), str) and table[name]
    }
    return {**table, **beside}


def _origins(table: Mapping[str, Any], path: Path) -> dict[str, str]:
    inner = [f"{name}.{each}" for name in TABLES if isinstance(table.get(name), Mapping) for each in table[name]]
    return dict.fromkeys((*table, *inner), str(path))
