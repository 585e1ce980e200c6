"""Which settings files hold, and how they are read: never a pipe, a device or gigabytes, and never more trust than due.

The user's own file (`~/.config/contextfold/contextfold.toml`) and a file that the user names may say anything. A
`contextfold.toml` that merely lies in the working directory may come from a stranger, as with a cloned repository: it
may not name paths outside that directory, nor dialects and tokenizers that a plugin brings, nor who summarizes with the
user's keys and what that model is told, nor where a gateway listens and sends. What it may not say is left out and
told; `CONTEXTFOLD_TRUST=1`, or `--trust`, takes it whole.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from contextfold.errors import BadConfiguration

FILE = "contextfold.toml"
CONFIG_VARIABLE, TRUST_VARIABLE = "CONTEXTFOLD_CONFIG", "CONTEXTFOLD_TRUST"
PATHS = ("store", "artifacts", "litellm", "catalogue")
CONDENSING = ("condensing_model", "condensing_prompt")
TABLES = ("models", "profiles")
TRUSTED = ("gateway",)  # whoever says where requests go gets the keys
MOST_SETTINGS = 256_000  # bytes of a settings file
MOST_TABLE = 32_000_000  # bytes of a table of models; litellm's has three million

IsOurs = Callable[[str, object], bool]  # whether a dialect or a tokenizer ships with the package


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


def settings_files(
    environ: Mapping[str, str], named: str | Path | None = None
) -> tuple[Path | None, Path | None, bool]:
    """The nearer settings file and the user's own, where they are; and whether the nearer one is trusted."""
    chosen = str(named or environ.get(CONFIG_VARIABLE, ""))
    near = Path(chosen or FILE)
    is_there = bool(chosen) or os.path.lexists(near)
    home = environ.get("XDG_CONFIG_HOME") or environ.get("APPDATA")
    if not home and environ.get("HOME"):
        home = str(Path(environ["HOME"]) / ".config")
    own = Path(home) / "contextfold" / FILE if home else None
    if own is not None and not os.path.isfile(own):  # noqa: PTH113
        own = None  # asked so, a home that may not be looked into has no file, as that of another user
    is_own = own is not None and is_there and near.exists() and near.resolve() == own.resolve()
    is_trusted = bool(chosen) or is_own or environ.get(TRUST_VARIABLE, "") not in ("", "0")
    return near if is_there else None, None if is_own else own, is_trusted


def read_settings(near: Path | None, own: Path | None, *, trusted: bool, is_ours: IsOurs) -> SettingsTable:
    """What both files say; whatever the nearer one may not say is left out."""
    table: dict[str, Any] = {}
    origins: dict[str, str] = {}
    left_out: tuple[str, ...] = ()
    if own is not None:
        table = _placed(_decoded(own), own)
        origins = _origins(table, own)
    if near is not None:
        nearer = _decoded(near)
        if not trusted:
            nearer, left_out = _harmless(nearer, near, is_ours)
        nearer = _placed(nearer, near)
        # The nearer file's word for every key; models and profiles are taken from both, one by one.
        both = [name for name in TABLES if all(isinstance(each.get(name), Mapping) for each in (table, nearer))]
        table = {**table, **nearer, **{name: {**table[name], **nearer[name]} for name in both}}
        origins = {**origins, **_origins(nearer, near)}
    return SettingsTable(table, origins, str(near or own or ""), left_out)


def _decoded(path: Path) -> dict[str, Any]:
    try:
        table: dict[str, Any] = msgspec.toml.decode(contents(path, MOST_SETTINGS))
    except (OSError, UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        raise BadConfiguration(f"{path} cannot be read: {error}. Mend the file, or name another.") from error
    return table


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


def _harmless(table: Mapping[str, Any], path: Path, is_ours: IsOurs) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A stranger's table without what only the user may say, and what that was."""
    directory = path.absolute().parent.resolve()
    left_out = [name for name in PATHS if name in table and not _is_inside(table[name], directory)]
    left_out += [name for name in (*CONDENSING, *TRUSTED) if name in table]
    kept = {name: value for name, value in table.items() if name not in left_out}
    for inner in TABLES:
        if not isinstance(kept.get(inner), Mapping):
            continue
        kept[inner] = dict(kept[inner])
        for name, one in kept[inner].items():  # what a stranger may say of one model or in one profile
            if isinstance(one, Mapping):
                foreign = [each for each in ("dialect", "tokenizer") if each in one and not is_ours(each, one[each])]
                foreign += [each for each in CONDENSING if each in one]
                left_out += [f'{inner}."{name}".{each}' for each in foreign]
                kept[inner][name] = {each: value for each, value in one.items() if each not in foreign}
    return kept, tuple(left_out)


def _is_inside(value: object, directory: Path) -> bool:
    """Whether a path, links followed, stays in the directory; what is no path at all is refused elsewhere."""
    if not isinstance(value, str) or not value:
        return True
    try:
        return (directory / value).resolve().is_relative_to(directory)
    except (OSError, ValueError, RuntimeError):  # no path that a system could have
        return False
