"""What a user says about models: `contextfold.toml` and the environment.

One scheme, derived by rule: `CONTEXTFOLD_MAX_INPUT_TOKENS__` and the model's key for one model,
`CONTEXTFOLD_MAX_INPUT_TOKENS` for all. Older names are read with a warning. Two names that mean the same and disagree
are an error: guessing which one was meant would be wrong half of the time.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping

from contextfold.errors import BadConfiguration

from .names import key

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
            _warn_of(name, current)
            found.append((positive(environ[name], name), name))
    for other in found[1:]:
        if other[0] != found[0][0]:
            raise BadConfiguration(
                f"{found[0][1]}={found[0][0]} and {other[1]}={other[0]} set the same limit and disagree. Keep one."
            )
    return found[0] if found else None


def _warn_of(name: str, current: Iterable[str]) -> None:
    warnings.warn(
        f"{name} is an older name and is read as a limit of input tokens. Use {next(iter(current))} instead.",
        FutureWarning,
        stacklevel=5,
    )


def positive(text: str, name: str) -> int:
    """The number a setting holds; anything but a whole number above zero is refused by name."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value <= 0:
        raise BadConfiguration(f"{name} is {text!r}; it must be a whole number of tokens above zero.")
    return value
