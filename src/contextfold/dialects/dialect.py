"""What the house asks of a wire format, all of it in one place: four things it must do, and defaults for the rest.

A dialect inherits from `Dialect` and overrides what its provider does otherwise. Nothing else in the house knows a wire
format's name or fields, so a new one is its own package and one line of the registry, or one entry point from outside.
It does no I/O and decides nothing about what to fold.

Where a request is marked for the provider's cache is a function of the view alone: up to four places that stay the same
from one request to the next. Behind what surrounds the messages, where the newest fold left the view unchanged, where
the request before this one ended if that is too far back to be found, and at the end. How a mark is written is each
dialect's business; OpenAI's two formats share theirs, below.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar, NamedTuple, Protocol

from msgspec import Raw, Struct

from contextfold.domain import Bill, Message, Problem, Reply, Role, Shown, View, ViewItem, encode
from contextfold.errors import BadConfiguration
from contextfold.models import Model

from . import repairs, tools
from .assembly import Assembler, Event
from .endpoint import Endpoint
from .repairs import Repaired
from .wire import Json, assembled, bill, elements, fields, listed, plain, put

LOOKBACK = 20  # blocks in which a provider looks for an earlier entry, where its profile does not say


class Marks(Struct, frozen=True):
    """What is to be marked: the ends of these items, what surrounds the messages, and the end of the request."""

    items: tuple[int, ...] = ()
    frame: bool = False
    end: bool = False


def newest_fold(item: ViewItem) -> int:
    """The newest fold that shaped this item; 0 where none did."""
    own = item.seq if item.kind == "stand_in" else 0
    return max(own, *(part.fold for part in item.folded)) if item.folded else own


def boundary(items: Sequence[ViewItem]) -> int:
    """How many items stand before the first one that the newest fold changed; 0 without any fold."""
    newest = max(map(newest_fold, items), default=0)
    if not newest:
        return 0
    return next(index for index, item in enumerate(items) if newest_fold(item) == newest)


def worth_marking(view: View, model: Model, fixed: int, wanted: set[int]) -> tuple[int, ...]:
    """The items before which there is enough to be kept: a shorter prefix is silently not cached."""
    places = [at for at in wanted if at >= 0]
    if not places:
        return ()
    least = least_prefix(model)
    return tuple([at for at in sorted(places) if view.tokens(0, at + 1) + fixed >= least])


def far_end(view: View, model: Model) -> int:
    """The last item of the request before this one, if the mark at this one's end would not find it; else -1."""
    lookback = model.cache.lookback if model.cache is not None and model.cache.lookback else LOOKBACK
    blocks, items = 0, view.array.items
    for index in range(view.length - 1, -1, -1):
        item = items[index]
        shape = item.shape
        blocks += len(shape.blocks) or 1
        if shape.role == "assistant" and item.kind == "message":
            return index - 1 if blocks >= lookback else -1
    return -1


def least_prefix(model: Model) -> int:
    """The shortest prefix in tokens that the model's provider keeps."""
    return model.cache.least or 0 if model.cache is not None else 0


_PARTS = ("text", "input_text", "input_image", "input_file", "image_url", "file")


def marks(view: View, model: Model, fixed: int, unchanged: int) -> Marks:
    """Where the newest fold left the view unchanged, for models that take marks; the provider marks the end itself."""
    if model.cache is None or not model.cache.breakpoints:
        return Marks()
    return Marks(worth_marking(view, model, fixed, {unchanged - 1}))


def marked(chunk: bytes) -> bytes:
    """The chunk with a breakpoint on the last part of its last message; the same bytes where there is no such part."""
    messages = elements(b"[" + chunk + b"]")
    message = fields(messages[-1])
    content = message.get("content")
    parts = elements(content) if content is not None and bytes(content).lstrip()[:1] == b"[" else []
    last = fields(parts[-1]) if parts else {}
    if plain(last.get("type")) not in _PARTS or "prompt_cache_breakpoint" in last:
        return chunk
    parts[-1] = Raw(assembled({**last, "prompt_cache_breakpoint": put({"mode": "explicit"})}))
    messages[-1] = Raw(assembled({**message, "content": listed(parts)}))
    return b",".join(map(bytes, messages))


