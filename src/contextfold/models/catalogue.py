"""Tables of models: ours, from a data file that ships with the package, and those that others keep.

A row of ours names the source and date of each group of its fields. A catalogue is always late: a model it lacks is
taken for the least of its family, which is read from its name, and says so; one of no family gets a small assumed
window. What users say themselves (see `lookup`) comes before all of it.

Others keep a file in the JSON format of litellm, or the `genai-prices` package, an extra; both are newer than ours. Of
litellm only the format is known here, never the package: importing that takes ten seconds and twenty dependencies. Of
`genai-prices`, what our catalogue says of a listed model stands, unless prices are asked for by `with_genai_prices`; a
model it lacks, or of which it has no window or price, is looked up there. That package has no output limits, and its
windows of models by OpenAI count the answer too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from contextfold.deferred import deferred, expression
from contextfold.errors import BadConfiguration

from .files import MOST_TABLE, contents
from .model import ASSUMED_WINDOW, Cache, FactSource, Model, Prices, Tier, candidates, core, key

if TYPE_CHECKING:
    import difflib
else:
    difflib = deferred("difflib")

_LETTERS = expression(r"[a-z]+")
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
    models: list[Model] = []
    for row in map(dict, _file()["models"]):
        named = {group: sources[name] for group, name in row.pop("sources").items()}
        models.append(replace(msgspec.convert(row, Model), sources=named, assumed="window" not in named))
    return tuple(models)


@cache
def families() -> tuple[Family, ...]:
    """Every family, the narrower ones first."""
    rows = [dict(row) for row in _file()["families"]]
    return tuple(Family(re.compile(row.pop("pattern")), msgspec.convert(row, Model)) for row in rows)


def read_catalogue(path: str | Path) -> dict[str, Model]:
    """The models of a newer catalogue, by key: a file like ours, whose rows may name their sources or leave it."""
    try:
        file = msgspec.json.decode(contents(path, MOST_TABLE), type=dict[str, Any])
        sources = msgspec.convert(file.get("sources", {}), dict[str, FactSource])
        own, models = FactSource(str(path)), []
        for row in map(dict, file["models"]):
            named = {group: sources.get(name, own) for group, name in row.pop("sources", {}).items()}
            known = {group: named.get(group, own) for group in (*_GROUPS, "prices", "compaction") if group in row}
            models.append(replace(msgspec.convert(row, Model), sources=known, assumed="window" not in known))
    except (OSError, msgspec.MsgspecError, RecursionError, KeyError, TypeError, ValueError) as error:
        raise BadConfiguration(
            f"{path} cannot be read as a catalogue: {error}. It is a JSON object with a list of `models`, like ours."
        ) from error
    return {key(name): model for model in models for name in (model.id, *model.aliases)}


@cache
def _by_key() -> Mapping[str, Model]:
    return {key(name): model for model in listed() for name in (model.id, *model.aliases)}


def known(name: str) -> Model | None:
    """The catalogue's row for this name, however it is wrapped or dated."""
    rows = _by_key()
    return next((rows[each] for each in candidates(name) if each in rows), None)


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
    alike: list[str] = []
    for each in names:
        # As many words, all of them alike; where one is longer by a sign or has two exchanged, it still is.
        others = _words(each)
        if len(words) == len(others) and all(
            one == other or difflib.SequenceMatcher(None, one, other).ratio() >= _ALIKE
            for one, other in zip(words, others, strict=True)
        ):
            alike.append(each)
    return max(alike, key=lambda each: difflib.SequenceMatcher(None, core(name), each).ratio(), default="")


def _words(name: str) -> list[str]:
    return _LETTERS.findall(name.lower()[:_LONGEST_NAME])


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


_MILLION = 1_000_000
_CHAT = frozenset({"chat", "responses", "completion", ""})
_DIALECTS = {"anthropic": "anthropic", "gemini": "gemini", "vertex_ai-language-models": "gemini"}
_ABOVE = "_above_"


