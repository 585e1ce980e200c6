"""What a user has set, and where: flags, then the environment, then `contextfold.toml`, then what we take for granted.

One file format serves every program of the house; what it says about models is read by `contextfold.models` from the
same file. A value always comes with its source, so that nobody has to guess why something is as it is. Nothing here
opens a store or calls anything.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, field

from contextfold.errors import BadConfiguration
from contextfold.models import (
    CONFIG_VARIABLE,
    LEGACY_FOR_ALL,
    PREFIX,
    TRUST_VARIABLE,
    Config,
    Profile,
    SettingsTable,
    config_of,
    limit_for_all,
    nearest,
    read_settings,
    settings_files,
    warn_of_left_out,
)

DEFAULT = "default"
VARIABLES = "CONTEXTFOLD_"
_OURS = (CONFIG_VARIABLE, TRUST_VARIABLE, PREFIX, "CONTEXTFOLD_DEBUG", "CONTEXTFOLD_SOAK")

Plain: TypeAlias = str | int | float | bool | None


class Setting(Struct, frozen=True):
    """One thing that can be set: its key in the file, what holds when nobody sets it, and what it may be."""

    key: str
    default: str
    meaning: str
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        return VARIABLES + self.key.upper()

    @property
    def flag(self) -> str:
        return "--lang" if self.key == "language" else f"--{self.key}"


SETTINGS: tuple[Setting, ...] = (
    Setting("store", "contextfold.db", "the SQLite file that holds the threads"),
    Setting("space", "default", "whose threads: one file may hold several spaces"),
    Setting("thread", "", "the thread meant when none is named"),
    Setting("model", "", "the model to count and fold for; empty: the thread's own"),
    Setting("policy", "balanced", "how to fold: the name of a recipe"),
    Setting("profile", "", "a profile of how to fold, by name"),
    Setting("artifacts", "", "a directory for large outputs put aside"),
    Setting("language", "", "en or ja; empty: as the terminal says", ("", "en", "ja")),
    Setting("color", "auto", "auto, always or never", ("auto", "always", "never")),
)


# How all conversations are folded, in the file and in the environment; a profile and a model may say otherwise.
FOLDING: Mapping[str, type] = {
    "threshold": int,
    "condensing_model": str,
    "target_reduction": float,
    "keep_messages": int,
    "condensing_prompt": str,
}


class Effective(Struct, frozen=True):
    """A value in force, and who said so."""

    key: str
    value: Plain
    source: str


class Configuration(Struct, frozen=True):
    """Everything that is set for one run."""

    settings: Mapping[str, Effective]
    models: Config
    path: str  # of the file; empty when there is none
    limit: Effective  # of every model's input
    in_environment: Profile  # how to fold, as far as variables say it
    gateway: Mapping[str, Any] = field(default_factory=dict)  # its own table, read by the gateway

    def __getitem__(self, key: str) -> str:
        return str(self.settings[key].value)

    def listed(self) -> list[Effective]:
        """Every effective value, the general ones first, then those of models and profiles."""
        profile = self.models.profile()
        said = self.models.for_all
        folding = [
            Effective(
                name, getattr(profile, name), self.models.origin(name) if _is_set(getattr(said, name)) else DEFAULT
            )
            for name in profile.__struct_fields__
        ]
        tables = {"litellm": self.models.litellm, "catalogue": self.models.catalogue}
        further = [
            Effective(name, path, self.models.origin(name) if path else DEFAULT) for name, path in tables.items()
        ]
        return [*self.settings.values(), self.limit, *folding, *further, *self._tables()]

    def said(self, model: str, profile: str = "") -> Profile:
        """What was really said about folding for this model and profile; -1 and empty where nobody said anything."""
        return self.models.said(model, profile or self["profile"], self.in_environment)

    def _folding(self, name: str) -> Effective:
        own, in_file = getattr(self.in_environment, name), getattr(self.models.for_all, name)
        if _is_set(own):
            return Effective(name, own, f"environment {VARIABLES}{name.upper()}")
        value = in_file if _is_set(in_file) else getattr(self.models.profile(), name)
        return Effective(name, value, self.models.origin(name) if _is_set(in_file) else DEFAULT)

    def _tables(self) -> list[Effective]:
        tables: list[tuple[str, Mapping[str, msgspec.Struct]]] = [
            ("models", self.models.models),
            ("profiles", self.models.profiles),
        ]
        return [
            Effective(
                f"{table}.{name}.{field}",
                value if isinstance(value, str | int | float | bool) else msgspec.json.encode(value).decode(),
                self.models.origin_of_model(name) if table == "models" else self.models.origin(f"{table}.{name}"),
            )
            for table, entries in tables
            for name, entry in entries.items()
            for field in entry.__struct_fields__
            if _is_set(value := getattr(entry, field))
        ]


def configure(
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, str | None] | None = None,
    file: str | Path | None = None,
) -> Configuration:
    """What holds now. `flags` are what was given on a command line; `file` is named by one of them."""
    environment = os.environ if environ is None else environ
    found = read_settings(settings_files(environment, file))
    config = config_of(found)
    warn_of_left_out(config)
    given = dict(flags or {})
    settings = {each.key: _effective(each, given.get(each.key), environment, found) for each in SETTINGS}
    gateway = found.table.get("gateway", {})
    if not isinstance(gateway, Mapping):
        raise BadConfiguration(f"{found.origins.get('gateway', found.path)}: gateway must be a table, as in [gateway].")
    limit = Effective("max_input_tokens", None, DEFAULT)
    said = limit_for_all({name: environment[name] for name in (PREFIX, *LEGACY_FOR_ALL) if name in environment})
    if said is not None:
        limit = Effective("max_input_tokens", said[0], f"environment {said[1]}")
    elif config.max_input_tokens is not None:
        limit = Effective("max_input_tokens", config.max_input_tokens, config.origin("max_input_tokens"))
    return Configuration(settings, config, found.path, limit, _in_environment(environment), gateway)


def unknown_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that look like ours and mean nothing, with what was perhaps meant."""
    known = [*(each.variable for each in SETTINGS), *(VARIABLES + name.upper() for name in FOLDING), *_OURS]
    strange = [name for name in environ if name.startswith(VARIABLES) and name not in known]
    return {name: nearest(name, known) for name in strange if not name.startswith(f"{PREFIX}__")}


