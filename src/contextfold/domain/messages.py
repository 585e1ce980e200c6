"""A message: who spoke, its bytes, the neutral blocks read from them, its outline; and an answer with its bill.

The bytes are the record; nothing here changes them or orders their keys. *Blocks* are the pieces of a message in words
that belong to no provider, for rooms that decide (folding, counting, summaries); their text is always encodable, a
lone surrogate of the original stands in it as its escape. The *outline* (`Shape`) is all that a projection, a rule or a
strategy must know without reading the body. It is stored beside each event, so a thread of 100,000 messages opens
without reading what they say.

JSON goes in and out by one encoder and one decoder, with one exception each, for lone surrogates: Python strings can
hold them, UTF-8 cannot, JSON can as an escape. Nothing here builds anything but plain data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import zip_longest
from math import isfinite
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from contextfold.errors import BadMessage

from .long_json import LONG, read_long


class Text(Struct, frozen=True, gc=False, tag="text"):
    """Words."""

    text: str


class Image(Struct, frozen=True, gc=False, tag="image"):
    """A picture: inline base64 in `data`, or somewhere else, named by `url` (an address or a provider's file id)."""

    media_type: str = ""
    data: str = ""
    url: str = ""
    detail: str = ""


class Document(Struct, frozen=True, gc=False, tag="document"):
    """A file given to the model: inline base64 in `data`, plain `text`, or named by `url`."""

    media_type: str = ""
    data: str = ""
    text: str = ""
    url: str = ""
    title: str = ""


class ToolCall(Struct, frozen=True, gc=False, tag="call"):
    """The model asks for a tool. `arguments` is JSON text as the model wrote it.

    `server` is set where the original says apart from the name whose tool it is.
    """

    id: str
    name: str
    arguments: str = "{}"
    server: str = ""

    @property
    def full_name(self) -> str:
        """The name with its server, as other clients write it."""
        return f"{self.server}.{self.name}" if self.server else self.name


class ToolResult(Struct, frozen=True, gc=False, tag="result"):
    """What a tool answered to one call; may hold text, images, documents and provider items.

    `name` is set where the original names the tool instead of the call: it answers the first call of that tool.
    """

    call: str
    blocks: tuple[Block, ...] = ()
    is_error: bool = False
    name: str = ""


class Reasoning(Struct, frozen=True, gc=False, tag="reasoning"):
    """The model's thinking: readable `text`, the provider's `signature`, or `sealed` content (redacted, encrypted)."""

    text: str = ""
    signature: str = ""
    sealed: str = ""


class Opaque(Struct, frozen=True, gc=False, tag="opaque"):
    """Something of a provider's own that we carry untouched: its kind, and its JSON."""

    kind: str
    json: str = ""


Block: TypeAlias = Text | Image | Document | ToolCall | ToolResult | Reasoning | Opaque


def nested(block: Block) -> tuple[Block, ...]:
    """The block and whatever stands inside it."""
    if isinstance(block, ToolResult):
        return (block, *(inner for outer in block.blocks for inner in nested(outer)))
    return (block,)


Role: TypeAlias = Literal["system", "user", "assistant"]


class Message(Struct, frozen=True, gc=False):
    """What was said. A tool's answer is the user's side speaking, whatever role a wire format gives it."""

    role: Role
    blocks: tuple[Block, ...]
    raw: bytes = b""
    dialect: str = ""

    @property
    def text(self) -> str:
        """The words of the message itself; what tools answered is not among them."""
        return "\n".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tools this message asks for, in order."""
        return tuple([block for block in self.blocks if isinstance(block, ToolCall)])

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """What tools answered, in order; each names the call it belongs to."""
        return tuple([block for block in self.blocks if isinstance(block, ToolResult)])


BlockKind: TypeAlias = Literal["text", "image", "document", "call", "result", "reasoning", "opaque"]


class Measure(Struct, frozen=True, gc=False, array_like=True):
    """Raw sizes of a block: characters by class, media by dimensions, exact tokens by encoding where counted."""

    classes: tuple[int, ...] = ()  # in the order of `contextfold.tokens.CLASSES`, trailing zeros left out
    media: tuple[tuple[str, int, int], ...] = ()  # ("image", width, height) or ("document", pages, 0); 0 where unknown
    bpe: dict[str, int] = {}

    def __add__(self, other: Measure) -> Measure:
        longest = zip_longest(self.classes, other.classes, fillvalue=0)
        shared = {name: self.bpe[name] + other.bpe[name] for name in self.bpe.keys() & other.bpe.keys()}
        return Measure(tuple(a + b for a, b in longest), self.media + other.media, shared)


class BlockShape(Struct, frozen=True, gc=False, array_like=True):
    """The outline of a block. `call` is the id that pairs a call with its result, `name` the tool or provider kind."""

    kind: BlockKind
    size: int = 0  # bytes of the block's content
    measure: Measure = Measure()
    call: str = ""
    name: str = ""
    is_error: bool = False

    @property
    def is_blank(self) -> bool:
        """Text that says nothing: no provider accepts it, so no view shows it."""
        return self.kind == "text" and self.size == 0


# Who spoke in a message of the user's side. A recording says "client" of what its client added by itself, and "tool" of
# what a tool printed; whether it was a person or nobody is judged when the message is appended. Empty where that was
# not judged: other roles, results of tools, older stores.
SpokenBy: TypeAlias = Literal["", "person", "nobody", "client", "tool"]


class Shape(Struct, frozen=True, gc=False, array_like=True):
    """The outline of a message: whose side it is on, who spoke, and the kind and size of each piece."""

    role: Role
    blocks: tuple[BlockShape, ...] = ()
    size: int = 0  # bytes of the whole message as it was given
    spoken_by: SpokenBy = ""

    @property
    def calls(self) -> tuple[str, ...]:
        """Ids of the calls it makes, in order."""
        return tuple([block.call for block in self.blocks if block.kind == "call"])

    @property
    def results(self) -> tuple[str, ...]:
        """Ids of the calls it answers, in order."""
        return tuple([block.call for block in self.blocks if block.kind == "result"])

    @property
    def has_reasoning(self) -> bool:
        """Whether reasoning is in it, which some providers tie to what follows."""
        for block in self.blocks:  # noqa: SIM110  # asked of every item: a generator costs a call for each block
            if block.kind == "reasoning":
                return True
        return False

    @property
    def is_blank(self) -> bool:
        """Nothing in it would be shown."""
        for block in self.blocks:  # noqa: SIM110  # asked of every item: a generator costs a call for each block
            if block.size or block.kind != "text":
                return False
        return True

    @property
    def is_estimated(self) -> bool:
        """Whether nobody can know what a provider makes of some of it: media, and items of its own."""
        for block in self.blocks:  # noqa: SIM110  # asked of every item: a generator costs a call for each block
            if block.measure.media or block.kind == "opaque":
                return True
        return False

    @property
    def images(self) -> int:
        """How many pictures it shows; providers limit them in a request."""
        many = 0
        for block in self.blocks:
            for kind, _, _ in block.measure.media:
                many += kind == "image"
        return many


class Problem(Struct, frozen=True):
    """Something a provider would reject, or a store cannot vouch for: where, which rule, and what to do."""

    path: str
    rule: str
    advice: str


class Bill(Struct, frozen=True, gc=False):
    """What a provider billed for one answer, in tokens; `input` is all of the prompt, with what its cache had to do."""

    input: int = 0
    output: int = 0
    read: int | None = None  # of the input, from the cache; None where the provider does not say
    written: int = 0  # of the input, to the cache
    written_hour: int = 0  # of that, to be kept for an hour


class Reply(Struct, frozen=True):
    """What came back from a provider: the message, and what was billed for it (the provider's own usage fields)."""

    message: Message
    usage: Mapping[str, Any] = {}
    model: str = ""
    stop: str = ""
    cleared: int = 0  # tool results that the provider itself left out of what the model read, the oldest


_encoder = msgspec.json.Encoder()


def encode(value: object) -> bytes:
    """The value as JSON bytes, keys in the order they came."""
    try:
        try:
            encoded = _encoder.encode(value)
        except UnicodeEncodeError:
            return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode("ascii")
        if b"null" in encoded:
            _refuse_what_is_no_number(value)
        return encoded
    except (TypeError, ValueError, RecursionError) as error:
        raise BadMessage(f"This value cannot be written as JSON ({error}). Pass plain JSON data.") from error


def _refuse_what_is_no_number(value: object) -> None:
    """NaN and infinity would become null in silence."""
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{value} is not a JSON number")
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for each in inner:
        _refuse_what_is_no_number(each)


def decode(raw: bytes | str) -> Any:
    """Plain data from JSON bytes; anything that is not JSON is refused with a reason."""
    try:
        return read_long(raw) if len(raw) > LONG and isinstance(raw, bytes) else msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as first:
        return _decode_escaped_surrogates(raw, first)


def _decode_escaped_surrogates(raw: bytes | str, first: Exception) -> Any:
    """The strict decoder rejects escaped lone surrogates, which are legal JSON and do occur in tool output."""
    escape = b"\\ud" if isinstance(raw, bytes) else "\\ud"
    if escape not in raw.lower():  # type: ignore[operator]  # both sides are of one kind
        raise BadMessage(f"This is not JSON: {first}. Pass a JSON object.") from first
    try:
        return json.loads(raw, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"This is not JSON: {error}. Pass a JSON object.") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def encodable(text: str) -> str:
    """The text itself, or with lone surrogates spelled as escapes when UTF-8 cannot hold it."""
    if text.isascii():
        return text
    try:
        for at in range(0, len(text), LONG):
            text[at : at + LONG].encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
