"""The bytes of a view in one dialect for one model, kept beside it so that a request's body is a join.

Follows the view's shared array: what was appended is rendered once; a fold, unfold or rewind makes a new array, for
which everything still visible is taken from what was kept. What could not be carried is kept beside the bytes. While
only the end changes, not even the join is made again.

Some models take their reasoning back only behind an unchanged prefix. For them a running digest of the bytes before
each item is kept, and each request writes down the one it was sent with. An answer whose digest is no longer that of
what stands before it was written for another prefix: something was folded, unfolded, pinned or said in between, or
system and tools changed. Nothing is known here of answers that came from elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from hashlib import blake2b, sha256
from itertools import islice
from typing import TypeAlias

from msgspec.structs import replace

from contextfold import dialects
from contextfold.dialects import Dialect, MarkCarriers, Marks, RequestSettings, newest_fold
from contextfold.dialects.neutral import are_strangers
from contextfold.domain import (
    Block,
    BlockShape,
    Edit,
    Message,
    Opaque,
    Reasoning,
    Sent,
    Shown,
    View,
    ViewItem,
)
from contextfold.models import Model

from .lens import ModelLens

DETAIL = "prefix"  # under which a `Sent` keeps the digest of what it sent


def is_bound(model: Model) -> bool:
    """Whether a model checks what stands before its reasoning."""
    return model.binding in ("prefix", "account")


class Prefixes:
    """The digests along one array of items, and the terms under which they hold: system, tools, who drops what."""

    def __init__(self) -> None:
        self._running: list[str] = [""]
        self._terms: tuple[str, str, bool] = ("", "", False)

    def agree(self, terms: tuple[str, str, bool]) -> bool:
        """Take over the terms of a request; whether they are other than before, so that all must be looked at anew."""
        is_new, self._terms = terms != self._terms, terms
        return is_new

    def start_over(self) -> None:
        self._running = [""]

    def add(self, place: int, chunk: bytes) -> None:
        """What stands at this place, once everything before it is known."""
        running = self._running
        if len(running) == place + 1:
            digest = blake2b(running[place].encode() + b"\0", digest_size=16)
            digest.update(chunk)
            running.append(digest.hexdigest())

    def at(self, length: int) -> str:
        """The digest of so many items."""
        return self._running[length] if length < len(self._running) else ""

    def is_stale(self, sent: Sent | None, place: int) -> bool:
        """Whether the reasoning of an answer to this request was written for another prefix than stands here now."""
        if sent is None or self._terms[2]:
            return False
        prefix = sent.details.get(DETAIL)
        return bool(prefix) and (prefix, sent.system, sent.tools) != (self.at(place), *self._terms[:2])


UNMARKED = Marks()
_FEW = 2  # items
MOST_LOSSES = 50  # lines of a report; the rest is counted
STRANGER = "{what} is left out: {model} wrote it, and models of another family cannot read it"
STALE = "{what} is left out: what stands before it has changed since it was written"
UNCHAINED = "{field} is left out: a fold changed what it stands for, so the whole view is sent"

Variant: TypeAlias = tuple[Hashable, bool]  # an item, and whether its reasoning is stale


class BodySeries:
    """Bodies of which each goes on where the one before ended, but for its last two bytes; so do their digests."""

    def __init__(self) -> None:
        self._read = sha256(), 0  # all that stays of the newest one that was asked about, and its length

    def digest(self, body: bytes) -> str:
        """What a `Sent` keeps of one of them: only what is new is read, or all of one that is older."""
        (running, known), stays = self._read, len(body) - 2
        if stays < known:
            return sha256(body).hexdigest()
        running = running.copy()
        running.update(memoryview(body)[known:stays])
        self._read = running, stays
        whole = running.copy()
        whole.update(body[stays:])
        return whole.hexdigest()


class Newest:
    """The newest body, gone on with while the view only grows: copied once, where writing it anew reads it all.

    Anything else that changed has it written anew: settings, an earlier chunk, one more cache mark. One body is kept,
    which is the one that was handed out last.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._terms: tuple[bytes, str] = (b"", "")
        self._chunks: list[bytes] = []
        self._front: object = None  # what was given for them
        self.body = b""
        self.series = BodySeries()  # another one for each body that is written anew

    def with_(
        self,
        chunks: Sequence[bytes],
        settings: tuple[Mapping[str, object], bytes],
        first: ViewItem | None,
        front: object = None,
    ) -> bytes:
        """The body of these chunks, with settings that are compared by their bytes.

        Whoever gives the same `front` again says that nothing changed in those of the last time.
        """
        known = len(self._chunks)
        fresh = chunks[known:]
        fields, written = settings
        terms = written, first.shape.role if first is not None else ""
        is_same = front is not None and front is self._front and known <= len(chunks)
        self._front = front
        is_longer = terms == self._terms and (is_same or self._chunks == chunks[:known])
        grown = self._dialect.grown(self.body, fresh) if is_longer else None
        if grown is not None:
            self.body = grown
            self._chunks += fresh
        else:
            self.body, self.series = self._dialect.body(chunks, fields, first), BodySeries()
            self._terms, self._chunks = terms, list(chunks)
        return self.body


