"""What happened on the way to a request: folds made, attempts that failed and why, sizes before and after."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from contextfold.domain import Count, FoldKind, View
from contextfold.layers import LayerUse
from contextfold.models import Model
from contextfold.summaries import Refusal
from contextfold.toolbox import ToolUse

from .economics import Prediction


class MadeFold(Struct, frozen=True):
    """A fold that was written: its id, how much it hides, and the raw tokens it changed."""

    id: int
    kind: FoldKind
    messages: int
    blocks: int
    before: int
    after: int
    text: str = ""  # of a summary
    predicted: Prediction | None = None  # what the edit it belongs to costs and saves


class Attempt(Struct, frozen=True):
    """One strategy's turn: what came of it, and what it cost."""

    strategy: str
    folds: tuple[int, ...] = ()
    refusal: Refusal | None = None
    error: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read: int = 0  # of the input
    cost: float = 0.0  # USD


class Made(Struct):
    """What the stages have done so far."""

    folds: list[MadeFold] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    reasoning_dropped: int = 0
    reasoning_left: int = 0  # to the provider, which was asked to drop it

    def __iadd__(self, other: Made) -> Made:
        self.folds += other.folds
        self.attempts += other.attempts
        self.reasoning_dropped += other.reasoning_dropped
        self.reasoning_left += other.reasoning_left
        return self

    def count_reasoning(self, *, dropped: int = 0, left: int = 0) -> None:
        """So many blocks of reasoning went, or were left to the provider to drop."""
        self.reasoning_dropped += dropped
        self.reasoning_left += left


class CacheEffect(Struct, frozen=True):
    """What a change does to the provider's cache and to reasoning bound to the unchanged prefix."""

    kept: int  # raw tokens at the front that stay as they were
    rewritten: int  # raw tokens behind the first change
    reasoning_dropped: int = 0  # blocks that left with the change, because they were bound to what stood there
    reasoning_left: int = 0  # such blocks that the provider was asked to drop itself


class Report(Struct, frozen=True):
    """Everything a person or a log may ask about one `prepare` or `fold`."""

    trigger: str
    reason: str
    before: int  # tokens of the request when it began
    after: int
    usable: int
    folds: tuple[MadeFold, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    cache: CacheEffect | None = None
    count: Count | None = None
    losses: tuple[str, ...] = ()  # what another dialect could not carry
    layers: tuple[LayerUse, ...] = ()  # what was used, cut and left out of each layer, and why
    tools: ToolUse | None = None  # what was visible, and what each way of showing tools costs
    recalled: int = 0  # folded passages that auto-recall attached
    recalled_tokens: int = 0  # and what they cost

    @property
    def summary(self) -> str:
        """The text of the newest summary that was made, if one was."""
        return next((fold.text for fold in reversed(self.folds) if fold.kind == "summary"), "")


def cache_effect(before: View, after: View, reasoning_dropped: int, reasoning_left: int = 0) -> CacheEffect:
    """Compare two views of one thread from the front."""
    same = 0
    for old, new in zip(before.items, after.items, strict=False):
        if old is not new and old != new:
            break
        same += 1
    kept = after.tokens(0, same)
    return CacheEffect(kept, after.tokens() - kept, reasoning_dropped, reasoning_left)


def bound_reasoning(view: View, model: Model, first_changed: int) -> Sequence[tuple[int, int]]:
    """Reasoning blocks from here on that the model would reject once something before them changed."""
    if model.binding not in ("prefix", "account"):
        return ()
    return [
        (item.seq, index)
        for item in view.items[first_changed:]
        if item.kind == "message"
        for index, block in enumerate(item.shape.blocks)
        if block.kind == "reasoning"
    ]
