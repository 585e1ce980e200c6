"""The models we know, from a data file that ships with the package and is read on first use.

A row names the source and date of each group of its fields. A catalogue is always late: an unknown model gets a small
assumed window and says so, and a user's own words (see `settings`) come before ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from .model import Model, Source
from .names import candidates, key


@cache
def listed() -> tuple[Model, ...]:
    """Every model of the catalogue."""
    file = msgspec.json.decode(Path(__file__).with_name("catalogue.json").read_bytes())
    sources = msgspec.convert(file["sources"], dict[str, Source])
    return tuple(_resolved(row, sources) for row in file["models"])


def _resolved(row: dict[str, Any], sources: Mapping[str, Source]) -> Model:
    named = {group: sources[name] for group, name in row.pop("sources").items()}
    model = msgspec.convert(row, Model)
    return replace(model, sources=named, assumed="window" not in named)


@cache
def _by_key() -> Mapping[str, Model]:
    return {key(name): model for model in listed() for name in (model.id, *model.aliases)}


def known(name: str) -> Model | None:
    """The catalogue's row for this name, however it is wrapped or dated."""
    rows = _by_key()
    return next((rows[each] for each in candidates(name) if each in rows), None)


def unknown(name: str) -> Model:
    """A model nobody has told us about."""
    return Model(id=name, assumed=True, sources={"window": Source("assumed: this model is in no table")})
