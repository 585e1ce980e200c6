"""What an event's body measures: the outline that a thread from elsewhere has by its bytes, whatever it says itself.

Notes keep the outline they came with: how they are shown depends on more than their bytes, and it is never counted.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from contextfold import dialects, models, tokens
from contextfold.domain import Appended, Attached, Event, Folded, Message, StandIn, Text
from contextfold.logs import Outline
from contextfold.thread.thread import stand_in_shape


def outline_for(settings: Mapping[str, str]) -> Outline:
    """Measures as the model of the thread counts."""
    counter = tokens.counter_for(models.find(settings.get("model", "")))

    def measured(event: Event, body: bytes) -> Event:
        match event:
            case Appended():
                return replace(event, shape=counter.shape(dialects.find(event.dialect).parse(body)))
            case Folded():
                words = msgspec.json.decode(body, type=StandIn)
                return replace(event, shape=stand_in_shape(counter, event.cover, words))
            case Attached():
                text = msgspec.json.decode(body, type=str)
                return replace(event, shape=counter.shape(Message("user", (Text(text),))))
            case _:
                return event

    return measured
