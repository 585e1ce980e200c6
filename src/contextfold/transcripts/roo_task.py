"""A Roo Code task as its two lists: what the model was told, with tags for what is hidden, and what the panel showed.

Entries of the two lists that are about the same message have the same time, and no two messages share one, because
Roo finds messages by time. Values in, JSON out: nothing here knows a thread, and no tag names an entry that is absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from contextfold.domain import Tags, decode, encode
from contextfold.errors import BadMessage, NotFound
from contextfold.private import write_private

from .source import Source, assembled, elements, fields, json_array
from .speech import calls_in, flat, message, number, parsed, portable, unsound, when, word

API_FILE, UI_FILE = "api_conversation_history.json", "ui_messages.json"

# Roo's words for what was billed.
BILLED = {
    "input_tokens": "tokensIn",
    "prompt_tokens": "tokensIn",
    "output_tokens": "tokensOut",
    "completion_tokens": "tokensOut",
    "cache_read_input_tokens": "cacheReads",
    "cache_creation_input_tokens": "cacheWrites",
    "cost": "cost",
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
    at: float = 0.0  # seconds since 1970; 0 where nobody knows
    is_shown: bool = True  # in the panel
    usage: Mapping[str, Any] = {}  # what the request before it was billed, in Roo's words

    @property
    def is_stand_in(self) -> bool:
        return self.tags.is_summary or self.tags.is_truncation_marker

    @property
    def is_answer(self) -> bool:
        return not self.is_stand_in and _words(self.raw)[0] == "assistant"

    @property
    def id(self) -> str:
        """Of a stand-in, as what it hides names it; older tasks have none."""
        return self.tags.condense_id or self.tags.truncation_id

    @property
    def calls(self) -> tuple[str, ...]:
        """The ids of the calls in it."""
        return tuple(calls_in(decode(self.raw)))

    def only_calls(self, ids: Sequence[str]) -> bytes:
        """A message with just these of its calls; empty where there are none."""
        content = fields(self.raw).get("content")
        if not ids or content is None:
            return b""
        return message("assistant", (each for each in elements(content) if decode(each).get("id") in ids))

    @property
    def text(self) -> str:
        """What a stand-in says: its text, without calls that Roo grafted onto it."""
        content = decode(self.raw)["content"]
        if not isinstance(content, list):
            return flat(content)
        return "\n".join(str(block.get("text", "")) for block in content if block.get("type") == "text")


class RooEvent(Struct, frozen=True):
    """Something was condensed or hidden: what the panel says of it, and behind which message it happened."""

    tags: Tags
    after: int  # seq of the message that had been said last
    before_tokens: int = 0
    after_tokens: int = 0
    hidden: int = 0
    summary: str = ""
    cost: float = 0.0
    at: float = 0.0


class RooTask(Struct, frozen=True):
    """One task: everything on the live branch."""

    said: Sequence[RooSaid]
    events: Sequence[RooEvent] = ()

    def api_list(self) -> bytes:
        """`api_conversation_history.json`."""
        entries: list[bytes] = []
        for timed in self._timed():
            parts: dict[str, bytes] = {name: bytes(value) for name, value in fields(timed.said.raw).items()}
            parts["ts"] = encode(timed.ts)
            for name, attribute in _TAGS:
                if value := getattr(timed.said.tags, attribute):
                    parts[name] = encode(value)
            entries.append(assembled(parts))
        return json_array(entries)

    def ui_list(self) -> bytes:
        """`ui_messages.json`."""
        return json_array(encode(entry) for each in self._timed() for entry in _panel_entries(each))

    def write(self, directory: Path) -> None:
        """Both files, each whole or not at all."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, content in ((API_FILE, self.api_list()), (UI_FILE, self.ui_list())):
            half = directory / f"{name}.part"
            write_private(half, content)
            half.replace(directory / name)

    def _timed(self) -> Iterator[_Timed]:
        """Milliseconds for every entry of either list, each later than the one before."""
        events: dict[int, list[RooEvent]] = {}
        for event in self.events:
            events.setdefault(event.after, []).append(event)
        last, is_first = 0, True
        for each in self.said:
            behind = [] if each.is_stand_in else events.pop(each.tags.seq, [])
            apart = 2 if each.is_shown and each.is_answer else 1  # an answer's request stands right before it
            last = ts = max(last + apart, round(each.at * 1000))
            last += len(behind)
            yield _Timed(each, ts, behind, is_first and each.is_shown)
            is_first = is_first and not each.is_shown


