"""A Roo Code task as its two lists: what the model was told, with tags for what is hidden, and what the panel showed.

Entries of the two lists that are about the same message have the same time, and no two messages share one, because
Roo finds messages by time. Values in, JSON out: nothing here knows a thread, and no tag names an entry that is absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from contextfold.domain import Tags, decode, encode
from contextfold.errors import BadMessage, NotFound

from .facts import flat, when, word
from .rows import array, assembled, elements, fields
from .speech import portable, unsound

API_FILE, UI_FILE = "api_conversation_history.json", "ui_messages.json"

# Roo's words for what was billed.
BILLED = {
    "input_tokens": "tokensIn",
    "prompt_tokens": "tokensIn",
    "output_tokens": "tokensOut",
    "completion_tokens": "tokensOut",
    "cache_read_input_tokens": "cacheReads",
    "cache_creation_input_tokens": "cacheWrites",
}

_TAGS = (
    ("condenseParent", "condense_parent"),
    ("truncationParent", "truncation_parent"),
    ("isSummary", "is_summary"),
    ("condenseId", "condense_id"),
    ("isTruncationMarker", "is_truncation_marker"),
    ("truncationId", "truncation_id"),
)


class RooSaid(Struct, frozen=True):
    """A message, an attachment or a stand-in, in the order of Roo's list."""

    raw: bytes  # in the form of Anthropic's API
    tags: Tags
    at: float = 0.0  # seconds since 1970; 0 for a stand-in, which has no time of its own
    is_shown: bool = True  # in the panel
    usage: Mapping[str, Any] = {}  # what the request before it was billed, in Roo's words

    @property
    def is_stand_in(self) -> bool:
        return self.tags.is_summary or self.tags.is_truncation_marker

    @property
    def text(self) -> str:
        return _words(self.raw)[1]


class RooEvent(Struct, frozen=True):
    """Something was condensed or hidden: what the panel says of it, and behind which message it happened."""

    tags: Tags
    after: int  # seq of the message that had been said last
    before_tokens: int = 0
    after_tokens: int = 0
    hidden: int = 0
    summary: str = ""


class RooTask(Struct, frozen=True):
    """One task: everything on the live branch."""

    said: Sequence[RooSaid]
    events: Sequence[RooEvent] = ()

    def api_list(self) -> bytes:
        """`api_conversation_history.json`."""
        return array(_api_entry(each.said, each.ts) for each in self._timed())

    def ui_list(self) -> bytes:
        """`ui_messages.json`."""
        return array(encode(entry) for each in self._timed() for entry in _panel_entries(each))

    def write(self, directory: Path) -> None:
        """Both files, each whole or not at all."""
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in ((API_FILE, self.api_list()), (UI_FILE, self.ui_list())):
            half = directory / f"{name}.part"
            half.write_bytes(content)
            half.replace(directory / name)

    def _timed(self) -> Iterator[_Timed]:
        """Milliseconds for every entry of either list, each later than the one before."""
        events: dict[int, list[RooEvent]] = {}
        for event in self.events:
            events.setdefault(event.after, []).append(event)
        last, is_first = 0, True
        for each in self.said:
            behind = [] if each.is_stand_in else events.pop(each.tags.seq, [])
            last = ts = max(last + 2, int(each.at * 1000))  # an answer's request stands right before it
            last += len(behind)
            yield _Timed(each, ts, behind, is_first and each.is_shown)
            is_first = is_first and not each.is_shown


class _Timed(Struct, frozen=True):
    said: RooSaid
    ts: int
    events: Sequence[RooEvent]  # that happened behind it
    is_task: bool  # the first words, which the panel shows as the task


def _api_entry(said: RooSaid, ts: int) -> bytes:
    parts: dict[str, bytes] = {name: bytes(value) for name, value in fields(said.raw).items()}
    parts["ts"] = encode(ts)
    for name, attribute in _TAGS:
        if value := getattr(said.tags, attribute):
            parts[name] = encode(value)
    return assembled(parts)


def _panel_entries(timed: _Timed) -> Iterator[dict[str, Any]]:
    """Entries in the order things happened: a fold's behind the message that had been said last."""
    said, ts = timed.said, timed.ts
    if said.is_shown and not said.is_stand_in:
        role, text = _words(said.raw)
        if role == "assistant":
            yield {"ts": ts - 1, "type": "say", "say": "api_req_started", "text": encode(dict(said.usage)).decode()}
        kind = "text" if role == "assistant" or timed.is_task else "user_feedback"
        yield {"ts": ts, "type": "say", "say": kind, "text": text}
    for later, event in enumerate(timed.events, 1):
        yield {"ts": ts + later, "type": "say", **_about(event)}


def _words(raw: bytes) -> tuple[str, str]:
    message = decode(raw)
    return str(message["role"]), flat(message["content"])


def _about(event: RooEvent) -> dict[str, Any]:
    sizes = {"prevContextTokens": event.before_tokens, "newContextTokens": event.after_tokens}
    if event.tags.is_truncation_marker:
        hidden = {"truncationId": event.tags.truncation_id, "messagesRemoved": event.hidden, **sizes}
        return {"say": "sliding_window_truncation", "contextTruncation": hidden}
    condensed = {"condenseId": event.tags.condense_id, "summary": event.summary, "cost": 0, **sizes}
    return {"say": "condense_context", "contextCondense": condensed}


# -- reading one back -------------------------------------------------------------------------------------------------


def read_task(directory: Path) -> RooTask:
    """A task as Roo left it. Entries are numbered by their place in the API list, from 1."""
    entries = _listed(directory / API_FILE)
    if entries is None:
        raise NotFound(f"There is no {API_FILE} in {directory}. Name the directory of a task.")
    said = tuple(_read_entry(place, raw) for place, raw in enumerate(entries, 1))
    return RooTask(said, tuple(_read_events(said, _listed(directory / UI_FILE) or ())))


def _listed(path: Path) -> Sequence[bytes] | None:
    if not path.is_file():
        return None
    content = path.read_bytes()
    if not isinstance(decode(content), list):
        raise BadMessage(f"{path} is no list of JSON objects, so it is no file of Roo Code.")
    return [bytes(each) for each in elements(content)]


def _read_entry(place: int, raw: bytes) -> RooSaid:
    value = decode(raw)
    reason = unsound(value) if isinstance(value, dict) else "no object"
    if reason:
        raise BadMessage(f"Entry {place} of the task is {reason}. Repair the file, or leave the entry out.")
    tags = {attribute: value[name] for name, attribute in _TAGS if isinstance(value.get(name), str | bool)}
    return RooSaid(portable(raw)[0], Tags(place, **tags), when(value.get("ts")) or 0.0)


def _read_events(said: Sequence[RooSaid], panel: Sequence[bytes]) -> Iterator[RooEvent]:
    """What the panel says was condensed or hidden, each behind the message that it shows last before."""
    places = {int(each.at * 1000): each.tags.seq for each in said if not each.is_stand_in}
    own = {each.tags.condense_id or each.tags.truncation_id: each.tags for each in said if each.is_stand_in}
    last = 0
    for entry in filter(lambda each: isinstance(each, dict), map(decode, panel)):
        last = places.get(int((when(entry.get("ts")) or 0.0) * 1000), last)
        about = entry.get("contextCondense") or entry.get("contextTruncation")
        id_ = (word(about.get("condenseId")) or word(about.get("truncationId"))) if isinstance(about, dict) else ""
        if id_ in own:
            yield RooEvent(own[id_], last)
