"""From a name to a model: the catalogue's row, under what the user's file and environment say.

The order, strongest first: environment for this model, file for this model, environment for all, file for all, a newer
catalogue of the user's, ours, litellm's table, `genai-prices`, what its family tells, assumed. A limit for all models
never widens a window that is known; a limit for one model is taken at its word.

Variables follow one rule: `CONTEXTFOLD_MAX_INPUT_TOKENS__` and the model's key for one model,
`CONTEXTFOLD_MAX_INPUT_TOKENS` for all. Older names are read with a warning. Two names that mean the same and disagree
are an error: guessing which one was meant would be wrong half of the time.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from contextfold.errors import BadConfiguration

from .catalogue import ASSUMED, from_genai_prices, from_litellm, known, read_catalogue, unknown
from .config import Config, config_of
from .files import SettingsFiles, named_settings, read_settings, settings_files
from .model import FactSource, Model, candidates, key

PREFIX = "CONTEXTFOLD_MAX_INPUT_TOKENS"

# Names used before there was a scheme. Each meant input tokens, whatever "max tokens" means elsewhere.
LEGACY_FOR_ALL = ("DEFAULT_MAX_TOKENS", "MLC_MAX_CONTEXT_TOKENS", "MODEL_MAX_CONTEXT_TOKENS")
LEGACY_BY_PROVIDER = {"google": "GEMINI_MAX_TOKENS", "openai": "CHATGPT_MAX_TOKENS"}
LEGACY_SUFFIX = "_MAX_CONTEXT_TOKENS"


def variable(name: str) -> str:
    """The environment variable that limits this model's input."""
    return f"{PREFIX}__{key(name).upper()}"


def limit_for_one(environ: Mapping[str, str], names: Iterable[str], provider: str) -> tuple[int, str] | None:
    """The limit set for this model by any of its names, and the variable that set it."""
    keys = list(dict.fromkeys(key(name).upper() for name in names))
    current = [f"{PREFIX}__{each}" for each in keys]
    legacy = [each + LEGACY_SUFFIX for each in keys if each + LEGACY_SUFFIX not in LEGACY_FOR_ALL]
    if provider in LEGACY_BY_PROVIDER:
        legacy.append(LEGACY_BY_PROVIDER[provider])
    return _agreed(environ, current, legacy)


def limit_for_all(environ: Mapping[str, str]) -> tuple[int, str] | None:
    """The limit set for every model, and the variable that set it."""
    return _agreed(environ, [PREFIX], LEGACY_FOR_ALL)


def _agreed(environ: Mapping[str, str], current: Iterable[str], legacy: Iterable[str]) -> tuple[int, str] | None:
    found = [(positive(environ[name], name), name) for name in current if environ.get(name, "").strip()]
    for name in legacy:
        if environ.get(name, "").strip():
            warnings.warn(
                f"{name} is an older name and is read as a limit of input tokens. Use {next(iter(current))} instead.",
                FutureWarning,
                stacklevel=4,
            )
            found.append((positive(environ[name], name), name))
    for other in found[1:]:
        if other[0] != found[0][0]:
            raise BadConfiguration(
                f"{found[0][1]}={found[0][0]} and {other[1]}={other[0]} set the same limit and disagree. Keep one."
            )
    return found[0] if found else None


def positive(text: str, name: str) -> int:
    """The number a setting holds; anything but a whole number above zero is refused by name."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value <= 0:
        raise BadConfiguration(f"{name} is {text!r}; it must be a whole number of tokens above zero.")
    return value


LEFT_OUT = (
    "{path} lies in the working directory and may be a stranger's, so these settings are left out: {names}. "
    "If you trust the file, run `contextfold trust`, or use --trust or CONTEXTFOLD_TRUST=1."
)


def find(name: str, *, environ: Mapping[str, str] | None = None, config: Config | str | Path | None = None) -> Model:
    """The model of this name, under the name as it was given. Never fails on an unknown one: its window is assumed.

    Without `config`, the file named by `CONTEXTFOLD_CONFIG`, or `contextfold.toml` in the working directory, is read.
    """
    environment = os.environ if environ is None else environ
    settings = config if isinstance(config, Config) else default_config(environment, config)
    model = _limited(_configured(_described(name, settings), name, settings), name, environment, settings)
    return model if model.id == name else replace(model, given=name)


def default_config(environ: Mapping[str, str], path: str | Path | None = None) -> Config:
    """The settings in force: of the file that is named or lies here, over those of the user's own; empty without."""
    files = settings_files(environ, path)
    if files.near is None and files.own is None:
        return Config()
    if files.near is not None and files.near.exists():  # one that is not there is named as it was given
        files = replace(files, near=files.near.absolute())
    config = _read_again(files, tuple(map(_state, (files.near, files.own, files.records))))
    warn_of_left_out(config)
    return config