def _effective(setting: Setting, flag: str | None, environ: Mapping[str, str], found: SettingsTable) -> Effective:
    said: tuple[tuple[object, str], ...] = (
        (flag, f"flag {setting.flag}"),
        (environ.get(setting.variable) or None, f"environment {setting.variable}"),
        (found.table.get(setting.key), found.origins.get(setting.key, "")),
        (setting.default, DEFAULT),
    )
    value, source = next((value, source) for value, source in said if value is not None)
    if not isinstance(value, str):
        raise BadConfiguration(f"{source}: {setting.key} is {value!r}; it must be a text in quotes.")
    if setting.choices and value not in setting.choices:
        choices = [choice for choice in setting.choices if choice]
        raise BadConfiguration(f"{source}: {setting.key} is {value!r}{nearest(value, choices)}")
    return Effective(setting.key, value, source)


def _in_environment(environ: Mapping[str, str]) -> Profile:
    """How to fold, as variables say it; a wrong value is refused by the variable's name."""
    values: dict[str, Any] = {}
    for name, kind in FOLDING.items():
        variable = VARIABLES + name.upper()
        if not environ.get(variable, "").strip():
            continue
        try:
            values[name] = kind(environ[variable])
            Profile(**{name: values[name]})
        except (ValueError, BadConfiguration) as error:
            raise BadConfiguration(f"{variable} is {environ[variable]!r}: {error}") from error
    return Profile(**values)


def _is_set(value: object) -> bool:
    return value not in (None, -1, "")
