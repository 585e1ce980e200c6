"""The messages that go out for a view: the client's own bytes wherever a fold does not hide or edit them.

What the log holds of a message beyond what the client sent of it this time, such as reasoning that it left out, is not
sent for it: the client may stand in another conversation that says the same. Reads, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from contextfold import dialects
from contextfold.dialects.endpoint import AskedTurn, Endpoint, Envelope
from contextfold.domain import Edit, Reasoning, View, ViewItem
from contextfold.session import Session
from contextfold.thread.request_bytes import is_bound

from .recognition import Normaliser


class OutgoingMessages:
    """Writes the messages of one thread's requests."""

    def __init__(self, session: Session, endpoint: Endpoint, normaliser: Normaliser) -> None:
        self._session, self._endpoint, self._normaliser = session, endpoint, normaliser

    def messages(self, view: View, sent: Mapping[int, Sequence[bytes]], envelope: Envelope) -> Sequence[bytes]:
        """The view's messages; `sent` are the client's own bytes, by seq.

        A message that says nothing, such as reasoning alone, is left out where the client left it out.
        """
        desk, thread = self._session.desk, self._session.thread
        binds = is_bound(desk.model)
        chunks = thread.rendering(desk.turn.dialect, binds=binds).chunks(view, thread.lens)
        out = []
        for item, chunk in zip(view.items, chunks, strict=True):
            own = sent.get(item.seq) if item.kind == "message" else None
            is_edited = item.is_touched or (binds and item.shape.has_reasoning)
            if own is not None:
                out.append(self._edited(item, own, chunk) if is_edited else b",".join(own))
            elif item.kind != "message" or envelope.chain:
                out.append(self._endpoint.unmarked(chunk))
        written = dialects.find(desk.turn.dialect).body(out, {}, view.item(0) if view.length else None)
        return self._endpoint.open(written, AskedTurn()).messages

    def _edited(self, item: ViewItem, own: Sequence[bytes], chunk: bytes) -> bytes:
        """A message that is not sent as the client wrote it, without words that the client has left out of it."""
        desk, allowed = self._session.desk, self._normaliser.whole(_listed(own)).loose
        if self._normaliser.whole(_listed([chunk])).loose <= allowed:
            return self._endpoint.unmarked(chunk)
        message = desk.lens.read(item)
        edited = {edit.block for edit in item.edits}
        thoughts = (at for at, block in enumerate(message.blocks) if isinstance(block, Reasoning) and at not in edited)
        bare = replace(item, edits=(*item.edits, *(Edit(at, "") for at in thoughts)))
        chunk = dialects.find(desk.turn.dialect).chunk(bare, message)
        is_alike = bool(chunk) and self._normaliser.whole(_listed([chunk])).loose <= allowed
        return self._endpoint.unmarked(chunk) if item.is_touched and is_alike else b",".join(own)


def _listed(items: Sequence[bytes]) -> bytes:
    return b"[" + b",".join(items) + b"]"
