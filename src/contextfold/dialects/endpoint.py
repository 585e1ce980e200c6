"""How a wire format travels over HTTP: which paths ask for a turn, and where a body keeps what we need to know.

A body is opened without reading its messages and closed again around those that changed: what is unknown stays, in its
order. Nothing here sends anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from contextfold.deferred import expression
from contextfold.domain import LONG, decode, encode, refuse_deep_json, refuse_many
from contextfold.errors import BadMessage

from .held_body import CutList
from .splices import Splice

_BODY = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
MOST_MESSAGES = 100_000  # of one request; each takes some hundred bytes of memory, however short it is
_NONE = (None, b"null")
_NO_MESSAGES = msgspec.Raw(b"[]")
_TOO_LONG = expression(
    rb"too long|too large|context.{0,10}(?:length|window|size|limit)|token count|maximum (?:prompt|number of)"
    rb"|prompt length|too many tokens|token limit",
    re.IGNORECASE,
)
_LENGTH_STATUSES = (400, 413, 422)


class TooManyMessages(BadMessage):
    """A request has, or brings, more messages than are read or kept at once."""


Field: TypeAlias = bytes | memoryview | CutList


class AskedTurn(Struct, frozen=True):
    """Which turn a request asks for, as far as its path says."""

    model: str = ""  # where the path names it
    streams: bool | None = None  # where the path says so


class Envelope(Struct, frozen=True):
    """A request's body, opened: its fields as bytes, in order, and the messages one by one.

    The field of the messages is a view of the body, or the messages themselves in a long one: they are not held twice.
    """

    fields: Mapping[str, Field]
    messages: tuple[bytes, ...]
    model: str
    streams: bool
    system: object = None
    tools: object = None
    output: int | None = None
    chain: str = ""  # the answer this request goes on from, where the provider keeps them
    conversation: str = ""  # the conversation that the provider keeps, which this request goes on from
    family: str = ""  # what the client calls the conversation
    is_schema_bound: bool = False  # an answer in a given form is wanted


def _as_it_is(value: Any) -> Any:
    return value


def _of_a_user(text: str) -> Mapping[str, Any]:
    return {"role": "user", "content": text}


def _told_more(system: Any, texts: Sequence[str]) -> Any:
    if system is None or isinstance(system, str):
        return "\n\n".join([*filter(None, [system]), *texts])
    return [*system, *({"type": "text", "text": text} for text in texts)]


class ProviderAddress(Struct, frozen=True):
    """Whose requests these are where the path does not tell: the usual address, and signs in paths and headers."""

    name: str
    address: str
    paths: re.Pattern[bytes]
    header: bytes = b""


class Endpoint(Struct, frozen=True):
    """One way to ask for a turn."""

    provider: ProviderAddress
    path: re.Pattern[bytes]
    messages: str
    system: str
    tools: str
    output: tuple[str, ...]  # names of the longest answer wanted, the first that is there counts
    refusal: Callable[[int, str, str], object]  # status, kind and words of an error, in this format
    schema: tuple[str, ...]  # fields that ask for an answer in a given form
    family: tuple[str, ...] = ()  # fields in which clients name a conversation
    chain: str = ""
    conversation: str = ""  # the field that names a conversation which the provider keeps
    ids: bool = True  # calls have ids, which clients keep
    streaming: str = "stream"
    words: Callable[[Any], Any] = _as_it_is  # the system prompt as it is weighed
    said: Callable[[str], Mapping[str, Any]] = _of_a_user  # a message in which a user says this
    told: Callable[[Any, Sequence[str]], Any] = _told_more  # a system prompt with more texts behind it
    unmarked: Callable[[bytes], bytes] = _as_it_is  # messages, comma-joined, without marks for a cache
    mended: Callable[[Sequence[bytes]], Sequence[bytes]] = _as_it_is  # without what a client is known to send wrongly
    splice: Callable[[Collection[str]], Splice] | None = None  # several answers as one, without calls of these names
    broken: bytes = b""  # what stands in every body that may have to be mended

    def asks(self, method: str, path: bytes) -> AskedTurn | None:
        """Whether this path asks for a turn in this format."""
        found = self.path.fullmatch(path) if method == "POST" else None
        if found is None:
            return None
        named = found.groupdict()
        return AskedTurn(
            (named.get("model") or b"").decode(), named["verb"].startswith(b"stream") if "verb" in named else None
        )

    def open(self, body: bytes, asked: AskedTurn) -> Envelope:
        """The body's parts; raises `BadMessage` where it is no request."""
        try:
            given = _BODY.decode(body)
            # A view of the body: most of it are the messages, which stand beside it one by one.
            listed = memoryview(given.get(self.messages, _NO_MESSAGES))
            fields: dict[str, Field] = {
                name: listed if name == self.messages else bytes(raw) for name, raw in given.items()
            }
            said: tuple[bytes, ...]
            parts: list[msgspec.Raw] = []
            if bytes(listed[:1]) == b'"':
                said = (encode({"role": "user", "content": decode(bytes(listed))}),)
            else:
                parts = _LIST.decode(listed)
                if (count := len(parts)) > MOST_MESSAGES:
                    raise TooManyMessages(
                        f"This request has {count:,} messages, more than the {MOST_MESSAGES:,} that are read."
                    )
                said = tuple([bytes(raw) for raw in parts])
                if len(listed) > LONG:
                    fields[self.messages] = CutList.of(listed, said)
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
            raise BadMessage(f"The request is not JSON with a list of {self.messages}: {error}.") from error
        del given, listed, parts  # views of the body, which need not be held
        for part in (*said, *(raw for name, raw in fields.items() if name != self.messages and isinstance(raw, bytes))):
            refuse_many(part)
        return Envelope(
            fields,
            said,
            asked.model or _text(fields.get("model")),
            bool(_value(fields.get(self.streaming))) if asked.streams is None else asked.streams,
            self.words(_value(fields.get(self.system))),
            _value(fields.get(self.tools)),
            next((found for name in self.output if _is_number(found := _within(fields, name))), None),
            _text(fields.get(self.chain)),
            ""
            if fields.get(self.conversation) in _NONE
            else bytes(fields[self.conversation]).decode("utf-8", "replace"),
            next((found for name in self.family if (found := _named(_within(fields, name)))), ""),
            any(_within(fields, name) for name in self.schema),
        )

    def close(
        self,
        envelope: Envelope,
        messages: Sequence[bytes] | None,
        output: int | None = None,
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        system: Sequence[str] = (),
    ) -> bytes:
        """The body around other messages, another length of the answer, further tools and words of the system.

        The rest is as it came. Messages that are given are all there are: no chain goes before them.
        """
        fields = dict(envelope.fields)
        if system and self.system:
            fields[self.system] = encode(self.told(_value(fields.get(self.system)), system))
        elif system:
            # Where a system prompt is a message, more of it stands in messages behind those at the front.
            messages, front = envelope.messages if messages is None else messages, 0
            for message in map(decode, messages):
                if not isinstance(message, Mapping) or message.get("role") not in ("system", "developer"):
                    break
                front += 1
            told = [encode({"role": "system", "content": text}) for text in system]
            messages = [*messages[:front], *told, *messages[front:]]
        if tools:
            given = envelope.tools if isinstance(envelope.tools, list) else []
            fields[self.tools] = encode([*given, *tools])
        if messages is not None:
            fields[self.messages] = b"[" + b",".join(messages) + b"]"
            fields.pop(self.chain, None)
        for name in self.output if output is not None else ():
            if _is_number(_within(fields, name)):
                head, _, inner = name.partition(".")
                fields[head] = encode({**_value(fields[head]), inner: output} if inner else output)
        return b"{" + b",".join(encode(name) + b":" + bytes(raw) for name, raw in fields.items()) + b"}"

    def going_on_from(self, body: bytes, answer: str) -> bytes:
        """A body that goes on from an answer by another name; as it came where it goes on from none."""
        fields = _BODY.decode(body)
        if self.chain not in fields:
            return body
        written = {**fields, self.chain: encode(answer)}
        return b"{" + b",".join(encode(name) + b":" + raw for name, raw in written.items()) + b"}"

    def overflows(self, status: int, refusal: bytes) -> bool:
        """Whether a refusal says that the request was too long."""
        return status in _LENGTH_STATUSES and _TOO_LONG.search(refusal) is not None

    def refuse(self, status: int, kind: str, words: str) -> bytes:
        """An error as this format's clients expect it."""
        return encode(self.refusal(status, kind, words))


def _value(raw: Field | None) -> Any:
    if raw is None:
        return None
    raw = bytes(raw)
    value = decode(raw)
    refuse_deep_json(raw, value, "request")
    return value


def _text(raw: Field | None) -> str:
    found = _value(raw)
    return found if isinstance(found, str) else ""


def _within(fields: Mapping[str, Field], name: str) -> Any:
    """What stands under a name; behind a dot, inside it."""
    head, *inner = name.split(".")
    found = _value(fields.get(head))
    for each in inner:
        found = found.get(each) if isinstance(found, Mapping) else None
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _named(value: object) -> str:
    """A conversation's name: a text, or the session that a JSON text speaks of."""
    if not isinstance(value, str):
        return ""
    if not value.startswith("{"):
        return value
    try:
        found = decode(value)
    except BadMessage:
        return ""
    session = found.get("session_id") if isinstance(found, Mapping) else None
    return session if isinstance(session, str) else ""
