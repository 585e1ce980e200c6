"""Which strategies there are: ours by name, others by entry point. Nothing from outside is loaded unless asked for.

A package adds its own with an entry point in the group `contextfold.strategies`: a class, or anything to call, that
gives something with a `name` and a `plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any, TypeAlias

from contextfold.errors import BadConfiguration

from .clear import Clear
from .offload import Offload
from .plan import Strategy
from .prune import Prune
from .summary import Condense
from .window import Window

GROUP = "contextfold.strategies"

Maker: TypeAlias = Callable[..., Strategy]

BUILT_IN: Mapping[str, Maker] = {
    "clear": Clear,
    "offload": Offload,
    "prune": Prune,
    "summary": Condense,
    "window": Window,
}


def strategy(name: str, **options: Any) -> Strategy:
    """The strategy of this name with these options."""
    return _maker(name)(**options)


def strategy_names() -> tuple[str, ...]:
    """Every strategy that can be found, ours first."""
    return (*BUILT_IN, *sorted(entry.name for entry in entry_points(group=GROUP) if entry.name not in BUILT_IN))


def _maker(name: str) -> Maker:
    built_in = BUILT_IN.get(name)
    if built_in is not None:
        return built_in
    for entry in entry_points(group=GROUP, name=name):
        maker: Maker = entry.load()
        return maker
    raise BadConfiguration(f"There is no strategy {name!r}. Use one of: {', '.join(strategy_names())}.")