class Wish(Struct, frozen=True):
    """From when on to compact, and what stands in the view that was compacted before."""

    model: Model
    usable: int  # tokens of input that the window leaves
    at: int = 0  # compact by itself from this size on; 0 where it should not
    made: frozenset[str] = frozenset()  # how what stands in the view was made: "threshold", "on-demand"
    clears: bool = False  # the provider is to clear old tool results by itself


Settings = Mapping[str, Any]


class Dialect(Protocol):
    """One provider's way of writing a conversation."""

    endpoint: ClassVar[Endpoint | None] = None  # how it travels over HTTP; None where nobody asks for turns that way
    id_fields: ClassVar[repairs.IdFields] = repairs.IdFields(("id",))  # in which calls and results are paired
    list_field: ClassVar[str] = "messages"  # under which a request holds the conversation
    is_written_in_items: ClassVar[bool] = False  # a list may be one message: what one side said, in several items
    takes_prefill: ClassVar[bool] = True  # a request may end with the model's own words
    on_demand: ClassVar[str] = ""  # what a model's profile calls this API's compaction when it is asked for one
    inline: ClassVar[str] = ""  # and its compaction within an answer, from a size on

    # -- what every dialect must do -----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is found by, without a flavour."""
        ...

    @abstractmethod
    def parse(self, raw: bytes) -> Message:
        """The neutral form of one message; raises `BadMessage` when it is none of this dialect."""
        ...

    @abstractmethod
    def chunk(self, item: ViewItem, message: Message) -> bytes:
        """The item as zero or more wire messages, comma-joined: the original bytes wherever nothing was touched."""
        ...

    @abstractmethod
    def body(self, chunks: Sequence[bytes], settings: Settings, first: ViewItem | None) -> bytes:
        """The whole request: settings (model, system, tools, limits, …) and the joined messages."""
        ...

    # -- reading ------------------------------------------------------------------------------------------------------

    def words(self, role: Role, text: str, raw: bytes) -> Message:  # noqa: ARG002
        """The same of a message that is a role and words and nothing else, where they are at hand already."""
        return self.parse(raw)

    def claims(self, value: Json) -> bool:  # noqa: ARG002
        """Whether something in a message is written as only this dialect writes it."""
        return False

    def reads(self, value: Json) -> bool:  # noqa: ARG002
        """Whether a message that nobody claims may be taken for one of this dialect."""
        return True

    def reply(self, body: Mapping[str, Any]) -> Reply | None:  # noqa: ARG002
        """The message inside a whole API answer, or None when the body is not an answer of this API."""
        return None

    def is_of_an_answer(self, value: Json) -> bool:  # noqa: ARG002
        """Whether a value is one of several items that together are one answer of the model."""
        return False

    def hears(self, event: Event) -> bool:  # noqa: ARG002
        """Whether a stream that begins with this event is one of this API's."""
        return False

    def assembler(self) -> Assembler:
        """What puts one streamed answer together; asked for only where `hears` said yes."""
        raise NotImplementedError(f"{self.name} reads no streams.")

    def bill(self, usage: Mapping[str, Any]) -> Bill:
        """What an answer's usage says was billed."""
        return bill(usage)

    # -- writing ------------------------------------------------------------------------------------------------------

    def as_given(self, item: ViewItem, raw: bytes) -> bytes | None:  # noqa: ARG002
        """What `chunk` makes of an untouched message of this dialect, where its outline tells; None where it is to be
        read for that. Asked only where neither reasoning nor a provider's own item is in it."""
        return None

    def limited(self, chunks: list[bytes], since: int) -> list[bytes]:  # noqa: ARG002
        """The chunks with no more of anything than the API takes in one request; those before `since` were limited."""
        return chunks

    def may_be_limited(self, chunk: bytes) -> bool:  # noqa: ARG002
        """Whether there is something in a chunk for which `limited` has to be asked, about it or what comes behind."""
        return True

    def grown(self, body: bytes, fresh: Sequence[bytes]) -> bytes | None:  # noqa: ARG002
        """A body that it wrote, with these chunks behind its own and the same two bytes at its end; else None."""
        return None

    def losses(self, item: ViewItem, message: Message) -> tuple[str, ...]:  # noqa: ARG002
        """What the item cannot bring along into this dialect, in words; empty where it is at home."""
        return ()

    def lost_tools(self, given: object) -> tuple[str, ...]:
        """What of these tools this dialect cannot offer, in words."""
        return tools.losses(given, self.name)

    def lost_settings(self, given: Settings) -> tuple[str, ...]:  # noqa: ARG002
        """What of these settings the model does not take and `body` leaves out, in words."""
        return ()

    def renamed(self, message: Message, names: tuple[tuple[int, str], ...]) -> Message:
        """A message of this dialect with some of its calls and results under other ids, by the index of the block."""
        return repairs.renamed(message, names, self.id_fields)

    # -- what surrounds the messages ----------------------------------------------------------------------------------

    def length(self, tokens: int, model: Model, *, is_asked: bool) -> Settings:  # noqa: ARG002
        """How a request says the longest answer it wants; nothing where it need not and nobody asked for one."""
        return {"max_tokens": tokens} if is_asked else {}

    def allowing(self, names: Sequence[str], model: Model) -> Settings:  # noqa: ARG002
        """The provider's own way of allowing only some of the tools it is told of; nothing where it has none."""
        return {}

    def merged(self, ours: Settings, theirs: Settings) -> Settings:
        """Our settings and the caller's, which win; groups of settings stand beside each other."""
        return {**ours, **theirs} if theirs else ours

    def chains(self, settings: Settings) -> tuple[str, ...]:  # noqa: ARG002
        """Settings by which the provider goes on from a conversation that it keeps itself."""
        return ()

    # -- cache marks --------------------------------------------------------------------------------------------------

    def marks(self, view: View, model: Model, fixed: int, unchanged: int) -> Marks:  # noqa: ARG002
        """Where to mark: `fixed` tokens stand around the messages, `unchanged` items before the newest fold."""
        return Marks()

    def marked(self, chunk: bytes) -> bytes:
        """The chunk with a mark at its end; the very same bytes where none can be put."""
        return chunk

    def marked_settings(self, settings: Settings, marks: Marks) -> Settings:  # noqa: ARG002
        """The settings with their marks; those that the caller put are the caller's."""
        return settings

    # -- compaction and reasoning that the provider looks after -------------------------------------------------------

    def compacting(self, wish: Wish) -> tuple[Settings, tuple[str, ...]]:  # noqa: ARG002
        """What a request says about the provider's own compaction: settings, and the features they belong to."""
        return {}, ()

    def compaction_settings(self, tools: object) -> Settings:  # noqa: ARG002
        """What turns a request into one for compaction, beside model and system."""
        return {}

    def drops_stale(self, settings: Settings) -> bool:  # noqa: ARG002
        """Whether the provider is asked to leave out by itself reasoning that was written for another prefix."""
        return False

    def dropping_stale(self, settings: Settings) -> Settings:
        """The settings with that wish in them, where reasoning is asked for; what the caller said about it stays."""
        return settings

    def betas(self, settings: Settings) -> tuple[str, ...]:  # noqa: ARG002
        """Names of features that the settings need to be declared for."""
        return ()

    # -- rules --------------------------------------------------------------------------------------------------------

    def check(self, body: Mapping[str, Any]) -> list[Problem]:  # noqa: ARG002
        """What the provider would reject in this request."""
        return []

    def repair(self, body: Mapping[str, Any]) -> Repaired:
        """The request as its provider takes it, what was done to it, and what is still wrong."""
        return Repaired(dict(body), (), tuple(self.check(body)))

    def flavoured(self, model: Model) -> str:  # noqa: ARG002
        """The flavour that this model wants of the dialect; empty where the plain one will do."""
        return ""

    def in_flavour(self, flavour: str) -> Dialect:
        """The dialect with what some models or servers demand beyond it."""
        raise BadConfiguration(f"{self.name} has no flavour {flavour!r}. Use {self.name!r} alone.")


