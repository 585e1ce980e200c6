"""The models we know, from a data file that ships with the package and is read on first use.

A row names the source and date of each group of its fields. A catalogue is always late: a model it lacks is taken for
the least of its family, which is read from its name, and says so; one of no family gets a small assumed window. A
user's own words (see `lookup`) come before ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from contextfold.errors import BadConfiguration

from .files import MOST_TABLE, contents
from .model import FactSource, Model, candidates, core, key

_LETTERS = re.compile(r"[a-z]+")
_LONGEST_NAME = 100
_ALIKE = 0.66  # of two words: gtp and gpt, sonet and sonnet; not mini and nano
ASSUMED = "assumed"  # how the source of a fact begins that nobody has published
_GROUPS = ("window", "output", "dialect", "tokenizer", "cache", "binding", "media")


class Family(Struct, frozen=True):
    """Models whose names begin alike: what may be taken for granted of one that nobody has listed."""

    pattern: re.Pattern[str]
    model: Model  # its id is the family's name, its window no larger than that of any known member


@cache
def _file() -> dict[str, Any]:
    file: dict[str, Any] = msgspec.json.decode(Path(__file__).with_name("catalogue.json").read_bytes())
    return file


@cache
def listed() -> tuple[Model, ...]:
    """Every model of the catalogue."""
    sources = msgspec.convert(_file()["sources"], dict[str, FactSource])
    return tuple(_resolved(dict(row), sources) for row in _file()["models"])


@cache
def families() -> tuple[Family, ...]:
    """Every family, the narrower ones first."""
    rows = [dict(row) for row in _file()["families"]]
    return tuple(Family(re.compile(row.pop("pattern")), msgspec.convert(row, Model)) for row in rows)


def _resolved(row: dict[str, Any], sources: Mapping[str, FactSource]) -> Model:
    named = {group: sources[name] for group, name in row.pop("sources").items()}
    model = msgspec.convert(row, Model)
    return replace(model, sources=named, assumed="window" not in named)


def read_catalogue(path: str | Path) -> dict[str, Model]:
    """The models of a newer catalogue, by key: a file like ours, whose rows may name their sources or leave it."""
    try:
        file = msgspec.json.decode(contents(path, MOST_TABLE), type=dict[str, Any])
        sources = msgspec.convert(file.get("sources", {}), dict[str, FactSource])
        models = [_brought(dict(row), sources, FactSource(str(path))) for row in file["models"]]
    except (OSError, msgspec.MsgspecError, RecursionError, KeyError, TypeError, ValueError) as error:
        raise BadConfiguration(
            f"{path} cannot be read as a catalogue: {error}. It is a JSON object with a list of `models`, like ours."
        ) from error
    return {key(name): model for model in models for name in (model.id, *model.aliases)}


def _brought(row: dict[str, Any], sources: Mapping[str, FactSource], file: FactSource) -> Model:
    named = {group: sources.get(name, file) for group, name in row.pop("sources", {}).items()}
    model = msgspec.convert(row, Model)
    known = {group: named.get(group, file) for group in (*_GROUPS, "prices", "compaction") if group in row}
    return replace(model, sources=known, assumed="window" not in known)


@cache
def _by_key() -> Mapping[str, Model]:
    return {key(name): model for model in listed() for name in (model.id, *model.aliases)}


def known(name: str) -> Model | None:
    """The catalogue's row for this name, however it is wrapped or dated."""
    rows = _by_key()
    return next((rows[each] for each in candidates(name) if each in rows), None)


def ships(field: str, value: object) -> bool:
    """Whether a dialect or a tokenizer is one of ours, which models of the catalogue have; others come by plugin."""
    rows = (*listed(), *(each.model for each in families()))
    return isinstance(value, str) and value.partition(":")[0] in {"", *(getattr(row, field) for row in rows)}


def family_of(name: str) -> Family | None:
    """The family that a name begins like; None where it is like no other."""
    bare = core(name)
    return next((each for each in families() if each.pattern.match(bare)), None)


@lru_cache(maxsize=256)
def meant_by(name: str) -> str:
    """The listed model that a name misspells; empty where it is listed, or may well be a model that is not.

    Only words are compared: another number is another version, another word in the right place a slip of the hand.
    """
    words = _words(core(name))
    names = [each for model in listed() for each in (model.id, *model.aliases)]
    if not words or known(name) is not None or any(_words(each) == words for each in names):
        return ""
    alike = [each for each in names if _is_slip(words, _words(each))]
    return max(alike, key=lambda each: SequenceMatcher(None, core(name), each).ratio(), default="")


def _words(name: str) -> list[str]:
    return _LETTERS.findall(name.lower()[:_LONGEST_NAME])


def _is_slip(words: list[str], others: list[str]) -> bool:
    """As many words, all of them alike; where one is longer by a sign or has two exchanged, it still is."""
    return len(words) == len(others) and all(
        one == other or SequenceMatcher(None, one, other).ratio() >= _ALIKE
        for one, other in zip(words, others, strict=True)
    )


def unknown(name: str) -> Model:
    """A model nobody has told us about: like the least of its family, where its name says of which it is."""
    family = family_of(name)
    guess = f"; did you mean {meant!r}?" if (meant := meant_by(name)) else ""
    if family is None:
        source = FactSource(f"{ASSUMED}: this model is in no table{guess}")
        return Model(id=name, assumed=True, sources={"window": source})
    like, whose = family.model, f"{ASSUMED}: in no table, its name says {family.model.id}{guess}"
    known = [group for group in _GROUPS if getattr(like, group) not in (None, "")]
    return replace(like, id=name, assumed=True, sources=dict.fromkeys(known, FactSource(whose)))