class ChunkList:
    """The chunks of one array as far as it was followed, with no more of anything than the API takes."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect, self._is_limited = dialect, False
        self.all: list[bytes] = []
        self.front = object()  # another one once something changed in front of what was added

    def add(self, added: Sequence[bytes]) -> None:
        """What comes behind them; each is looked at once for what may have to be limited, about it or behind it."""
        known, may_be_limited = len(self.all), self._dialect.may_be_limited
        self.all += added
        for chunk in added:
            self._is_limited = self._is_limited or may_be_limited(chunk)
        if self._is_limited:
            self.all, self.front = self._dialect.limited(self.all, known), object()


class Rendering:
    """Chunks of wire messages, one for each item of the array it follows."""

    def __init__(self, dialect: Dialect, model: str = "", binds: bool = False) -> None:
        self.dialect, self._name, self._model = dialect, dialect.name, model
        self._prefixes = Prefixes() if binds else None  # where the model checks what stands before its reasoning
        self._stale: set[Hashable] = set()  # items whose reasoning was written for another prefix
        self._array: Shown | None = None
        self._chunks = ChunkList(dialect)
        self._kept: dict[Variant, bytes] = {}
        self._lost: dict[Variant, tuple[str, ...]] = {}  # only of items that lost something
        self._losses: Counter[str] = Counter()  # of the items behind `_chunks`
        self._names: dict[str, str] = {}  # of functions, by the ids of their calls
        self._newest = Newest(dialect)
        self.marks = MarkCarriers(dialect)
        self.size = 0  # bytes kept, about: the newest body, and the chunks it was joined from
        self.series = self._newest.series  # of the newest body

    def is_at(self, view: View) -> bool:
        """Whether it holds the bytes of this view already."""
        return view.array is self._array

    def twin(self) -> Rendering:
        """Another one for the same dialect and model, to look at other views without losing the bytes of this one."""
        return Rendering(self.dialect, self._model, self._prefixes is not None)

    def chunks(self, view: View, reading: ModelLens) -> Sequence[bytes]:
        """The view's wire messages in order."""
        if view.array is not self._array:
            self._follow(view.array, view)
        known, length = len(self._chunks.all), view.length
        if known < length:
            fresh = view.array.items[known:length]
            if len(fresh) > _FEW:  # in one go; an answer and what was said to it are read when their turn comes
                reading.load(
                    [item.seq for item in fresh if item.kind != "completion" and (_key(item), False) not in self._kept]
                )
            self._chunks.add([self._chunk(item, reading, at) for at, item in enumerate(fresh, known)])
            if self._lost:
                self._losses.update(self._lost_by(fresh))
        if known <= length:
            return self._chunks.all
        # An older view of an array that has grown: what came later may have been joined with what it shows.
        return self.dialect.limited([self._chunk(item, reading, at) for at, item in enumerate(view.items)], 0)

    def settings(self, fields: Mapping[str, object]) -> RequestSettings:
        """What a request of this dialect says beside its messages, to be used as long as nothing in it changes."""
        return RequestSettings(self.dialect, fields)

    def agreed(self, view: View, reading: ModelLens, settings: RequestSettings) -> Sequence[bytes]:
        """The view's wire messages in a request of these settings, on which it depends what reasoning may stay."""
        if self._prefixes is not None and self._prefixes.agree(settings.binding):
            self._array = None
        return self.chunks(view, reading)

    def body(
        self,
        view: View,
        reading: ModelLens,
        settings: Mapping[str, object] | RequestSettings,
        marks: Marks = UNMARKED,
    ) -> bytes:
        """The whole request as bytes, marked for the provider's cache."""
        given = settings if isinstance(settings, RequestSettings) else self.settings(settings)
        chunks = self.agreed(view, reading, given)
        front = self._chunks.front if chunks is self._chunks.all else None
        if marks.items:
            chunks, front = self.marks.put(list(chunks), marks.items), None
        if given.chains and self._are_chains_broken(view):
            given = given.without(given.chains)
        body = self._newest.with_(chunks, given.marked(marks), view.array.items[0] if view.length else None, front)
        self.size, self.series = 2 * len(body), self._newest.series
        return body

    def last_speaker(self, view: View, reading: ModelLens) -> str:
        """Who said the last thing that will be shown: what another dialect cannot carry may leave nothing to show.

        Only the end of the view is looked at, and what is rendered for that is kept.
        """
        items = view.array.items
        for at in range(view.length - 1, -1, -1):
            item = items[at]
            key = _key(item), False
            chunk = self._kept.get(key)
            if chunk is None and not item.shape.results:
                chunk = self._kept[key] = self._render(key, item, reading)
            if chunk or item.shape.results:
                return item.shape.role
        return ""

    def prefix(self, view: View) -> str:
        """The digest of all that this view shows, where the model checks it; else nothing."""
        return self._prefixes.at(view.length) if self._prefixes is not None else ""

    def losses(self, view: View, settings: RequestSettings) -> tuple[str, ...]:
        """What the request of this view does not carry, in words: the same loss once, with how often it occurs."""
        told = list(settings.losses)
        if settings.chains and self._are_chains_broken(view):
            told = [*(UNCHAINED.format(field=field) for field in settings.chains), *told]
        if not self._lost:
            return tuple(told)
        counted = self._losses if len(self._chunks.all) == view.length else Counter(self._lost_by(view.items))
        told += [
            f"{loss} ({times} times)" if times > 1 else loss for loss, times in islice(counted.items(), MOST_LOSSES)
        ]
        return (*told, f"and {len(counted) - MOST_LOSSES} more") if len(counted) > MOST_LOSSES else tuple(told)

    def _follow(self, array: Shown, view: View) -> None:
        """Start over on a new array, keeping the bytes of what is still visible."""
        visible = {_key(item) for item in view.items}
        self._kept = {key: chunk for key, chunk in self._kept.items() if key[0] in visible}
        self._lost = {key: lost for key, lost in self._lost.items() if key[0] in visible}
        self._array, self._chunks, self._losses, self._stale = array, ChunkList(self.dialect), Counter(), set()
        if self._prefixes is not None:
            self._prefixes.start_over()

    def _lost_by(self, items: Iterable[ViewItem]) -> Iterable[str]:
        if not self._lost:
            return ()
        keys = map(_key, items)
        return (loss for key in keys for loss in self._lost.get((key, key in self._stale), ()))

    def _chunk(self, item: ViewItem, reading: ModelLens, place: int) -> bytes:
        prefixes, key = self._prefixes, (_key(item), False)
        if prefixes is not None and item.shape.has_reasoning and prefixes.is_stale(reading.sent(item), place):
            key = key[0], True
            self._stale.add(key[0])
        chunk = self._kept.get(key)
        if chunk is None:
            chunk = self._kept[key] = self._render(key, item, reading)
        if prefixes is not None:
            prefixes.add(place, chunk)
        return chunk

    def _render(self, key: Variant, item: ViewItem, reading: ModelLens) -> bytes:
        if not item.is_touched and item.kind == "message" and reading.dialect_of(item.seq) == self._name:
            chunk = self._as_given(item, reading)
            if chunk is not None:
                return chunk
        message = reading.read(item)
        if item.aliases:
            message = dialects.find(message.dialect or self.dialect.name).renamed(message, item.aliases)
        for call in message.calls:
            self._names[call.id] = call.name
        shown = self._named(reading.resolve(item))
        if message.dialect == self._name:
            shown, lost = self._freed(shown, message, reading.author(item), key[1])
        else:
            lost = self.dialect.losses(shown, message)
        if lost:
            self._lost[key] = lost
        return self.dialect.chunk(shown, message)

    def _as_given(self, item: ViewItem, reading: ModelLens) -> bytes | None:
        """The item's own bytes, where its outline says that they go as they are: then nobody has to read them."""
        for block in item.shape.blocks:
            if block.kind in ("reasoning", "opaque"):
                return None
            if block.kind == "call":
                self._names[block.call] = block.name
        raw = reading.words(item.seq)
        return None if raw is None else self.dialect.as_given(item, raw)

    def _freed(self, item: ViewItem, message: Message, author: str, is_stale: bool) -> tuple[ViewItem, tuple[str, ...]]:
        """The item without what the model cannot read, or would not take back behind what stands before it now."""
        if author and self._model and are_strangers(author, self._model):
            return _without(item, message, (Reasoning, Opaque), STRANGER.format(what="{what}", model=author))
        return _without(item, message, (Reasoning,), STALE) if is_stale else (item, ())

    def _named(self, item: ViewItem) -> ViewItem:
        """The item with the names of the functions whose results it holds: some wires want them beside the id."""
        if not any(block.kind == "result" for block in item.shape.blocks):
            return item
        blocks = tuple(self._with_name(block) for block in item.shape.blocks)
        return replace(item, shape=replace(item.shape, blocks=blocks))

    def _with_name(self, block: BlockShape) -> BlockShape:
        name = self._names.get(block.call, "") if block.kind == "result" else ""
        return replace(block, name=name) if name else block

    def _are_chains_broken(self, view: View) -> bool:
        """Whether a conversation that the provider keeps is no longer what the view shows."""
        answered = max((item.seq for item in view.items if item.shape.role == "assistant"), default=0)
        newest = max((newest_fold(item) for item in view.items), default=0)
        return newest > answered


def _without(
    item: ViewItem, message: Message, kinds: tuple[type[Block], ...], why: str
) -> tuple[ViewItem, tuple[str, ...]]:
    """The item without blocks of these kinds, and what is lost with them."""
    edited = {edit.block for edit in item.edits}
    found = [at for at, block in enumerate(message.blocks) if isinstance(block, kinds) and at not in edited]
    lost = tuple(why.format(what=_what(message.blocks[at])) for at in found)
    return replace(item, edits=(*item.edits, *(Edit(at, "") for at in found))), lost


def _what(block: object) -> str:
    return (block.kind or "a provider item") if isinstance(block, Opaque) else "reasoning"


def _key(item: ViewItem) -> Hashable:
    """What an item's bytes depend on, within one thread, dialect and model: mostly on which message it is."""
    if item.kind == "message" and not item.is_touched:
        return item.seq
    if item.kind == "completion":
        return item.seq, item.kind, item.shape.results
    return item.seq, item.kind, item.folded, item.late, item.aliases, item.displaced
