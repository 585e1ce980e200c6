"""A turn on its way through the gateway: what became of a request so far."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from contextfold.dialects.held_body import HeldBody
from contextfold.domain import Appended
from contextfold.errors import CannotFit
from contextfold.folding import Effect, Steps
from contextfold.session import Request
from contextfold.session.drivers import StepsEnd, started

from .followed import FittedTurn, Followed, FollowedThread
from .prefix_index import PrefixIndex

T = TypeVar("T")


class KeptTurn(Struct, frozen=True):
    """A request that is in the log, and what goes out for it."""

    thread: FollowedThread
    index: PrefixIndex
    followed: Followed
    fitted: FittedTurn | None
    client: str
    may_fold: bool
    is_compaction: bool
    recalls: bool = False

    @property
    def name(self) -> str:
        """Of the conversation that it belongs to."""
        return self.thread.session.thread.name

    @property
    def request(self) -> Request | None:
        return None if self.fitted is None else self.fitted.request

    @property
    def is_displaced(self) -> bool:
        """Whether another gateway moved the thread while this turn was folded, so that it shows another branch."""
        if self.request is None:
            return False
        events, seq = self.thread.session.thread.branch.events, self.request.head
        while seq and not isinstance(events[seq - 1].event, Appended):
            seq = events[seq - 1].parent
        return seq != self.followed.end

    def sent_as(self, body: bytes | HeldBody, *, is_alone: bool) -> KeptTurn:
        """The turn with what the log is to keep of the bytes that went out for it.

        A bill of several requests together teaches nothing about the size of one: what was counted is left out.
        """
        if self.fitted is None or self.fitted.request is None:
            return self
        request = self.fitted.request
        record = self.thread.records.of(body, request.record, self.followed.sent)
        raw = request.raw_tokens if is_alone else 0
        return replace(
            self, fitted=replace(self.fitted, request=dataclasses.replace(request, record=record, raw_tokens=raw))
        )


class OpenTurn(Struct, frozen=True):
    """A turn that is being folded: the steps that make it fit, and what they ask for now."""

    turn: KeptTurn
    steps: Steps[FittedTurn]
    effect: Effect


class BegunTurn(Struct, frozen=True):
    """A turn as far as it goes without asking anybody; and what was written down beside it."""

    turn: KeptTurn | OpenTurn | CannotFit
    gaps: Mapping[str, int] = {}

    @classmethod
    def of(cls, turn: KeptTurn, steps: Steps[FittedTurn], gaps: Mapping[str, int] | None = None) -> BegunTurn:
        """Where nothing has to be asked for, the turn is ready at once."""
        try:
            first = started(steps, turn.thread.session.desk)
        except CannotFit as error:
            return cls(error, gaps or {})
        if isinstance(first, StepsEnd):
            return cls(replace(turn, fitted=first.value), gaps or {})
        return cls(OpenTurn(turn, steps, first), gaps or {})


class BusyThread(Struct, frozen=True):
    """Another request of the same conversation is being folded; its turn comes when that is done."""

    until: Future[None]


class PartKept(Struct, frozen=True):
    """The first messages of a long new history are in the log; the next are written when others had their turn."""


class RecalledAnswer(Struct, frozen=True):
    """What goes on from an answer that only asks for what is hidden: messages, or None for any other answer."""

    messages: list[bytes] | None


async def when_free(
    run: Callable[[Callable[[], T | BusyThread | PartKept]], Awaitable[T | BusyThread | PartKept]],
    work: Callable[[], T | BusyThread | PartKept],
) -> T:
    """Have something done in a conversation, as soon as nobody folds in it; part by part where it says so."""
    found = await run(work)
    while isinstance(found, BusyThread | PartKept):
        if isinstance(found, BusyThread):
            await asyncio.shield(asyncio.wrap_future(found.until))
        found = await run(work)
    return found
