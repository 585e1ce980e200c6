"""What is known about models: window, output, prices, how they are counted, and who says so.

Without names, every model of the catalogue. Your own limits (contextfold.toml, environment) are already applied. A
model that nobody listed is explained by its family, if its name begins like one. --catalogue looks into a newer file
first, in our format or litellm's; the settings `catalogue` and `litellm` do so for good.

Examples:
  contextfold models
  contextfold models claude-sonnet-5-5 my-local-model
  contextfold models --catalogue newer.json
  contextfold models --json | jq '.[] | select(.window > 500000).id'
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable

from msgspec.structs import replace

from contextfold.errors import BadConfiguration
from contextfold.models import Config, FactSource, Model, find, from_litellm, listed, read_catalogue
from contextfold.tokens import counter_for

from .commands import DONE
from .invocation import Invocation
from .paper import Ink

_WAYS = {"": "exactly", "estimate": "by estimate", "stand-in": "by a relative's vocabulary"}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="MODEL", help="tell all about these")
    parser.add_argument("--catalogue", metavar="FILE", help="a newer catalogue to look into first")


def run(call: Invocation) -> int:
    config, newer = _settings(call)
    names = call.args.names or list(dict.fromkeys(model.id for model in (*newer, *listed())))
    found = [find(name, config=config) for name in names]
    details = call.args.names and len(found) <= 5
    if call.is_told_as_json(found):
        return DONE
    if details:
        for model in found:
            _details(call, model)
    else:
        _table(call, found)
    return DONE


def _settings(call: Invocation) -> tuple[Config, tuple[Model, ...]]:
    """The settings in force with the file that was named, in our format or litellm's; and its models."""
    config, path = call.settings.models, call.args.catalogue
    if path is None:
        return config, ()
    try:
        newer = read_catalogue(path)
    except BadConfiguration as error:
        if not isinstance(error.__cause__, KeyError):  # it has no list of models
            raise
        return replace(config, litellm=path), tuple(from_litellm(path).values())
    return replace(config, catalogue=path), tuple(newer.values())


def _table(call: Invocation, models: list[Model]) -> None:
    rows = [
        (
            model.name,
            model.provider or "-",
            f"{model.window:,}{'?' if model.assumed else ''}",
            f"{model.output:,}" if model.output else "-",
            _price(model.prices.input if model.prices else None),
            _price(model.prices.output if model.prices else None),
            _price(model.prices.cache_read if model.prices else None),
            call.out.label(f"{model.tokenizer or 'generic'}{' (stand-in)' if model.stand_in else ''}"),
        )
        for model in models
    ]
    head = ("model", "provider", "input window", "output", "$in/M", "$out/M", "cached", "tokenizer")
    call.out.table(rows, [*map(call.out.label, head)], right=(2, 3, 4, 5, 6))
    if any(model.assumed for model in models):
        call.note(call.say("assumed"))


def _details(call: Invocation, model: Model) -> None:
    label = call.out.label
    found = "" if model.name == model.id else f" · {model.id}"
    provider, dialect = model.provider or label("provider unknown"), model.dialect or label("no dialect")
    call.out.line(Ink(model.name, "bold"), f"{found} · {provider} · {dialect}")
    assumed = " (assumed)" if model.assumed else ""
    priced = cached = "-"
    if (prices := model.prices) is not None:
        read = f", cached {prices.cache_read:g}" if prices.cache_read is not None else ""
        priced = f"${prices.input:g} in, ${prices.output:g} out{read} (a million tokens)"
    if (cache := model.cache) is not None:
        lifetimes = [f"{each // 60} min" for each in cache.lifetimes]
        cached = ", ".join([str(cache.kind), *([f"from {cache.least:,} tokens"] if cache.least else []), *lifetimes])

    def told(group: str) -> str:
        return told_source(model.sources.get(group), label)

    rows = [
        ("input window", f"{model.window:,}{assumed}", told("window")),
        ("output", f"{model.output:,}" if model.output else "-", told("output")),
        ("counted", how_counted(model), told("tokenizer")),
        ("prices", priced, told("prices")),
        ("cache", cached, told("cache")),
        ("reasoning bound to", model.binding or "-", told("binding")),
        ("threshold", f"{model.threshold} %" if model.threshold else "-", told("threshold")),
    ]
    cells = [(f"  {label(name)}", label(value), Ink(source, "dim")) for name, value, source in rows]
    call.out.table(cells, wraps=True)


def how_counted(model: Model) -> str:
    """Exactly or estimated, and by what."""
    way, _, name = counter_for(model).method.rpartition(":")
    return f"{_WAYS.get(way, way)} ({name})"


def told_source(source: FactSource | None, label: Callable[[str], str]) -> str:
    """Who says so, and when."""
    return "" if source is None else f"{label(source.name)}{f', {source.date}' if source.date else ''}"


def _price(price: float | None) -> str:
    return "-" if price is None else f"{price:g}"