class _Timed(Struct, frozen=True):
    said: RooSaid
    ts: int
    events: Sequence[RooEvent]  # that happened behind it
    is_task: bool  # the first words, which the panel shows as the task


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
        sizes = {"prevContextTokens": event.before_tokens, "newContextTokens": event.after_tokens}
        about: dict[str, Any]
        if event.tags.is_truncation_marker:
            hidden = {"truncationId": event.tags.truncation_id, "messagesRemoved": event.hidden, **sizes}
            about = {"say": "sliding_window_truncation", "contextTruncation": hidden}
        else:
            condensed = {"condenseId": event.tags.condense_id, "summary": event.summary, "cost": event.cost, **sizes}
            about = {"say": "condense_context", "contextCondense": condensed}
        yield {"ts": ts + later, "type": "say", **about}


def _words(raw: bytes) -> tuple[str, str]:
    value = decode(raw)
    return str(value["role"]), flat(value["content"])


# -- reading one back -------------------------------------------------------------------------------------------------


def read_task(path: Path) -> RooTask:
    """A task as Roo left it: its directory, or its API list alone. Entries are numbered by their place, from 1."""
    api, panel = path / API_FILE, path / UI_FILE
    if not path.is_dir():
        api = path
        panel = path.with_name(path.name.replace(API_FILE, UI_FILE)) if API_FILE in path.name else panel
    entries = _listed(api)
    if entries is None:
        raise NotFound(f"There is no {API_FILE} in {path}. Name the directory of a task.")
    shown = [each for each in map(decode, _listed(panel) or ()) if isinstance(each, dict)]
    said: list[RooSaid] = []
    for place, raw in enumerate(entries, 1):
        value = decode(raw)
        reason = unsound(value) if isinstance(value, dict) else "no object"
        if reason:
            raise BadMessage(f"Entry {place} of the task is {reason}. Repair the file, or leave the entry out.")
        tags = {attribute: value[name] for name, attribute in _TAGS if isinstance(value.get(name), str | bool)}
        said.append(RooSaid(portable(raw)[0], Tags(place, **tags), when(value.get("ts")) or 0.0))
    return RooTask(tuple(_with_bills(said, shown)), tuple(_read_events(said, shown)))


def is_task(path: Path) -> bool:
    """Whether a directory is a task, or a file the API list of one."""
    return (path / API_FILE).is_file() if path.is_dir() else API_FILE in path.name


def _listed(path: Path) -> Sequence[bytes] | None:
    if not path.is_file():
        return None
    content = Source(path).document()
    if not isinstance(decode(content), list):
        raise BadMessage(f"{path} is no list of JSON objects, so it is no file of Roo Code.")
    return [bytes(each) for each in elements(content)]


def _with_bills(said: Sequence[RooSaid], panel: Sequence[Mapping[str, Any]]) -> Iterator[RooSaid]:
    """The same, each answer with what the newest request before it was billed, as the panel says."""
    requests = [each for each in panel if each.get("say") == "api_req_started"]
    bills = [(when(each.get("ts")) or 0.0, parsed(word(each.get("text")))) for each in requests]
    for each in said:
        usage: Mapping[str, Any] = {}
        if each.is_answer:
            while bills and bills[0][0] <= each.at:
                usage = bills.pop(0)[1]
        known = {name: usage[name] for name in (*BILLED.values(),) if name in usage} if isinstance(usage, dict) else {}
        yield replace(each, usage=known) if known else each


def _read_events(said: Sequence[RooSaid], panel: Sequence[Mapping[str, Any]]) -> Iterator[RooEvent]:
    """What the panel says was condensed or hidden, each behind the last message that it shows before or that it hid.

    The panel's times may differ from those of the other list, so a fold never comes before what it hides.
    """
    places = {round(each.at * 1000): each.tags.seq for each in said if not each.is_stand_in}
    own = {each.id: each.tags for each in said if each.is_stand_in and each.id}
    last = 0
    for entry in panel:
        at = when(entry.get("ts")) or 0.0
        last = places.get(round(at * 1000), last)
        about = entry.get("contextCondense") or entry.get("contextTruncation")
        if not isinstance(about, dict):
            continue
        id_ = word(about.get("condenseId")) or word(about.get("truncationId"))
        if id_ in own:
            hidden = [each.tags.seq for each in said if id_ in (each.tags.condense_parent, each.tags.truncation_parent)]
            cost = about.get("cost")
            yield RooEvent(
                own[id_],
                max(last, *hidden, 0),
                number(about.get("prevContextTokens")),
                number(about.get("newContextTokens")),
                number(about.get("messagesRemoved")),
                word(about.get("summary")),
                float(cost) if isinstance(cost, int | float) else 0.0,
                at,
            )
