"""`contextfold.toml`: what a project says about models and profiles, read strictly.

An unknown key is an error that names the nearest known one: a misspelled limit that is ignored is found in production.
A profile says how a kind of work wants to be folded. It is chosen by name and never guessed from a model's name; -1
inherits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from contextfold.errors import BadConfiguration

from .files import FILE, SettingsTable, read_named
from .model import Prices, candidates, key

INHERIT = -1
LEAST_THRESHOLD, MOST_THRESHOLD = 5, 100


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """What one kind of work wants. -1 takes the value from the model, or else from the settings for all."""

    threshold: int = INHERIT  # percent of the usable window at which folding starts
    condensing_model: str = ""  # who writes summaries; "main": the model that is spoken to; empty: the digest, no model
    target_reduction: float = INHERIT  # share of the tokens a summary should save
    keep_messages: int = INHERIT  # last messages never condensed
    condensing_prompt: str = ""  # what that model is told, in place of our own words

    def __post_init__(self) -> None:
        check_threshold(self.threshold, "threshold", inherits=True)
        if self.target_reduction != INHERIT and not 0 < self.target_reduction < 1:
            raise BadConfiguration(
                f"target_reduction is {self.target_reduction}; it must be between 0 and 1, or -1 to inherit."
            )
        if self.keep_messages < INHERIT:
            raise BadConfiguration(f"keep_messages is {self.keep_messages}; it must be 0 or more, or -1 to inherit.")

    def over(self, other: Profile) -> Profile:
        """This profile, with what it inherits taken from `other`."""
        return Profile(
            other.threshold if self.threshold == INHERIT else self.threshold,
            self.condensing_model or other.condensing_model,
            other.target_reduction if self.target_reduction == INHERIT else self.target_reduction,
            other.keep_messages if self.keep_messages == INHERIT else self.keep_messages,
            self.condensing_prompt or other.condensing_prompt,
        )


def check_threshold(value: int, name: str, *, inherits: bool = False) -> None:
    """Refuse a threshold outside 5-100 percent."""
    if inherits and value == INHERIT:
        return
    if not LEAST_THRESHOLD <= value <= MOST_THRESHOLD:
        raise BadConfiguration(
            f"{name} is {value}; it must be from {LEAST_THRESHOLD} to {MOST_THRESHOLD} percent"
            f"{', or -1 to inherit' if inherits else ''}."
        )


# What holds when nobody says anything: the seed's defaults.
FOR_ALL = Profile(threshold=75, target_reduction=0.75, keep_messages=3)


class Recommended(Struct, frozen=True, forbid_unknown_fields=True):
    """A profile that ships with the package, and the models it was recommended for."""

    profile: Profile
    models: tuple[str, ...] = ()


@cache
def recommended() -> dict[str, Recommended]:
    """The seed's table of recommended profiles, by name."""
    raw = Path(__file__).with_name("recommended.json").read_bytes()
    return msgspec.json.decode(raw, type=dict[str, Recommended])


def recommended_for(model: str) -> str:
    """The name of the profile recommended for exactly this model; empty when there is none."""
    wanted = set(candidates(model))
    return next((name for name, each in recommended().items() if wanted & {key(one) for one in each.models}), "")


# Keys of the same file that other rooms read: one file says everything, and each reader knows every key.
KEYS_OF_OTHERS = (
    *("store", "space", "thread", "model", "policy", "profile", "artifacts", "language", "color"),
    "gateway",
)

_ALIKE = 0.5
_T = TypeVar("_T", bound=Struct)


class ModelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What a file says about one model; None leaves the catalogue's word."""

    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    threshold: int | None = None
    tokenizer: str | None = None
    provider: str | None = None
    dialect: str | None = None
    prices: Prices | None = None

    def __post_init__(self) -> None:
        for name in ("max_input_tokens", "max_output_tokens"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise BadConfiguration(f"{name} is {value}; it must be above zero.")
        if self.threshold is not None:
            check_threshold(self.threshold, "threshold", inherits=True)


class Config(Struct, frozen=True):
    """Everything a settings file can say. Empty when there is none."""

    max_input_tokens: int | None = None
    for_all: Profile = Profile()
    models: dict[str, ModelSettings] = {}  # by key
    profiles: dict[str, Profile] = {}
    litellm: str = ""  # a table of further models, in litellm's format
    catalogue: str = ""  # a newer catalogue than ours, in its format
    path: str = ""
    origins: dict[str, str] = {}  # the file of each key, where there are two
    left_out: tuple[str, ...] = ()  # what the file says and may not, because nobody vouches for it

    def origin(self, key: str) -> str:
        """The file that says this."""
        return self.origins.get(key, self.path)

    def origin_of_model(self, name: str) -> str:
        """The file that speaks of this model."""
        wanted = set(candidates(name))
        said = (path for each, path in self.origins.items() if key(each.removeprefix("models.")) in wanted)
        return next(said, self.path)

    def model(self, name: str) -> ModelSettings:
        """What is said about this model."""
        found = (self.models[each] for each in candidates(name) if each in self.models)
        return next(found, ModelSettings())

    def profile(self, name: str = "") -> Profile:
        """A profile by name, the project's before the recommended ones, over the values for all."""
        base = self.for_all.over(FOR_ALL)
        if not name:
            return base
        own = self.profiles.get(name)
        shipped = recommended().get(name)
        if own is None and shipped is None:
            choices = sorted({*self.profiles, *recommended()})
            raise BadConfiguration(f"There is no profile {name!r}{nearest(name, choices)}")

        return (own or (shipped.profile if shipped else Profile())).over(base)

    def said(self, model: str, profile: str = "", for_all: Profile = Profile()) -> Profile:  # noqa: B008 - a value
        """What was really said about folding: the profile's word, then the model's, then the one for all; -1 is none.

        `for_all` is said for all by somebody stronger than the file.
        """
        self.profile(profile)  # there is one of this name
        shipped = recommended().get(profile)
        chosen = self.profiles.get(profile) or (shipped.profile if shipped else Profile())
        own = self.model(model).threshold
        of_model = Profile(INHERIT if own is None else own)
        return chosen.over(of_model).over(for_all).over(self.for_all)

    def threshold(self, model: str, profile: str = "") -> int:
        """At what percent to fold: the profile's word, then the model's, then the one for all."""
        return self.said(model, profile).over(FOR_ALL).threshold


def read_config(path: str | Path) -> Config:
    """The settings in this file, all of them."""
    return config_of(read_named(Path(path)))


def config_of(found: SettingsTable) -> Config:
    """The settings that the files together give."""
    config = config_from(found.table, found.path or FILE)
    return replace(config, path=found.path, origins=dict(found.origins), left_out=found.left_out)


def config_from(table: Mapping[str, Any], path: str = FILE) -> Config:
    """The settings in a table as TOML gives it."""
    for_all = tuple(Profile.__struct_fields__)
    _refuse_unknown(
        table, (*for_all, "max_input_tokens", "models", "profiles", "litellm", "catalogue", *KEYS_OF_OTHERS), path
    )
    limit = table.get("max_input_tokens")
    if limit is not None and (type(limit) is not int or limit <= 0):
        raise BadConfiguration(f"{path}: max_input_tokens is {limit!r}; it must be a whole number above zero.")
    tables = {name: table.get(name, "") for name in ("litellm", "catalogue")}
    for name, further in tables.items():
        if not isinstance(further, str):
            raise BadConfiguration(f"{path}: {name} is {further!r}; it must be the path of a file.")
    config = Config(
        limit,
        _typed({name: table[name] for name in for_all if name in table}, Profile, path),
        {
            key(name): _typed(one, ModelSettings, f'{path} [models."{name}"]')
            for name, one in _tables(table, "models", path)
        },
        {name: _typed(one, Profile, f"{path} [profiles.{name}]") for name, one in _tables(table, "profiles", path)},
        path=path,
    )
    return replace(config, **{name: str(Path(path).parent / each) for name, each in tables.items() if each})


def _tables(table: Mapping[str, Any], name: str, path: str) -> list[tuple[str, Any]]:
    inner = table.get(name, {})
    if not isinstance(inner, Mapping):
        raise BadConfiguration(f"{path}: {name} must be a table, as in [{name}.example].")
    return list(inner.items())


def _typed(table: Any, kind: type[_T], place: str) -> _T:
    if not isinstance(table, Mapping):
        raise BadConfiguration(f"{place} must be a table of settings.")
    _refuse_unknown(table, kind.__struct_fields__, place)
    try:
        return msgspec.convert(table, kind)
    except (msgspec.ValidationError, BadConfiguration) as error:
        raise BadConfiguration(f"{place}: {error}") from error


def _refuse_unknown(table: Mapping[str, Any], known: Iterable[str], place: str) -> None:
    choices = list(known)
    for name in table:
        if name not in choices:
            raise BadConfiguration(f"{place}: unknown key {name!r}{nearest(name, choices)}")


def nearest(name: str, choices: Sequence[str]) -> str:
    """The known word that shares most pairs of letters with this one, when it shares half of them."""
    best = max(choices, key=lambda choice: _likeness(name, choice), default="")
    guess = f"; did you mean {best!r}?" if _likeness(name, best) >= _ALIKE else "."
    return f"{guess} Known: {', '.join(choices)}."


def _likeness(one: str, other: str) -> float:
    pairs, others = _pairs(one), _pairs(other)
    return 2 * len(pairs & others) / ((len(pairs) + len(others)) or 1)


def _pairs(word: str) -> set[str]:
    return {word[at : at + 2].lower() for at in range(len(word) - 1)}
