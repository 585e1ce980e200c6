"""Counters: from outlines to tokens, for one model.

An exact counter reads the number its vocabulary gave at the door; where it is missing, and for models whose tokenizer
nobody publishes, tokens are estimated from classes. A counter says which of the two it is.
"""

from __future__ import annotations

from functools import lru_cache

from contextfold.domain import Counter, Measure, Message, Shape
from contextfold.models import Model, find

from .classes import SEALED
from .encoders import Encoder, encoder
from .media import DEFAULT, media_tokens
from .weighing import Scale
from .weights import Weights, weights


class EstimatingCounter:
    """Tokens from classes of text, for models whose tokenizer is not public."""

    __slots__ = ("_around", "_each", "_media", "_scale", "_weights")

    exact = False

    def __init__(self, model: Model, family: Weights, scale: Scale | None = None) -> None:
        self._media, self._weights, self._scale = model.media or DEFAULT, family, scale or Scale()
        self._around, self._each = family.overhead.by_kind(), family.overhead.message

    @property
    def method(self) -> str:
        return f"estimate:{self._weights.family}"

    @property
    def weights(self) -> Weights:
        return self._weights

    def shape(self, message: Message) -> Shape:
        return self._scale.shape(message)

    def passing(self, message: Message) -> Shape:
        """An outline that is counted now and not stored: it may lack what only other models need."""
        return self._scale.shape(message)

    def knows(self, shape: Shape) -> bool:  # noqa: ARG002 - classes are always there
        return True

    def tokens(self, shape: Shape) -> int:
        counted = self._each
        for block in shape.blocks:
            counted += self.block_tokens(block.measure) + self._around[block.kind]
        return counted or 1

    def block_tokens(self, measure: Measure) -> int:
        counted = self._weights.tokens(measure.classes)
        if measure.media:
            counted += self._media_tokens(measure)
        return counted or 1

    def _media_tokens(self, measure: Measure) -> int:
        return sum(media_tokens(kind, first, second, self._media) for kind, first, second in measure.media)


class EncodedCounter(EstimatingCounter):
    """Tokens by a vocabulary: the model's own, or that of a relative that stands in."""

    __slots__ = ("_encoding", "_quick", "_stand_in")

    def __init__(self, model: Model, family: Weights, using: Encoder) -> None:
        super().__init__(model, family, Scale(model.tokenizer, using))
        self._quick = Scale(model.tokenizer, using, classes=False)
        self._encoding, self._stand_in = model.tokenizer, model.stand_in

    @property
    def exact(self) -> bool:  # type: ignore[override]  # depends on whose vocabulary it is
        return not self._stand_in

    @property
    def method(self) -> str:
        return f"stand-in:{self._encoding}" if self._stand_in else self._encoding

    def passing(self, message: Message) -> Shape:
        return self._quick.shape(message)

    def knows(self, shape: Shape) -> bool:
        encoding = self._encoding
        return all(encoding in block.measure.bpe for block in shape.blocks)

    def block_tokens(self, measure: Measure) -> int:
        counted = measure.bpe.get(self._encoding)
        if counted is None:
            return super().block_tokens(measure)
        if len(measure.classes) > SEALED:
            counted += self._weights.tokens((0,) * SEALED + measure.classes[SEALED:])
        if measure.media:
            counted += self._media_tokens(measure)
        return counted or 1


def counter_for(model: Model | str | None) -> Counter:
    """The counter of this model; for no model, estimates that hold for most."""
    found = model if isinstance(model, Model) else find(model or "")
    return _counter(found.tokenizer, found.stand_in, found.media)


@lru_cache(maxsize=64)
def _counter(tokenizer: str, stand_in: bool, media: object) -> Counter:
    """Counters hold no state, so models that count alike share one."""
    model = Model("", tokenizer=tokenizer, stand_in=stand_in, media=media)  # type: ignore[arg-type]  # it is one
    using = encoder(tokenizer) if tokenizer else None
    if using is None:
        return EstimatingCounter(model, weights(tokenizer))
    return EncodedCounter(model, weights(tokenizer), using)
