"""What a client says for the first time: read, weighed and written behind what is known, with folds made again.

Where the client went another way, folds that hide messages which it still sends are made again with the same words;
others are dropped. Decides nothing about what goes out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, repeat

from msgspec import Struct

from contextfold.dialects import Dialect, together, understand
from contextfold.dialects.endpoint import Endpoint, TooManyMessages
from contextfold.domain import Appended, NewEvent, Projection, appended, decode, is_unanswered
from contextfold.errors import CannotCover, NotFound
from contextfold.session import Session
from contextfold.session.answer import offload
from contextfold.session.drivers import drive
from contextfold.session.handles import AGAIN
from contextfold.session.rewind import stand_at
from contextfold.session.telemetry import journal

from . import refold, seen_words
from .prefix_index import PrefixIndex
from .recognition import MessageForm, Normaliser

BY_CLIENT = "client"
_MOST_AT_THE_DOOR = 64  # new messages that are looked at one by one; a longer history was not said just now
_MOST_AT_ONCE = 256  # new messages that are written while others wait, where a history is much longer …
_MOST_BEHIND_FOLDS = 4_096  # … or so many where there are folds: those are made again only within one stretch


class FreshMessage(Struct, frozen=True):
    """A message that is not in the log yet, read and weighed. Its words are held as its bytes alone."""

    raw: bytes
    key: str
    form: MessageForm
    event: Appended
    first: Appended  # the same where the model has not spoken yet


class HistoryWriter:
    """Writes what is new of one conversation."""

    def __init__(self, session: Session, dialect: Dialect, endpoint: Endpoint, normaliser: Normaliser) -> None:
        self._session, self._dialect, self._endpoint, self._normaliser = session, dialect, endpoint, normaliser
        # Whether summaries are asked for behind all that is said.
        self.shares = seen_words.shares(session.thread.branch)

    def read_ahead(
        self, index: PrefixIndex, messages: Sequence[bytes], keys: Sequence[str], most_new: int
    ) -> tuple[dict[str, FreshMessage], int]:
        """What is new of a history, by its keys: read and weighed while others may still write to the store.

        Of a history with very many new messages only the first of them; the number says where they end. Raises
        `TooManyMessages` where they are more than `most_new`.
        """
        known = index.longest(keys, self._session.thread.name)
        length = 0 if known is None else known[0]
        if len(messages) - length > most_new:
            raise TooManyMessages(
                f"This request brings {len(messages) - length:,} messages that were not seen before, more than the "
                f"{most_new:,} that are kept at once. Send fewer, or set gateway.most_new_messages."
            )
        new = self._joined(messages[length:], keys[length:])
        is_folded = any(fold.is_live for fold in self._session.thread.branch.folds)
        most = _MOST_BEHIND_FOLDS if is_folded else _MOST_AT_ONCE
        ready: dict[str, FreshMessage] = {}
        for raw, key, size in new if len(messages) - length <= 2 * most else islice(new, most):
            ready[key] = self._fresh(raw, key)
            length += size
        return ready, length

    def _fresh(self, raw: bytes, key: str) -> FreshMessage:
        message = understand(raw, self._dialect.name, self._dialect.name).message
        shape = self._session.desk.counter.shape(message)
        event, first = (appended(shape, message, is_first=is_first) for is_first in (False, True))
        return FreshMessage(message.raw, key, self._normaliser.whole(raw), event, first)

    def read(
        self, messages: Sequence[bytes], keys: Sequence[str], ready: dict[str, FreshMessage]
    ) -> list[FreshMessage]:
        """Messages that are new; what was read ahead is used up."""
        fresh: list[FreshMessage] = []
        for raw, key, _ in self._joined(messages, keys):
            known = ready.pop(key, None)
            fresh.append(known if known is not None and known.raw == raw else self._fresh(raw, key))
        ready.clear()
        return fresh

    def _joined(self, messages: Sequence[bytes], keys: Sequence[str]) -> Iterator[tuple[bytes, str, int]]:
        """Messages with their keys; the items that are one answer of the model come as one, with their number."""
        if not self._dialect.is_written_in_items:
            yield from zip(messages, keys, repeat(1))
            return
        at = 0
        for group in together((decode(raw) for raw in messages), self._dialect.name):
            size = len(group) if isinstance(group, list) else 1
            raws = messages[at : at + size]
            yield (raws[0] if size == 1 else b"[" + b",".join(raws) + b"]"), keys[at + size - 1], size
            at += size

    def write(self, target: int, fresh: Sequence[FreshMessage]) -> int:
        """Move the head, write what is new, and fold again what can be; the newest message, 0 without one."""
        branch = self._session.thread.branch
        lost, left, old = [], [], list(branch.path)
        if target != branch.head:
            lost = refold.lost_by(branch, target)
            left = refold.messages_behind(branch, target) if lost else []
        self.move(target)
        gone = set(left)
        kept = [seq for seq in old if seq not in gone]
        # What lies whole before the place where the client went another way is folded there, not behind what is new:
        # so it stays when the client goes another way at the same place again, as with a reminder that moves.
        lost = self._fold_again(lost, left, [], kept) if lost and fresh else lost
        new: list[tuple[int, MessageForm]] = []
        looks = self._session.policy.door is not None and len(fresh) <= _MOST_AT_THE_DOOR
        for group in _stretches(fresh) if looks else [fresh]:
            seqs = self._append(group)
            new += zip(seqs, (each.form for each in group), strict=True)
            if looks and group[-1].event.shape.results:
                drive(offload(self._session.desk, seqs[-1]), self._session.desk)
        for fold in self._fold_again(lost, left, new, kept) if lost else ():
            journal(logging.INFO, "fold dropped", thread=self._session.thread.name, fold=fold.seq)
            self.shares = self.shares and not seen_words.is_of_a_reader(branch, fold.event)
        return new[-1][0] if new else 0

    def write_apart(self) -> None:
        """From now on summaries are written from the messages that they cover alone."""
        self.shares = False

    def move(self, target: int) -> None:
        """Stand where the client stands."""
        stand_at(self._session.desk, target, BY_CLIENT)

    def _append(self, fresh: Sequence[FreshMessage]) -> list[int]:
        if not fresh:
            return []
        thread = self._session.thread
        is_first, events = is_unanswered(thread.branch.items.items), list[Appended]()
        for each in fresh:
            events.append(each.first if is_first else each.event)
            is_first = is_first and each.event.shape.role != "assistant"

        def drafting(now: Projection) -> list[NewEvent]:
            drafts: list[NewEvent] = []
            for each, event in zip(fresh, events, strict=True):
                parent = now.last + len(drafts) if drafts else now.head
                drafts.append(NewEvent(event, parent, thread.now(), each.raw, each.key))
            return drafts

        return [entry.seq for entry in thread.write(drafting)]

    def _fold_again(
        self,
        lost: Sequence[refold.LostFold],
        left: Sequence[int],
        new: Sequence[tuple[int, MessageForm]],
        kept: Sequence[int],
    ) -> list[refold.LostFold]:
        """Make folds again that hide messages which are still there, with the same words; those that cannot be."""
        thread = self._session.thread
        old = [(seq, self._normaliser.whole(thread.lens.words(seq) or b"{}")) for seq in left] if new else []
        pairs, stayed = self._same(refold.paired(old, new)), list(kept)
        messages = sorted({*(seq for seq in kept if isinstance(thread.branch.events[seq - 1].event, Appended)), *left})
        callers = refold.callers(thread.branch, messages)
        dropped: list[refold.LostFold] = []
        for fold in lost:
            cover = refold.moved(fold.event.cover, pairs, messages, stayed, callers)
            if not seen_words.may_stand(thread.branch, fold.seq, messages, {*stayed, *pairs}):
                cover = None
            words, details = thread.lens.stand_in(fold.seq), {**fold.event.details, AGAIN: fold.seq}
            try:
                if cover is None:
                    raise CannotCover("What it hides is not in the history that the client sent.")
                pairs[fold.seq] = thread.fold(cover, words, kind=fold.event.kind, details=details)
            except (CannotCover, NotFound):
                dropped.append(fold)
        return dropped

    def _same(self, pairs: Mapping[int, int]) -> dict[int, int]:
        """Those of some pairs of messages that are equal whole."""
        message, ids = self._session.thread.message, self._endpoint.ids
        same: dict[int, int] = {}
        for old, new in pairs.items():
            with suppress(NotFound):  # words that were forgotten are equal to none
                if refold.is_same(message(old), message(new), ids=ids):
                    same[old] = new
        return same


def _stretches(fresh: Sequence[FreshMessage]) -> Iterator[Sequence[FreshMessage]]:
    """Stretches that end with a tool's output, which is looked at as soon as it is there."""
    start = 0
    for at, each in enumerate(fresh, 1):
        if each.event.shape.results or at == len(fresh):
            yield fresh[start:at]
            start = at
