"""From a name to a model: the catalogue's row, under what the user's file and environment say.

The order, strongest first: environment for this model, file for this model, environment for all, file for all, the
catalogue, assumed. A limit for all models never widens a window that is known; a limit for one model is taken at its
word.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from msgspec.structs import replace

from .catalogue import known, unknown
from .config import FILE, Config, read_config
from .litellm import from_litellm
from .model import Model, Source
from .names import candidates, key
from .settings import limit_for_all, limit_for_one

CONFIG_VARIABLE = "CONTEXTFOLD_CONFIG"


def find(name: str, *, environ: Mapping[str, str] | None = None, config: Config | str | Path | None = None) -> Model:
    """The model of this name, under the name as it was given. Never fails on an unknown one: its window is assumed.

    Without `config`, the file named by `CONTEXTFOLD_CONFIG`, or `contextfold.toml` in the working directory, is read.
    """
    environment = os.environ if environ is None else environ
    settings = config if isinstance(config, Config) else default_config(environment, config)
    model = _told(known(name), name, settings.litellm)
    model = _limited(_configured(model, name, settings), name, environment, settings)
    return model if model.id == name else replace(model, given=name)


def default_config(environ: Mapping[str, str], path: str | Path | None = None) -> Config:
    """The settings file in force; empty when there is none."""
    if path is not None:
        return read_config(path)
    named = environ.get(CONFIG_VARIABLE, "")
    if named:
        return read_config(named)
    try:
        stat = Path(FILE).stat()
    except OSError:
        return Config()
    return _read_again(str(Path(FILE).absolute()), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=8)
def _read_again(path: str, _mtime: int, _size: int) -> Config:
    """Read the file once for each state it was in: models are looked up on every turn."""
    return read_config(path)


def _told(model: Model | None, name: str, file: str) -> Model:
    """The catalogue's row; what it lacks, and models it does not have, from the user's own table."""
    further = _further(file, Path(file).stat().st_mtime_ns if Path(file).is_file() else 0) if file else {}
    found = next((further[each] for each in candidates(name) if each in further), None)
    if model is None or found is None:
        return model or found or unknown(name)
    lacking = {group for group in ("output", "prices", "cache") if getattr(model, group) is None}
    lacking |= {"window"} if model.assumed else set()
    told = {group: getattr(found, group) for group in lacking & found.sources.keys()}
    named = {**model.sources, **{group: found.sources[group] for group in told}}
    return replace(model, **told, sources=named, assumed="window" not in named)


@lru_cache(maxsize=4)
def _further(file: str, _mtime: int) -> Mapping[str, Model]:
    return {key(name): model for name, model in from_litellm(file).items()}


def _configured(model: Model, name: str, config: Config) -> Model:
    said = config.model(name)
    source = Source(config.path)
    told: dict[str, object] = {
        field: value
        for field, value in (
            ("output", said.max_output_tokens),
            ("threshold", _threshold(said.threshold, config.for_all.threshold)),
            ("tokenizer", said.tokenizer),
            ("provider", said.provider),
            ("dialect", said.dialect),
            ("prices", said.prices),
        )
        if value is not None
    }
    if not told:
        return model
    named = {**model.sources, **dict.fromkeys(told, source)}
    stand_in = model.stand_in and "tokenizer" not in told
    return replace(model, **told, stand_in=stand_in, sources=named)


def _threshold(own: int | None, for_all: int) -> int | None:
    """The model's own word, then the one for all models; None when nobody said anything."""
    if own is not None and own != -1:
        return own
    return None if for_all == -1 else for_all


def _limited(model: Model, name: str, environ: Mapping[str, str], config: Config) -> Model:
    for_one = limit_for_one(environ, (*candidates(name), model.id), model.provider)
    in_file = config.model(name).max_input_tokens
    if for_one is not None:
        return _window(model, for_one[0], for_one[1])
    if in_file is not None:
        return _window(model, in_file, config.path)
    for_all = limit_for_all(environ)
    if for_all is None and config.max_input_tokens is not None:
        for_all = (config.max_input_tokens, config.path)
    if for_all is not None and (model.assumed or for_all[0] < model.window):
        return _window(model, for_all[0], for_all[1])
    return model


def _window(model: Model, window: int, source: str) -> Model:
    return replace(model, window=window, assumed=False, sources={**model.sources, "window": Source(source)})
