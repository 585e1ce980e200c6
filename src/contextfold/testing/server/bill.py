"""What a prompt costs: fresh, read from the provider's cache, written to it; and the clock by which entries grow old.

Caches keep exact prefixes with a minimum length and a lifetime, and nothing before an answer begins. Two kinds, as
providers have them. *Explicit*: entries exist where the client marked a breakpoint, each mark looks back a number of
blocks for an earlier entry. *Automatic*: every prefix that is long enough is kept and found.

Opaque content that only this server can make and read back: signatures, sealed reasoning, compaction blocks.

Real providers sign what they hand out, so that a client cannot change it. Here it is an HMAC over the content in a
readable envelope. What carries another's signature is foreign: refused, unless the server was told to trust it.

How many tokens a piece of a request is, for the bill.

Words are counted by the model's own vocabulary where it is published, else estimated. Pictures and documents cost a
flat sum: what a provider charges for pixels is tested elsewhere. The same words are counted once.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from contextfold.domain import Message, Text
from contextfold.models import Model, Prices
from contextfold.tokens import counter_for

_MARK: Final = b"cfseal1."
_SIZE: Final = 16
_STANDARD: Final = str.maketrans("-_", "+/")  # Google's SDK writes bytes in the alphabet for URLs; the API reads both


class Seal:
    """Signs with one server's key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def sign(self, **facts: Any) -> str:
        """An opaque text that holds these facts and cannot be changed."""
        body = msgspec.json.encode(facts)
        return b64encode(_MARK + self._mac(body) + body).decode()

    def facts(self, sealed: str) -> dict[str, Any] | None:
        """What was signed; None for anything that this server did not sign."""
        try:
            raw = b64decode(sealed.translate(_STANDARD), validate=True)
        except (binascii.Error, ValueError):
            return None
        if not raw.startswith(_MARK):
            return None
        mac, body = raw[len(_MARK) : len(_MARK) + _SIZE], raw[len(_MARK) + _SIZE :]
        if not hmac.compare_digest(mac, self._mac(body)):
            return None
        facts: dict[str, Any] = msgspec.json.decode(body)
        return facts

    def _mac(self, body: bytes) -> bytes:
        return hmac.new(self._key, body, hashlib.sha256).digest()[:_SIZE]


def digest(*parts: object) -> str:
    """A short name for content, the same for the same content; the order of fields is not content."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(msgspec.json.encode(part, order="sorted"))
        found.update(b"\0")
    return found.hexdigest()


# Names, marks and seals that a prompt does not hold as words.
_UNCOUNTED: Final = frozenset(
    {"type", "id", "tool_use_id", "tool_call_id", "call_id", "signature", "cache_control", "thoughtSignature", "role"}
    | {"status", "media_type", "mimeType", "detail", "prompt_cache_breakpoint"}
)
_AS_JSON: Final = frozenset({"input", "args", "response", "input_schema", "parameters", "parametersJsonSchema"})
_PICTURES: Final = frozenset({"image", "image_url", "input_image", "inlineData", "fileData"})
_FILES: Final = frozenset({"document", "file", "input_file", "container_upload"})

PICTURE: Final = 1_500
FILE: Final = 3_000
AROUND: Final = 4  # tokens around each piece
_MOST_KEPT: Final = 100_000


class Sizes:
    """Counts, and remembers what it counted."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], int] = {}

    def text(self, text: str, model: Model) -> int:
        key = (model.tokenizer, digest(text))
        counted = self._kept.get(key)
        if counted is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            counter, words = counter_for(model), text.encode("utf-8", "replace").decode()
            counted = self._kept[key] = counter.tokens(counter.shape(Message("user", (Text(words),))))
        return counted

    def piece(self, piece: Any, model: Model) -> int:
        """Tokens of one block, tool or item, as it stands in a request."""
        words = "\n".join(_words(piece))
        return AROUND + (self.text(words, model) if words else 0) + _media(piece)


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        if _media_kind(value):
            return
        for name, inner in value.items():
            if name in _AS_JSON and not isinstance(inner, str):
                yield msgspec.json.encode(inner).decode()
            elif name not in _UNCOUNTED:
                yield from _words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)


def _media(value: Any) -> int:
    if isinstance(value, Mapping):
        within = (inner for name, inner in value.items() if name not in _AS_JSON)
        return _media_kind(value) or sum(_media(inner) for inner in within)
    return sum(_media(inner) for inner in value) if isinstance(value, list) else 0


def _media_kind(value: Mapping[str, Any]) -> int:
    kind = str(value.get("type"))
    if kind in _PICTURES or "inlineData" in value or "fileData" in value:
        return PICTURE
    source = value.get("source")
    is_plain = isinstance(source, Mapping) and source.get("type") in ("text", "content")
    return FILE if kind in _FILES and not is_plain else 0


_MILLION = 1_000_000


