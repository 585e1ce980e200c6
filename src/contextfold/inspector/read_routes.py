"""What can be asked: about the store, its sessions, and one session's rows, messages and requests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from msgspec import Meta, Struct

import contextfold
from contextfold import dialects
from contextfold.domain import Appended, encode
from contextfold.errors import NotFound
from contextfold.folding.recipes import RECIPES
from contextfold.recall import Passage
from contextfold.replay import ReplayReport, Settings, replay
from contextfold.session import Session

from .gauge import Gauge
from .message_page import ShownMessage, ShownStandIn
from .request_history import RequestHistory, SentRequest
from .request_page import RequestDiff, ShownRequest, difference, shown_request
from .routes import ApiRoute, Blob, InSpace, Later, Limit, OfFold, OfThread, Seq, numbers
from .rows import Listing, NewestRows, RowPage, RowPlace
from .sessions import SessionDigest, SessionPage, digest_of, session_page
from .stores import OpenStores

# -- the store --------------------------------------------------------------------------------------------------------


class About(Struct, frozen=True):
    """What is looked at. `csrf` goes into the header x-contextfold-csrf of every change."""

    version: str
    store: str
    spaces: tuple[str, ...]
    space: str
    is_read_only: bool
    policies: tuple[str, ...]
    cursor: int
    csrf: str = ""


def about(stores: OpenStores, asked: InSpace) -> About:
    """What is looked at, and what may be done."""
    newest = stores.store(asked.space).threads(order="activity", limit=1)
    cursor = newest[0].changed if newest else 0
    return About(
        contextfold.__version__,
        stores.label,
        tuple(stores.spaces()),
        asked.space or stores.usual_space,
        stores.read_only,
        tuple(RECIPES),
        cursor,
    )


class SessionsAsked(InSpace, frozen=True, kw_only=True):
    """A page of sessions."""

    after: int | None = None
    limit: Limit = 50
    archived: bool = False
    prefix: str = ""


def sessions(stores: OpenStores, asked: SessionsAsked) -> SessionPage:
    """Sessions, those used last first."""
    store = stores.store(asked.space)
    return session_page(store, after=asked.after, limit=asked.limit, archived=asked.archived, prefix=asked.prefix)


class Searched(InSpace, frozen=True, kw_only=True):
    """Words to look for, in one thread or in all."""

    words: Annotated[str, Meta(min_length=1, max_length=2_000)]
    thread: str = ""
    budget: Annotated[int, Meta(ge=100, le=20_000)] = 3_000


class FoundPassages(Struct, frozen=True):
    """Where words stand: passages in the order they were said."""

    passages: tuple[Passage, ...]


def search(stores: OpenStores, asked: Searched) -> FoundPassages:
    """What was said, folded or not, by the words in it."""
    store = stores.store(asked.space)
    if asked.thread:
        stores.thread(asked.space, asked.thread)
    found = store.recall(asked.words, asked.thread or None, budget=asked.budget, everywhere=True)
    return FoundPassages(tuple(passage for passage in found if passage.matched))


class Problems(Struct, frozen=True):
    """What does not verify in the store; nothing when it is sound."""

    problems: tuple[str, ...]


def verify(stores: OpenStores, asked: InSpace) -> Problems:
    """Read the whole store and say what does not verify."""
    found = stores.store(asked.space).verify()
    return Problems(tuple(f"{each.path}: {each.rule}. {each.advice}" for each in found))


# -- one thread ------------------------------------------------------------------------------------------------------


def digest(stores: OpenStores, asked: OfThread) -> SessionDigest:
    """A session at a glance."""
    return digest_of(stores.thread(asked.space, asked.thread))


def gauge(stores: OpenStores, asked: OfThread) -> Gauge:
    """What fills the window now."""
    return stores.thread(asked.space, asked.thread).gauge


class RowsAsked(OfThread, frozen=True, kw_only=True):
    """Rows of a list from a place on; `open` names the folds whose messages are listed, by commas."""

    listing: Listing = "said"
    open: str = ""
    start: Annotated[int, Meta(ge=0)] = 0
    limit: Limit = 100

    @property
    def folds(self) -> Sequence[int]:
        return numbers(self.open)


def rows(stores: OpenStores, asked: RowsAsked) -> RowPage:
    """What happened in a session, a page at a time."""
    opened = stores.thread(asked.space, asked.thread)
    return opened.rows.page(asked.listing, asked.folds, asked.start, asked.limit)


class NewestAsked(OfThread, frozen=True, kw_only=True):
    """So many rows at the end of a conversation."""

    limit: Limit = 100


def newest(stores: OpenStores, asked: NewestAsked) -> NewestRows:
    """The end of a conversation at once, also of one that was not read yet."""
    return stores.newest_rows(asked.space, asked.thread, asked.limit)


class PlaceAsked(OfThread, frozen=True, kw_only=True):
    """Where an event stands in a list."""

    seq: Seq
    listing: Listing = "said"
    open: str = ""


def place(stores: OpenStores, asked: PlaceAsked) -> RowPlace:
    """Where to find an event in a list."""
    return stores.thread(asked.space, asked.thread).rows.place(asked.seq, asked.listing, numbers(asked.open))


class MessageAsked(OfThread, frozen=True, kw_only=True):
    """One message; `whole` also where it is very long."""

    seq: Seq
    whole: bool = False


def message(stores: OpenStores, asked: MessageAsked) -> ShownMessage:
    """One message, piece by piece, and its bytes."""
    return stores.thread(asked.space, asked.thread).pages.message(asked.seq, whole=asked.whole)


class PictureAsked(OfThread, frozen=True, kw_only=True):
    """One picture of a message, by its number."""

    seq: Seq
    number: Annotated[int, Meta(ge=0)]


def picture(stores: OpenStores, asked: PictureAsked) -> Blob:
    """A picture, as PNG, JPEG, GIF or WebP and nothing else."""
    return Blob(*stores.thread(asked.space, asked.thread).pages.picture(asked.seq, asked.number))


def stand_in(stores: OpenStores, asked: OfFold) -> ShownStandIn:
    """What the model reads instead of what a fold hides."""
    return stores.thread(asked.space, asked.thread).pages.stand_in(asked.fold)


def requests(stores: OpenStores, asked: OfThread) -> RequestHistory:
    """Every request that was sent, by its numbers."""
    opened = stores.thread(asked.space, asked.thread)
    return opened.requests.history(opened.session.desk.budget().fixed)


class RequestAsked(OfThread, frozen=True, kw_only=True):
    """One request by its number, from 1."""

    number: Seq


def request(stores: OpenStores, asked: RequestAsked) -> ShownRequest:
    """What the model saw: the request as it was sent, beside everything said until then."""
    opened = stores.thread(asked.space, asked.thread)
    return shown_request(opened.session, opened.requests, opened.requests.numbered(asked.number))


def body(stores: OpenStores, asked: RequestAsked) -> Blob:
    """The exact bytes of a request."""
    opened = stores.thread(asked.space, asked.thread)
    sent = opened.thread.request(opened.requests.numbered(asked.number).seq)
    return Blob("application/json", sent.json)


class RequestOfAnswer(OfThread, frozen=True, kw_only=True):
    """A request by the seq of its event, or of the answer it got."""

    seq: Seq


def request_of(stores: OpenStores, asked: RequestOfAnswer) -> SentRequest:
    """Which request an answer belongs to."""
    return stores.thread(asked.space, asked.thread).requests.at(asked.seq)


class DiffAsked(OfThread, frozen=True, kw_only=True):
    """Two requests by their numbers."""

    number: Seq
    other: Seq


def against(stores: OpenStores, asked: DiffAsked) -> RequestDiff:
    """What differs between two requests."""
    opened = stores.thread(asked.space, asked.thread)
    first, second = sorted((asked.number, asked.other))
    return difference(opened.thread, opened.requests.numbered(first), opened.requests.numbered(second))


def export(stores: OpenStores, asked: OfThread) -> Blob:
    """The whole session as JSON lines, every event with its exact bytes."""
    opened = stores.thread(asked.space, asked.thread)
    with TemporaryDirectory(prefix="contextfold-") as directory:
        path = Path(directory) / "session.jsonl"
        opened.store.export(opened.thread.name, path)
        return Blob("application/x-ndjson", path.read_bytes(), "session.jsonl")


class CompareAsked(OfThread, frozen=True, kw_only=True):
    """Policies to compare, by commas."""

    policies: str = "balanced,claude_code,sliding_window"


def compare(stores: OpenStores, asked: CompareAsked) -> Later[ReplayReport]:
    """This session replayed under several policies, without a model."""
    opened = stores.thread(asked.space, asked.thread)
    names = tuple(filter(None, (name.strip() for name in asked.policies.split(","))))
    model, recording = opened.session.model, _recording(opened.session)
    chosen = tuple(dict.fromkeys(names)) or ("balanced",)
    settings = Settings(policies=chosen, model=model.name, window=model.window, retention=False)
    return Later(lambda: _compared(recording, settings))


def _recording(session: Session) -> bytes:
    """The live branch as a recording that a replay reads: system, and every message with its bytes."""
    branch, system = session.thread.branch, session.thread.surroundings()[0]
    seqs = [seq for seq in branch.path if isinstance(branch.events[seq - 1].event, Appended)]
    messages = [session.thread.message(seq) for seq in seqs]
    if not messages:
        raise NotFound("Nothing was said in this session yet, so there is nothing to compare.")
    name = dialects.find(messages[-1].dialect).list_field
    raw = b",".join(message.raw for message in messages if message.raw)
    head = b"" if system is None else b'"system":' + encode(system) + b","
    return b"{" + head + encode(name) + b":[" + raw + b"]}"


def _compared(recording: bytes, settings: Settings) -> ReplayReport:
    """What each policy would have made of it."""
    with TemporaryDirectory(prefix="contextfold-") as directory:
        path = Path(directory) / "session.json"
        path.write_bytes(recording)
        return replay([path], settings)


READ_ROUTES = (
    ApiRoute("GET", "/about", about, is_light=True),
    ApiRoute("GET", "/threads", sessions, is_light=True),
    ApiRoute("GET", "/threads/{thread}/newest", newest, is_light=True),
    ApiRoute("GET", "/search", search),
    ApiRoute("GET", "/verify", verify),
    ApiRoute("GET", "/threads/{thread}/digest", digest),
    ApiRoute("GET", "/threads/{thread}/gauge", gauge),
    ApiRoute("GET", "/threads/{thread}/rows", rows),
    ApiRoute("GET", "/threads/{thread}/place", place),
    ApiRoute("GET", "/threads/{thread}/messages/{seq}", message),
    ApiRoute("GET", "/threads/{thread}/messages/{seq}/pictures/{number}", picture),
    ApiRoute("GET", "/threads/{thread}/folds/{fold}", stand_in),
    ApiRoute("GET", "/threads/{thread}/requests", requests),
    ApiRoute("GET", "/threads/{thread}/requests/{number}", request),
    ApiRoute("GET", "/threads/{thread}/requests/{number}/body", body),
    ApiRoute("GET", "/threads/{thread}/request_of/{seq}", request_of),
    ApiRoute("GET", "/threads/{thread}/requests/{number}/against/{other}", against),
    ApiRoute("GET", "/threads/{thread}/export", export),
    ApiRoute("GET", "/threads/{thread}/compare", compare),
)
