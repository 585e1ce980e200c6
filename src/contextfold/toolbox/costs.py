"""What each way of showing tools would cost in the next request, as far as prices are known.

Changing the list rewrites the prompt from its first byte; keeping it constant pays for definitions nobody may use.
"""

from __future__ import annotations

from dataclasses import dataclass

from contextfold.models import Prices

from .projection import Hidden, Mode, ToolList


@dataclass(frozen=True, slots=True)
class ToolCost:
    """The next request in one mode: tokens of definitions, tokens to be cached anew, and their price."""

    mode: Mode
    definitions: int
    rewritten: int
    dollars: float | None = None


@dataclass(frozen=True, slots=True)
class ToolUse:
    """What a request does about tools: for reports."""

    mode: Mode
    visible: tuple[str, ...]
    hidden: dict[str, Hidden]
    stable: ToolCost
    projected: ToolCost
    is_changed: bool = False  # the definitions differ from those sent last
    waits_for_fold: bool = False  # a changed list was kept back, because sending it would rewrite the cache


def tool_use(
    chosen: ToolList, prompt: int, prices: Prices | None, *, is_changed: bool, differs: bool, waits: bool
) -> ToolUse:
    """The two modes side by side. `prompt` is what the request holds beside definitions, `differs` whether the
    projected list is another than the one sent last."""
    stable = _cost("stable", chosen.stable_tokens, prompt, prices, is_new=chosen.mode == "stable" and is_changed)
    projected = _cost("projected", chosen.projected_tokens, prompt, prices, is_new=differs)
    return ToolUse(chosen.mode, chosen.visible, dict(chosen.hidden), stable, projected, is_changed, waits)


def _cost(mode: Mode, definitions: int, prompt: int, prices: Prices | None, *, is_new: bool) -> ToolCost:
    whole = definitions + prompt
    return ToolCost(mode, definitions, whole if is_new else 0, _dollars(whole, prices, is_new))


def _dollars(whole: int, prices: Prices | None, is_new: bool) -> float | None:
    if prices is None:
        return None
    known = prices.at(whole)
    return whole * (known.write if is_new else known.read) / 1_000_000
