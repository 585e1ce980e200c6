"""The messages that go out for a view: the client's own bytes wherever a fold does not hide or edit them.

What the log holds of a message beyond what the client sent of it this time, such as reasoning that it left out, is not
sent for it: the client may stand in another conversation that says the same. Reads, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from contextfold import dialects
from contextfold.dialects.endpoint import AskedTurn, Endpoint, Envelope
from contextfold.dialects.registry import understand
from contextfold.domain import Edit, Message, Reasoning, View, ViewItem, decode, encode
from contextfold.session import Session
from contextfold.thread.request_bytes import is_bound

from .recognition import Normaliser, items_of


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
                chunk = self._endpoint.unmarked(chunk)
                is_unseen = item.kind == "message" and item.shape.role == "user"
                out.append(_without_ids(chunk) if is_unseen else chunk)
        written = dialects.find(desk.turn.dialect).body(out, {}, view.item(0) if view.length else None)
        return self._endpoint.open(written, AskedTurn()).messages

    def _edited(self, item: ViewItem, own: Sequence[bytes], chunk: bytes) -> bytes:
        """A message that is not sent as the client wrote it: its own words, edited as the kept message is."""
        dialect = dialects.find(self._session.desk.turn.dialect)
        if (edited := self._edited_as(item, own, chunk)) is not None:
            return self._endpoint.unmarked(dialect.chunk(*edited))
        return self._edited_apart(item, own, chunk)

    def _edited_as(self, item: ViewItem, own: Sequence[bytes], chunk: bytes) -> tuple[ViewItem, Message] | None:
        """The client's own message and the edits on it; None where its blocks are not those of the kept one.

        Reasoning may be missing in either. It is left out where the kept message goes out without its own.
        """
        desk = self._session.desk
        dialect, kept = dialects.find(desk.turn.dialect), desk.lens.read(item)
        raw = _listed(own) if dialect.is_written_in_items else own[0]
        message = understand(raw, dialect.name, dialect.name).message
        theirs, ours = (
            [at for at, block in enumerate(each.blocks) if not isinstance(block, Reasoning)] for each in (kept, message)
        )
        if [type(kept.blocks[at]) for at in theirs] != [type(message.blocks[at]) for at in ours]:
            return None
        place = dict(zip(theirs, ours, strict=True))
        item = desk.lens.resolve(item)
        edits = [Edit(place[each.block], each.text) for each in item.edits if each.block in place]
        rendered = (dialect.parse(raw) for raw in items_of(_listed([chunk])))
        if not any(isinstance(block, Reasoning) for each in rendered for block in each.blocks):
            edits += [Edit(at, "") for at, block in enumerate(message.blocks) if isinstance(block, Reasoning)]
        late = tuple(place[at] for at in item.late if at in place)
        aliases = tuple((place[at], id) for at, id in item.aliases if at in place)
        if aliases:
            message = dialect.renamed(message, aliases)
        shape = desk.counter.shape(message)
        return replace(item, shape=shape, edits=tuple(sorted(edits)), late=late, aliases=aliases), message

    def _edited_apart(self, item: ViewItem, own: Sequence[bytes], chunk: bytes) -> bytes:
        """The kept message as it is edited, without words that the client has left out of it."""
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


def _without_ids(chunk: bytes) -> bytes:
    """Items of the user's side without ids of their own, which another client of the same words may have chosen."""
    items = [(raw, decode(raw)) for raw in items_of(_listed([chunk]))]
    return b",".join(
        encode({name: each for name, each in value.items() if name != "id"}) if "id" in value else raw
        for raw, value in items
    )
