"""What a model is, as far as a conversation's size, price and validity depend on it.

Facts only: a field nobody has documented is absent (None or empty), never guessed. Each group of fields says where it
comes from. Nothing here is read from anywhere; see `catalogue` and `lookup`. Beside the facts stand what a bill comes
to at a model's prices, and how many tokens a provider says it would have taken when it refuses a request as too long.

One key for the many ways to write a model's name.

`us.anthropic.claude-sonnet-4-5-20250929-v1:0`, `anthropic/claude-sonnet-4.5` and `CLAUDE_SONNET_4_5` are one model.
Names are compared whole, after known wrappings are taken off: a part of a name proves nothing (`gpt-oss` is no `gpt`,
and a fine-tune is not its parent). Only a model's family is read from the beginning of its name, see `core`.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from contextfold.deferred import expression
from contextfold.domain import Bill
from contextfold.errors import BadConfiguration

# Who may stand before a name; anybody else's prefix makes it another model.
_ROUTE = expression(
    r"alibaba|anthropic|azure|azure_ai|bedrock|bedrock_converse|cerebras|converse|databricks|deepinfra"
    r"|deepseek|fireworks|fireworks_ai|gemini|github|github_copilot|google|google-gla|google-vertex"
    r"|google_genai|google_vertexai|groq|hosted_vllm|litellm_proxy|lmstudio|lm_studio|meta-llama|minimax"
    r"|minimaxai|mistral|mistralai|models|moonshot|moonshotai|nvidia_nim|ollama|ollama_chat|openai"
    r"|openai-chat|openai-responses|openrouter|qwen|sambanova|together|together_ai|vertex|vertex_ai|vllm"
    r"|x-ai|xai|z-ai|zai|zai-org"
)
_REGION = expression(r"^(?:us|us-gov|eu|apac|jp|au|ca|global)\.")
_BEDROCK = expression(r"^(?:amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|openai|qwen|zai)\.")
_VERSION = expression(r"-v\d+(?::\d+)?$")
_DATE = expression(r"[-@](?:20\d{6}|20\d\d-\d\d-\d\d|\d{4}|00\d|latest|default)$")
_PREVIEW = expression(r"-preview(?:-\d\d-(?:20)?\d\d)?$")
_TAG = expression(r":[^:/]+$")  # Ollama's tags, OpenRouter's variants
_OTHER = expression(r"[^a-z0-9]+")
_LONGEST = 500  # signs of a name that are looked at: nobody lists a longer one, and names come from requests


def key(name: str) -> str:
    """The name as an environment variable would spell it, in lower case: every run of other signs is one underscore."""
    return _OTHER.sub("_", name[:_LONGEST].lower()).strip("_")


def candidates(name: str) -> tuple[str, ...]:
    """Keys under which this name may be listed, the most literal first."""
    bare = name[:_LONGEST].strip().lower()
    *routes, last = bare.split("/")
    is_resource = "models" in routes or bare.startswith("arn:")  # Vertex, Bedrock: whose it is says the path
    if is_resource or all(_ROUTE.fullmatch(route.partition(":")[0]) for route in routes):
        route, colon, rest = last.partition(":")
        last = rest if colon and _ROUTE.fullmatch(route) else last
        bare = _BEDROCK.sub("", _REGION.sub("", last))
    shorter = [bare, _VERSION.sub("", bare)]
    for wrapping in (_DATE, _TAG, _DATE, _PREVIEW, _DATE):
        shorter.append(wrapping.sub("", shorter[-1]))
    return tuple(dict.fromkeys(key(each) for each in (name, *shorter)))


def core(name: str) -> str:
    """The name in lower case without anybody before it, known or not: its beginning tells the model's family."""
    last = name[:_LONGEST].strip().lower().rpartition("/")[2]
    while last.startswith("ft:") or (":" in last and _ROUTE.fullmatch(last.partition(":")[0])):
        last = last.partition(":")[2]
    return _BEDROCK.sub("", _REGION.sub("", last)).replace("_", "-")


# What a window is taken to be when nobody says: small enough to be safe, shown as assumed everywhere.
ASSUMED_WINDOW = 32_768

# What returned reasoning is tied to. "": nothing known. "prefix": everything before it must be unchanged. "account":
# that, and the account it was made for. "item": it stays with the item that follows it. "part": it stays on its exact
# part. "echo": it must be returned on turns that call tools.
Binding: TypeAlias = Literal["", "prefix", "account", "item", "part", "echo"]

# How a picture is counted. "patches": one token for each square of `patch` pixels. "tiles": `base` plus `tile` for each
# 512 px square, after shrinking. "crops": `tile` for each 768 px crop. "flat": `base`, whatever its size.
Formula: TypeAlias = Literal["patches", "tiles", "crops", "flat"]


_TIERED = ("input", "output", "cache_read", "cache_write")


