"""A request for a turn at the moment it arrives, and the refusal that its client may get instead of an answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from contextfold.dialects import Dialect
from contextfold.dialects.endpoint import AskedTurn, Endpoint, Envelope
from contextfold.dialects.held_body import CutList, HeldBody

from .door import Visit
from .families import Asking


@dataclass(frozen=True, slots=True)
class RefusedTurn:
    """A request that is not forwarded, and what its client is told."""

    status: int
    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request for a turn as it arrived, and where it is to go."""

    upstream: str
    visit: Visit
    dialect: Dialect
    endpoint: Endpoint
    asked: AskedTurn
    body: HeldBody = field(repr=False)
    is_proven: bool = True  # an id is enough to go on from an answer
    _envelopes: list[Envelope] = field(default_factory=list, repr=False)  # one, once it is opened

    def opened(self, *, is_sent: bool = False) -> Asking:
        """The request with its body opened, once; raises `BadMessage` where it is none. Takes long for a long one."""
        if not self._envelopes:
            envelope = self.endpoint.open(self.body.whole, self.asked)
            if isinstance(listed := envelope.fields.get(self.endpoint.messages), CutList):
                self.body.share(listed)
            self._envelopes.append(envelope)
        return Asking(self.visit, self.dialect, self.endpoint, self._envelopes[0], is_sent, self.is_proven)
