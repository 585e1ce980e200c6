"""A request that fits and is valid: the bytes to send, and how they came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contextfold.domain import Attachment, decode
from contextfold.folding import Report


@dataclass(frozen=True, slots=True)
class Request:
    """What `prepare` returns. Sending it is the caller's business."""

    json: bytes  # the whole body, joined from kept bytes
    model: str
    dialect: str
    report: Report
    head: int  # the place in the thread it was made for
    raw_tokens: int = 0  # what was counted, before calibration
    attached: tuple[Attachment, ...] = ()  # what was added for the model on the way
    left_out: tuple[Attachment, ...] = ()  # what had no room
    prefix: str = ""  # the digest of what its messages are, where the model binds its reasoning to that
    betas: tuple[str, ...] = ()  # features that Anthropic wants named: `client.beta.messages.create(betas=…)`

    @property
    def body(self) -> dict[str, Any]:
        """A fresh decoded copy, ready for an SDK: `client.messages.create(**request.body)`."""
        body: dict[str, Any] = decode(self.json)
        return body