def warn_of_left_out(config: Config) -> None:
    """Warn of what a settings file says and may not: in the same words whoever reads it, so that it is shown once."""
    if config.left_out:
        names = named_settings(config.left_out)
        warnings.warn(LEFT_OUT.format(path=Path(config.path).absolute(), names=names), UserWarning, stacklevel=1)


_State: TypeAlias = tuple[int, int] | None


def _state(path: Path | None) -> _State:
    """When a file or directory was written last, and its size; None where there is none."""
    try:
        status = path.stat() if path is not None else None
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size) if status else None


@lru_cache(maxsize=8)
def _read_again(files: SettingsFiles, _states: tuple[_State, ...]) -> Config:
    """Read the files once for each state they were in: models are looked up on every turn."""
    return config_of(read_settings(files))


def _described(name: str, config: Config) -> Model:
    """The newest row for this name, or its family; what that lacks, from the user's table and `genai-prices`."""
    newer = _among(config.catalogue, read_catalogue, name)
    model = newer or known(name) or unknown(name)
    further = _among(config.litellm, _by_key_of_litellm, name)
    if further is not None:
        model = _filled(model, further)
    if not name or all(_is_known(model, group) for group in ("window", "prices")):
        return model
    # Asked only where something is lacking: importing `genai-prices` takes a third of a second.
    return _filled(model, _priced(model.id, model.provider, model.window))


_Table: TypeAlias = Mapping[str, Model]


def _among(file: str, read: Callable[[str], _Table], name: str) -> Model | None:
    """The row for a name in a file of the user's, read once for each state it was in."""
    if not file:
        return None
    table = _table(read, file, Path(file).stat().st_mtime_ns if Path(file).is_file() else 0)
    return next((table[each] for each in candidates(name) if each in table), None)


@lru_cache(maxsize=8)
def _table(read: Callable[[str], _Table], file: str, _mtime: int) -> _Table:
    return read(file)


def _by_key_of_litellm(file: str) -> _Table:
    return {key(name): model for name, model in from_litellm(file).items()}


def _filled(model: Model, other: Model | None) -> Model:
    """A model with what another source knows and it does not."""
    if other is None:
        return model
    lacking = [group for group in ("window", "output", "prices", "cache") if not _is_known(model, group)]
    told = {group: getattr(other, group) for group in lacking if group in other.sources}
    told |= {field: getattr(other, field) for field in ("provider", "dialect") if not getattr(model, field)}
    named = {**model.sources, **{group: other.sources[group] for group in told.keys() & other.sources.keys()}}
    return replace(model, **told, sources=named, assumed=model.assumed and "window" not in told)


def _is_known(model: Model, group: str) -> bool:
    source = model.sources.get(group)
    return source is not None and not source.name.startswith(ASSUMED)


@lru_cache(maxsize=256)
def _priced(name: str, provider: str, window: int) -> Model | None:
    return from_genai_prices(Model(name, provider, window=window), datetime.now(UTC))


def _configured(model: Model, name: str, config: Config) -> Model:
    said = config.model(name)
    source = FactSource(config.origin_of_model(name))
    # The model's own word, then the one for all models; -1 says nothing.
    thresholds = (each for each in (said.threshold, config.for_all.threshold) if each not in (None, -1))
    told: dict[str, object] = {
        field: value
        for field, value in (
            ("output", said.max_output_tokens),
            ("threshold", next(thresholds, None)),
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


def _limited(model: Model, name: str, environ: Mapping[str, str], config: Config) -> Model:
    for_one = limit_for_one(environ, (*candidates(name), model.id), model.provider)
    in_file = config.model(name).max_input_tokens
    if for_one is not None:
        return _window(model, for_one[0], for_one[1])
    if in_file is not None:
        return _window(model, in_file, config.origin_of_model(name))
    for_all = limit_for_all(environ)
    if for_all is None and config.max_input_tokens is not None:
        for_all = (config.max_input_tokens, config.origin("max_input_tokens"))
    if for_all is not None and (model.assumed or for_all[0] < model.window):
        return _window(model, for_all[0], for_all[1])
    return model


def _window(model: Model, window: int, source: str) -> Model:
    return replace(model, window=window, assumed=False, sources={**model.sources, "window": FactSource(source)})