def from_litellm(file: str | Path | Mapping[str, Any]) -> dict[str, Model]:
    """The chat models of such a file, by the names it gives them."""
    if isinstance(file, Mapping):
        return _models(file, FactSource("litellm's price file"))
    try:
        table = msgspec.json.decode(contents(file, MOST_TABLE), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadConfiguration(f"{file} cannot be read as litellm's price file: {error}.") from error
    return _models(table, FactSource(str(file)))


def _models(table: Mapping[str, Any], source: FactSource) -> dict[str, Model]:
    rows = ((name, row) for name, row in table.items() if name != "sample_spec" and isinstance(row, Mapping))
    return {name: _model(name, row, source) for name, row in rows if row.get("mode", "") in _CHAT}


def _model(name: str, row: Mapping[str, Any], source: FactSource) -> Model:
    provider = str(row.get("litellm_provider", ""))
    window, output = _whole(row, "max_input_tokens", "max_tokens"), _whole(row, "max_output_tokens")
    prices, least = _litellm_prices(row), _whole(row, "prompt_cache_min_tokens")
    known = {"window": window, "output": output, "prices": prices, "cache": least}
    return Model(
        id=name,
        provider=provider,
        dialect=_DIALECTS.get(provider, "openai-chat"),
        window=window or ASSUMED_WINDOW,
        output=output,
        prices=prices,
        cache=None if least is None else Cache("explicit" if provider == "anthropic" else "automatic", least),
        sources={group: source for group, value in known.items() if value is not None},
        assumed=window is None,
    )


def _litellm_prices(row: Mapping[str, Any]) -> Prices | None:
    costs = {name: _million(row, f"{name}_cost_per_token") for name in ("input", "output")}
    if costs["input"] is None or costs["output"] is None:
        return None
    steps: dict[int, dict[str, float | None]] = {}
    for field in row:  # `input_cost_per_token_above_200k_tokens` and the like
        name, _, rest = field.partition(f"_cost_per_token{_ABOVE}")
        if name in ("input", "output") and rest.endswith("k_tokens") and rest[: -len("k_tokens")].isdecimal():
            steps.setdefault(int(rest[: -len("k_tokens")]) * 1000, {})[name] = _million(row, field)
    return Prices(
        costs["input"],
        costs["output"],
        _million(row, "cache_read_input_token_cost"),
        _million(row, "cache_creation_input_token_cost"),
        _million(row, "cache_creation_input_token_cost_above_1hr"),
        tuple(Tier(above, step.get("input"), step.get("output")) for above, step in sorted(steps.items())),
    )


def _million(row: Mapping[str, Any], field: str) -> float | None:
    value = row.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None
    return round(value * _MILLION, 6)


def _whole(row: Mapping[str, Any], *fields: str) -> int | None:
    """A whole number above zero, from the first field that has one; such files also hold numbers as text."""
    for field in fields:
        value = row.get(field)
        if isinstance(value, str) and value.strip().isdecimal():
            value = int(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return int(value)
    return None


_PRICES = ("input", "output", "cache_read", "cache_write")
_PROVIDERS = {"moonshot": "moonshotai", "xai": "x-ai", "amazon": "aws"}  # whom that package names otherwise
_TOTAL_WINDOWS = "openai"  # whose windows there are of input and answer together


def with_genai_prices(model: Model, at: datetime) -> Model:
    """The model with that package's prices at a time; unchanged when it does not know the model."""
    try:
        row = _row(model)
    except ImportError as error:
        raise BadConfiguration(
            "These prices come from an extra that is not here: pip install 'contextfold[prices]'"
        ) from error
    prices = None if row is None else _prices(row.get_prices(at))
    if prices is None:
        return model
    return replace(model, prices=prices, sources={**model.sources, "prices": _source(at)})


def from_genai_prices(model: Model, at: datetime) -> Model | None:
    """What the package says of a model, if it is installed and lists exactly this one."""
    try:
        row = _row(model)
    except ImportError:
        return None
    if row is None or key(row.id) not in candidates(model.name):  # it also guesses by parts of names
        return None
    prices, window = _prices(row.get_prices(at)), row.context_window
    if window and model.provider == _TOTAL_WINDOWS and model.window < window:
        window = model.window
    known = {"window": window, "prices": prices}
    sources = {group: _source(at) for group, value in known.items() if value is not None}
    return Model(model.id, window=window or ASSUMED_WINDOW, prices=prices, sources=sources)


def _row(model: Model) -> Any:
    snapshot = import_module("genai_prices.data_snapshot").get_snapshot()
    try:
        return snapshot.find_provider_model(
            core(model.id), None, _PROVIDERS.get(model.provider, model.provider) or None, None
        )[1]
    except LookupError:
        return None


def _source(at: datetime) -> FactSource:
    return FactSource("genai-prices", f"{at:%Y-%m}")


def _prices(row: Any) -> Prices | None:
    fields = {name: getattr(row, f"{name}_mtok", None) for name in _PRICES}
    if fields["input"] is None or fields["output"] is None:
        return None
    base = {name: float(getattr(value, "base", value)) for name, value in fields.items() if value is not None}
    steps: dict[int, dict[str, float]] = {}
    for name, value in fields.items():
        for tier in getattr(value, "tiers", ()):
            steps.setdefault(int(tier.start), {})[name] = float(tier.price)
    return Prices(**base, tiers=tuple(Tier(above, **step) for above, step in sorted(steps.items())))
