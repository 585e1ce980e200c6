"""Where a request is marked for the provider's cache: at places that stay the same from one request to the next.

Up to four marks: behind what surrounds the messages, where the newest fold left the view unchanged, where the request
before this one ended if that is too far back to be found, and at the end. A function of the view alone, so the same
view has the same marks. How a mark is written is each dialect's business; OpenAI's two formats share theirs, below.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Raw

from contextfold.domain import View, ViewItem
from contextfold.models import Model

from .wire import assembled, elements, fields, listed, plain, put

LOOKBACK = 20  # blocks in which a provider looks for an earlier entry, where its profile does not say


class Marks(NamedTuple):
    """What is to be marked: the ends of these items, what surrounds the messages, and the end of the request."""

    items: tuple[int, ...] = ()
    frame: bool = False
    end: bool = False


def newest_fold(item: ViewItem) -> int:
    """The newest fold that shaped this item; 0 where none did."""
    own = item.seq if item.kind == "stand_in" else 0
    return max(own, *(part.fold for part in item.folded)) if item.folded else own


def boundary(items: Sequence[ViewItem]) -> int:
    """How many items stand before the first one that the newest fold changed; 0 without any fold."""
    newest = max(map(newest_fold, items), default=0)
    if not newest:
        return 0
    return next(index for index, item in enumerate(items) if newest_fold(item) == newest)


def worth_marking(view: View, model: Model, fixed: int, wanted: set[int]) -> tuple[int, ...]:
    """The items before which there is enough to be kept: a shorter prefix is silently not cached."""
    least = least_prefix(model)
    return tuple(sorted(at for at in wanted if at >= 0 and view.tokens(0, at + 1) + fixed >= least))


def far_end(view: View, model: Model) -> int:
    """The last item of the request before this one, if the mark at this one's end would not find it; else -1."""
    lookback = model.cache.lookback if model.cache is not None and model.cache.lookback else LOOKBACK
    blocks = 0
    for index in range(view.length - 1, -1, -1):
        item = view.item(index)
        blocks += max(1, len(item.shape.blocks))
        if item.shape.role == "assistant" and item.kind == "message":
            return index - 1 if blocks >= lookback else -1
    return -1


def least_prefix(model: Model) -> int:
    """The shortest prefix in tokens that the model's provider keeps."""
    return model.cache.least or 0 if model.cache is not None else 0


_PARTS = ("text", "input_text", "input_image", "input_file", "image_url", "file")


def marks(view: View, model: Model, fixed: int, unchanged: int) -> Marks:
    """Where the newest fold left the view unchanged, for models that take marks; the provider marks the end itself."""
    if model.cache is None or not model.cache.breakpoints:
        return Marks()
    return Marks(worth_marking(view, model, fixed, {unchanged - 1}))


def marked(chunk: bytes) -> bytes:
    """The chunk with a breakpoint on the last part of its last message; the same bytes where there is no such part."""
    messages = elements(b"[" + chunk + b"]")
    message = fields(messages[-1])
    content = message.get("content")
    parts = elements(content) if content is not None and bytes(content).lstrip()[:1] == b"[" else []
    last = fields(parts[-1]) if parts else {}
    if plain(last.get("type")) not in _PARTS or "prompt_cache_breakpoint" in last:
        return chunk
    parts[-1] = Raw(assembled({**last, "prompt_cache_breakpoint": put({"mode": "explicit"})}))
    messages[-1] = Raw(assembled({**message, "content": listed(parts)}))
    return b",".join(map(bytes, messages))
