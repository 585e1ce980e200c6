"""What the log keeps of the requests of one conversation, so that each can be shown as it went out, byte for byte.

Runs on the clerk's thread, when the answer is there: nobody waits for it. A request that says what the last one said,
and a little more, costs the little. Keys and headers are in no body; a key of a server that is in one is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from contextfold.dialects import Dialect, tools_without_secrets
from contextfold.dialects.endpoint import Endpoint
from contextfold.dialects.held_body import HeldBody
from contextfold.dialects.wire import SECRET_SIGNS, body_without_secrets
from contextfold.domain import Sent, encode
from contextfold.errors import ContextFoldError
from contextfold.session import Session
from contextfold.session.request import RequestRecord
from contextfold.session.telemetry import journal
from contextfold.thread import body_digest, piece_reader
from contextfold.thread.sent_pieces import (
    BarePiece,
    KnownRequest,
    LogPiece,
    MessagePieces,
    OwnPiece,
    Piece,
    PieceGone,
    in_pieces,
    split_held,
    wires_of,
)

Origins = Callable[[], Mapping[int, Sequence[bytes]]]  # a client's bytes of messages, by seq


class RequestRecords:
    """Records of one conversation's requests; the newest one is remembered by hashes of its messages."""

    def __init__(self, session: Session, dialect: Dialect, endpoint: Endpoint) -> None:
        self._session, self._dialect, self._endpoint = session, dialect, endpoint
        self._known: KnownRequest | None = None
        self._written: tuple[str, Sequence[int]] = ("", ())  # digest and hashes of one that may be in the log by now
        self._looked = 0  # events among which it was looked for

    def of(self, body: bytes | HeldBody, record: RequestRecord, sent: Origins) -> RequestRecord:
        """The record with all that the body was made of; without that where it cannot be told: no answer is lost."""
        if any(sign in record.tools for sign in SECRET_SIGNS):
            record = record._replace(tools=tools_without_secrets(record.tools))
        try:
            held = body if isinstance(body, HeldBody) else HeldBody(body)
            parts = split_held(held, self._dialect.list_field)
            around = () if parts is None else (parts.before, parts.after)
            if any(sign in each for sign in SECRET_SIGNS for each in around):
                shown = (self._endpoint.messages, self._endpoint.system)
                held = HeldBody(body_without_secrets(held.whole, shown, self._endpoint.tools))
                parts = split_held(held, self._dialect.list_field)
            if parts is None:
                return record
            known = self._newest()
            pieces = tuple(in_pieces(parts.wires, known, lambda new: tuple(_runs(self._said(new, sent)))))
            digest = body_digest(held)
            self._written = digest, [hash(wire) for wire in parts.wires]
            written = encode(MessagePieces(parts.glue.decode(), pieces))
            return record._replace(terms=parts.frame(record.system, record.tools), pieces=written, digest=digest)
        except (ContextFoldError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            journal(logging.INFO, "request not kept", error=type(error).__name__)
            return record

    def _newest(self) -> KnownRequest | None:
        """The request that the next one most likely goes on from, as long as the log has it."""
        events = self._session.thread.branch.events
        for logged in events[self._looked :]:
            if isinstance(logged.event, Sent) and logged.event.body == self._written[0]:
                self._known = KnownRequest(logged.seq, self._written[1])
        self._looked = len(events)
        if self._known is not None and _is_kept(events[self._known.seq - 1].event):
            return self._known
        # After a restart, or when one was forgotten: the newest in the log, where it was kept in pieces.
        self._known, lens = None, self._session.thread.lens
        seq = next((each.seq for each in reversed(events) if isinstance(each.event, Sent)), 0)
        if seq and _is_kept(events[seq - 1].event) and lens.words(seq):
            with suppress(PieceGone):
                messages = piece_reader(self._dialect, lens).messages(seq)
                self._known = KnownRequest(seq, [hash(each.wire) for each in messages])
        return self._known

    def _said(self, wires: Sequence[bytes], sent: Origins) -> Iterator[Piece]:
        """Wire messages that no earlier request has: as the log has them, where it does, else as they are."""
        origins: dict[bytes, list[int]] = {}
        for seq, each in sent().items():
            for wire in each:
                origins.setdefault(wire, []).append(seq)
        at = before = 0
        while at < len(wires):
            wire = wires[at]
            seqs = origins.get(wire, ())
            seq = next((seq for seq in seqs if seq >= before), seqs[-1] if seqs else 0)
            items = wires_of(self._session.thread.lens.words(seq) or b"") if seq else []
            if items and items == list(wires[at : at + len(items)]):
                yield LogPiece(seq, seq, len(items) if len(items) > 1 else 0)
                at += len(items)
            else:
                is_bare = len(items) == 1 and self._endpoint.unmarked(items[0]) == wire
                yield BarePiece(seq) if is_bare else OwnPiece(wire.decode(), seq)
                at += 1
            before = seq or before


def _is_kept(event: object) -> bool:
    return isinstance(event, Sent) and bool(event.body)


def _runs(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The same pieces, with neighbours in the log as one."""
    run: LogPiece | None = None
    for piece in pieces:
        if (
            isinstance(piece, LogPiece)
            and run is not None
            and not run.items + piece.items
            and piece.first == run.last + 1
        ):
            run = LogPiece(run.first, piece.last)
            continue
        if run is not None:
            yield run
        run = piece if isinstance(piece, LogPiece) else None
        if run is None:
            yield piece
    if run is not None:
        yield run