class TokenBill(Struct, frozen=True):
    """Tokens of one call; `input` is all of the prompt, however it was paid."""

    fresh: int = 0
    read: int = 0
    written: int = 0
    written_hour: int = 0
    output: int = 0
    reasoning: int = 0  # of the output

    @property
    def input(self) -> int:
        return self.fresh + self.read + self.written + self.written_hour

    def __add__(self, other: TokenBill) -> TokenBill:
        return TokenBill(
            self.fresh + other.fresh,
            self.read + other.read,
            self.written + other.written,
            self.written_hour + other.written_hour,
            self.output + other.output,
            self.reasoning + other.reasoning,
        )

    def cost(self, prices: Prices | None) -> float:
        """USD at these prices; what has no price of its own costs as fresh input does."""
        if prices is None:
            return 0.0
        now = prices.at(self.input)
        write = _or(now.cache_write, now.input)
        paid = self.fresh * now.input + self.read * _or(now.cache_read, now.input) + self.written * write
        return (paid + self.written_hour * _or(now.cache_write_hour, write) + self.output * now.output) / _MILLION


def _or(price: float | None, other: float) -> float:
    return other if price is None else price


_START: Final = 1_790_000_000.0


class Clock:
    """Shows seconds since 1970 and moves only when somebody moves it."""

    def __init__(self, start: float = _START) -> None:
        self._now = start

    def __call__(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Let this much time pass."""
        if seconds < 0:
            raise ValueError(f"Time does not go back by {-seconds} seconds. Use a new clock.")
        self._now += seconds


HOUR: Final = 3_600
_GRAIN: Final = 128  # automatic caches find prefixes in steps of so many tokens


class PromptPiece(Struct, frozen=True):
    """Part of a prompt in order: its exact bytes, its size, and the lifetime in seconds if a breakpoint follows it."""

    content: bytes
    tokens: int
    breakpoint: int | None = None


class Rules(Struct, frozen=True):
    """How one model's prompts are cached."""

    least: int
    lifetime: int
    lookback: int | None = None  # blocks, where entries are explicit
    writes_cost: bool = False


class Billed(Struct, frozen=True):
    """What a prompt costs, and the entries it leaves once its answer begins: key to lifetime."""

    usage: TokenBill
    entries: Mapping[bytes, int] = field(default_factory=dict)


class PromptCache:
    """Entries by the hash of everything before them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: dict[bytes, tuple[float, int]] = {}  # when it ends, how long it lives

    def forget(self) -> None:
        self._entries.clear()

    def keep(self, billed: Billed) -> None:
        """Make the entries readable, or live longer: the answer has begun."""
        now = self._clock()
        for key, lifetime in billed.entries.items():
            ends = max(now + lifetime, self._entries.get(key, (0.0, 0))[0])
            self._entries[key] = (ends, lifetime)

    def is_live(self, key: bytes) -> bool:
        return self._entries.get(key, (0.0, 0))[0] > self._clock()

    def automatic(self, scope: str, pieces: Sequence[PromptPiece], rules: Rules) -> Billed:
        """Every long enough prefix is an entry."""
        keys, sums = _chain(scope, pieces)
        total = sums[-1] if sums else 0
        eligible = [index for index, size in enumerate(sums) if size >= rules.least]
        hit = next((index for index in reversed(eligible) if self.is_live(keys[index])), None)
        read = 0 if hit is None else sums[hit] // _GRAIN * _GRAIN
        written = total - read if rules.writes_cost and total >= rules.least else 0
        usage = TokenBill(total - read - written, read, written)
        return Billed(usage, {keys[index]: rules.lifetime for index in eligible})

    def explicit(self, scope: str, pieces: Sequence[PromptPiece], rules: Rules) -> Billed:
        """Entries only at breakpoints; from each, the nearest earlier entry within the look-back is read."""
        keys, sums = _chain(scope, pieces)
        marks = [index for index, piece in enumerate(pieces) if piece.breakpoint and sums[index] >= rules.least]
        hits = []
        for mark in marks:
            oldest = -1 if rules.lookback is None else max(-1, mark - rules.lookback)
            hit = next((index for index in range(mark, oldest, -1) if self.is_live(keys[index])), None)
            if hit is not None:
                hits.append(hit)
        total = sums[-1] if sums else 0
        if not marks:
            return Billed(TokenBill(total))
        read = sums[max(hits)] if hits else 0
        last = max(sums[marks[-1]], read)
        hours = [sums[mark] for mark in marks if (pieces[mark].breakpoint or 0) >= HOUR]
        hour = max(0, max(hours, default=0) - read)
        entries = {keys[mark]: pieces[mark].breakpoint or rules.lifetime for mark in marks}
        entries |= {keys[hit]: entries.get(keys[hit]) or self._entries[keys[hit]][1] for hit in hits}
        return Billed(TokenBill(total - last, read, last - read - hour, hour), entries)


def _chain(scope: str, pieces: Sequence[PromptPiece]) -> tuple[list[bytes], list[int]]:
    """For each piece the hash and the size of the prompt up to its end."""
    state, size = hashlib.blake2b(scope.encode(), digest_size=16), 0
    keys: list[bytes] = []
    sums: list[int] = []
    for piece in pieces:
        state.update(len(piece.content).to_bytes(8, "big"))
        state.update(piece.content)
        size += piece.tokens
        keys.append(state.digest())
        sums.append(size)
    return keys, sums
