"""Where a request is marked for the provider's cache: at places that stay the same from one request to the next.

Up to four marks: behind what surrounds the messages, where the newest fold left the view unchanged, where the request
before this one ended if that is too far back to be found, and at the end. A function of the view alone, so the same
view has the same marks; and a mark is never put on reasoning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from contextfold.domain import Item, View
from contextfold.models import Model

EPHEMERAL = {"type": "ephemeral"}
LOOKBACK = 20  # blocks in which a provider looks for an earlier entry, where its profile does not say


def newest_fold(item: Item) -> int:
    """The newest fold that shaped this item; 0 where none did."""
    own = item.seq if item.kind == "stand_in" else 0
    return max(own, *(part.fold for part in item.folded)) if item.folded else own


def boundary(items: Sequence[Item]) -> int:
    """How many items stand before the first one that the newest fold changed; 0 without any fold."""
    newest = max(map(newest_fold, items), default=0)
    if not newest:
        return 0
    return next(index for index, item in enumerate(items) if newest_fold(item) == newest)


class Marks(NamedTuple):
    """What is to be marked: the ends of these items, what surrounds the messages, and the end of the request."""

    items: tuple[int, ...] = ()
    frame: bool = False
    end: bool = False


def marks_for(view: View, model: Model, fixed: int, dialect: str, unchanged: int) -> Marks:
    """Where to mark; `unchanged` is the boundary of the newest fold, `fixed` the tokens around the messages."""
    family = dialect.partition(":")[0]
    if family == "anthropic":
        items = _worth(view, model, fixed, {unchanged - 1, _far_end(view, model)})
        return Marks(items, fixed >= _least(model), end=True)
    if family.startswith("openai") and model.cache is not None and model.cache.breakpoints:
        return Marks(_worth(view, model, fixed, {unchanged - 1}))  # the end is marked by the provider itself
    return Marks()


def _worth(view: View, model: Model, fixed: int, wanted: set[int]) -> tuple[int, ...]:
    """The items before which there is enough to be kept: a shorter prefix is silently not cached."""
    least = _least(model)
    return tuple(sorted(at for at in wanted if at >= 0 and view.tokens(0, at + 1) + fixed >= least))


def _far_end(view: View, model: Model) -> int:
    """The last item of the request before this one, if the mark at this one's end would not find it; else -1."""
    lookback = model.cache.lookback if model.cache is not None and model.cache.lookback else LOOKBACK
    blocks = 0
    for index in range(view.length - 1, -1, -1):
        item = view.item(index)
        blocks += max(1, len(item.shape.blocks))
        if item.shape.role == "assistant" and item.kind == "message":
            return index - 1 if blocks >= lookback else -1
    return -1


def _least(model: Model) -> int:
    return model.cache.least or 0 if model.cache is not None else 0


def marked(settings: Mapping[str, Any], marks: Marks) -> Mapping[str, Any]:
    """The settings of an Anthropic request with their marks; those that the caller put are the caller's."""
    if not marks.end or "cache_control" in settings:
        return settings
    ended = {**settings, "cache_control": EPHEMERAL}
    for name in ("system", "tools") if marks.frame else ():
        given = ended.get(name)
        blocks = [{"type": "text", "text": given}] if isinstance(given, str) and given else given
        if isinstance(blocks, list | tuple) and blocks:
            if not any("cache_control" in block for block in blocks):
                ended[name] = [*blocks[:-1], {**blocks[-1], "cache_control": EPHEMERAL}]
            break
    return ended