MARK_REACH = 10  # items in which a place for a mark is looked for


class _Carried(NamedTuple):
    """Where a cache mark went: the chunks that were tried, how far back from their end it is, and the marked chunk."""

    reach: list[bytes]
    back: int  # 0 where none of them can carry it
    chunk: bytes


class MarkCarriers:
    """Which chunks of a thread's requests carry their cache marks. Mostly the same as a request before."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._bounded: tuple[Shown | None, int] = (None, 0)
        self._carried: dict[int, _Carried] = {}  # of the newest request, by the place that was wanted

    def unchanged(self, view: View) -> int:
        """How many items stand before what the newest fold changed; looked for once for each array."""
        if self._bounded[0] is not view.array:
            self._bounded = view.array, boundary(view.items)
        return self._bounded[1]

    def put(self, chunks: list[bytes], places: Sequence[int]) -> list[bytes]:
        """Each mark on the item that was wanted, or on the nearest one before it that can carry one."""
        carried: dict[int, _Carried] = {}
        for place in places:
            reach = chunks[max(0, place - MARK_REACH + 1) : place + 1]
            known = self._carried.get(place)
            found = known if known is not None and known.reach == reach else self._found(reach)
            carried[place] = found
            if found.back:
                chunks[place + 1 - found.back] = found.chunk
        self._carried = carried
        return chunks

    def _found(self, reach: list[bytes]) -> _Carried:
        """The last of these chunks that can carry a mark."""
        for back, chunk in enumerate(reversed(reach), 1):
            new = self._dialect.marked(chunk) if chunk else chunk
            if new is not chunk:
                return _Carried(reach, back, new)
        return _Carried(reach, 0, b"")


class RequestSettings:
    """All of a request but its messages, and what follows from that alone: worked out once for each content.

    Whoever gives the same one again says that nothing in it changed; a plain mapping is looked at each time.
    """

    def __init__(self, dialect: Dialect, fields: Mapping[str, object]) -> None:
        self.fields = fields
        self._dialect = dialect
        self._written: dict[tuple[bool, bool], tuple[Mapping[str, object], bytes]] = {}

    @cached_property
    def chains(self) -> tuple[str, ...]:
        """Fields by which the provider goes on from a conversation that it keeps itself."""
        return self._dialect.chains(self.fields)

    @cached_property
    def binding(self) -> tuple[str, str, bool]:
        """On what it depends whether reasoning stays, beside the messages: system, tools, who drops what is stale."""
        fields = self.fields
        return (
            sha256(encode(fields["system"])).hexdigest() if fields.get("system") else "",
            sha256(encode(fields["tools"])).hexdigest() if fields.get("tools") else "",
            self._dialect.drops_stale(fields),
        )

    @cached_property
    def losses(self) -> tuple[str, ...]:
        """What of tools and settings the request does not carry, in words."""
        given = self.fields.get("tools")
        tools = self._dialect.lost_tools(given) if given else ()
        return (*tools, *self._dialect.lost_settings(self.fields))

    def marked(self, marks: Marks) -> tuple[Mapping[str, object], bytes]:
        """The fields with their cache marks, and the same as bytes."""
        key = marks.frame, marks.end
        if key not in self._written:
            fields = self._dialect.marked_settings(self.fields, marks)
            self._written[key] = fields, encode(dict(fields))
        return self._written[key]

    def without(self, names: Sequence[str]) -> RequestSettings:
        """The same but for some fields."""
        return RequestSettings(self._dialect, {name: each for name, each in self.fields.items() if name not in names})
