"""From a step of the script to what the model said: ids given, and cut where the request's limit is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from contextfold.models import Model

from .provider import Provider
from .script import Call, Say


@dataclass(frozen=True, slots=True)
class Spoken:
    """A step, made complete: every call has its id, and its size is known."""

    say: Say
    tokens: int
    reasoning: int


def speak(provider: Provider, say: Say, model: Model, id_prefix: str, most: int | None) -> Spoken:
    """What the model says within `most` tokens; a longer text is cut, and says that it was."""
    calls = tuple(replace(call, id=call.id or provider.id(id_prefix)) for call in say.calls)
    said = replace(say, calls=calls)
    tokens, reasoning = _sizes(provider, said, model)
    if most is not None and tokens > most and said.text:
        kept = max(1, len(said.text) * max(1, most - reasoning) // max(1, tokens))
        said = replace(said, text=said.text[:kept], calls=(), stop="length")
        tokens, reasoning = _sizes(provider, said, model)
        tokens = min(tokens, max(1, most))
    return Spoken(said, tokens, reasoning)


def _sizes(provider: Provider, say: Say, model: Model) -> tuple[int, int]:
    reasoning = provider.sizes.text(say.thinking, model) if say.thinking else 0
    words = [say.text, *(arguments(call) for call in say.calls)]
    return reasoning + sum(provider.sizes.text(text, model) for text in words if text) or 1, reasoning


def arguments(call: Call) -> str:
    """A call's arguments as the model writes them."""
    return msgspec.json.encode(dict(call.arguments)).decode()