class Tier(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Prices of a request whose input is larger than `above`; what is None stays as below."""

    above: int
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None


class Prices(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """USD for a million tokens."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None  # for the provider's shortest lifetime
    cache_write_hour: float | None = None
    tiers: tuple[Tier, ...] = ()

    @property
    def read(self) -> float:
        """For input that is read from the cache; the price of input where the provider names no other."""
        return self.input if self.cache_read is None else self.cache_read

    @property
    def write(self) -> float:
        """For input that is written to the cache; the price of input where the provider names no other."""
        return self.input if self.cache_write is None else self.cache_write

    def at(self, tokens: int) -> Prices:
        """The prices a request with this much input pays."""
        if not self.tiers:
            return self
        told: dict[str, float] = {}
        for tier in sorted(self.tiers, key=lambda tier: tier.above):
            if tokens > tier.above:
                named = {name: getattr(tier, name) for name in _TIERED}
                told |= {name: value for name, value in named.items() if value is not None}
        return replace(self, **told)


class Cache(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a provider keeps the beginning of a prompt."""

    kind: Literal["explicit", "automatic"]
    least: int | None = None  # a shorter prefix is silently not cached
    lifetimes: tuple[int, ...] = ()  # seconds, shortest first
    breakpoints: int | None = None
    lookback: int | None = None  # blocks before a breakpoint in which an earlier entry is found


class Media(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a picture or page costs and how many may be sent."""

    formula: Formula = "patches"
    patch: int = 28
    edge: int = 0  # pixels of the long side beyond which a picture is shrunk; 0: no limit
    most: int = 0  # patches beyond which a picture is shrunk; 0: no limit
    percent: int = 100  # tokens for a hundred patches
    base: int = 0
    tile: int = 0
    page: int = 3_000  # tokens of one page of a document
    images: int | None = None  # pictures in one request
    bytes: int | None = None  # of one request


class FactSource(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where a fact comes from, and when it was true."""

    name: str
    date: str = ""


class Model(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One model. `sources` has an entry for each group of fields that is known."""

    id: str
    provider: str = ""
    dialect: str = ""  # the wire format it is usually spoken to in
    window: int = ASSUMED_WINDOW  # input tokens
    output: int | None = None  # most tokens of an answer
    tokenizer: str = ""  # an encoding, or a family of estimates
    stand_in: bool = False  # the encoding is a relative's, so counts are estimates
    prices: Prices | None = None
    cache: Cache | None = None
    binding: Binding = ""
    compaction: tuple[str, ...] = ()  # the provider's own ways of shortening a conversation
    media: Media | None = None
    threshold: int | None = None  # percent of the window at which to fold, when somebody said so for this model
    aliases: tuple[str, ...] = ()
    sources: dict[str, FactSource] = {}
    assumed: bool = False  # the window is not known
    given: str = ""  # the name it was asked for by, where it is not the id

    @property
    def name(self) -> str:
        """What its provider is told: the very name the caller gave. `id` is only where its facts were found."""
        return self.given or self.id

    def after_overflow(self, tokens: int, reported: int | None = None) -> Model:
        """The same model after its provider refused a request of `tokens`: an assumed window shrinks.

        A provider that names its limit is believed; otherwise the window goes to just below what was refused.
        """
        if reported is not None and 0 < reported < self.window:
            return self._with_window(reported, "the provider's overflow error", assumed=False)
        if self.assumed and 0 < tokens <= self.window:
            return self._with_window(max(1, tokens * 9 // 10), "a refused request", assumed=True)
        return self

    def with_window(self, window: int) -> Model:
        """The same model, of whose window the caller knows better."""
        if window < 1:
            raise BadConfiguration(f"A window of {window} tokens has room for nothing. Use the model's input tokens.")
        return self._with_window(window, "said in code", assumed=False)

    def _with_window(self, window: int, source: str, *, assumed: bool) -> Model:
        return replace(self, window=window, assumed=assumed, sources={**self.sources, "window": FactSource(source)})


_MILLION = 1_000_000


class Paid(Struct, frozen=True):
    """USD by kind. What has no price of its own costs as fresh input does."""

    fresh: float = 0.0
    written: float = 0.0
    read: float = 0.0
    answer: float = 0.0

    @property
    def input(self) -> float:
        """All but the answers."""
        return self.fresh + self.written + self.read

    @property
    def total(self) -> float:
        return self.input + self.answer

    def __add__(self, other: Paid) -> Paid:
        return Paid(
            self.fresh + other.fresh,
            self.written + other.written,
            self.read + other.read,
            self.answer + other.answer,
        )


def paid_for(bill: Bill, prices: Prices) -> Paid:
    """What one bill comes to at these prices, by the tier its input falls into."""
    now, read = prices.at(bill.input), bill.read or 0
    hour = now.write if now.cache_write_hour is None else now.cache_write_hour
    return Paid(
        (bill.input - read - bill.written) * now.input / _MILLION,
        ((bill.written - bill.written_hour) * now.write + bill.written_hour * hour) / _MILLION,
        read * now.read / _MILLION,
        bill.output * now.output / _MILLION,
    )


_NUMBER = r"(\d[\d,_]*)"
_SAID = tuple(
    expression(pattern.replace("#", _NUMBER), re.IGNORECASE)
    for pattern in (
        r"tokens?\s*>\s*# maximum",  # Anthropic: prompt is too long
        r"exceed context limit: \d+ \+ \d+ > #",  # Anthropic, together with the answer
        r"maximum number of (?:input )?tokens allowed \(#\)",  # Gemini
        r"maximum context (?:length|window)(?: of this model)? (?:is|of)(?: only)? #",  # OpenAI, vLLM, OpenRouter
        r"with # maximum context length",  # Mistral
        r"available context size \(#",  # llama.cpp
        r"maximum prompt length is #",  # xAI
        r"model token limit:? #",  # Moonshot
        r"context (?:length|window) of(?: only)? #",  # Ollama, LM Studio
    )
)


def limit_in(refusal: object) -> int | None:
    """The number of tokens that a refusal, an error or its text, says would have been taken."""
    text = str(refusal)
    found = (match for pattern in _SAID if (match := pattern.search(text)))
    match = next(found, None)
    return int(re.sub(r"[,_]", "", match.group(1))) if match else None
