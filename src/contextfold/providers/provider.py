"""A model behind its official SDK, as something that writes summaries.

One asynchronous call for both kinds of session: the driver of a synchronous one waits for it. A client lives as long
as one question, because connections belong to the loop they were opened in. Keys are the SDK's business: it reads them
from its own configuration, and nothing here sees, keeps or repeats one.

What went wrong with a provider, in one of five kinds, and in words that hold nothing of what it said.

A provider's error may repeat a key, a header or a piece of the conversation; reports and logs must not. So only the
error's class and status are told. Whether a prompt was too long is read from the error, and forgotten.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from contextfold.deferred import expression
from contextfold.errors import BadConfiguration, ProviderFailed
from contextfold.folding import Answer, Compacted
from contextfold.models import Prices, find
from contextfold.summaries import Prompt

_AUTH: Final = frozenset({401, 403})
_TRANSIENT: Final = frozenset({408, 409, 425, 429})
_TOO_LONG: Final = expression(
    r"too long|too large|context.{0,10}(?:length|window|size|limit)|(?:input )?token count|maximum (?:prompt|number of)"
    r"|prompt length|too many tokens|token limit",
    re.IGNORECASE,
)
# Errors of the transport below the SDKs, by name: which library it is depends on the SDK and its version.
_OUT_OF_REACH: Final = expression(
    r"Connect|Timeout|TimedOut|Transport|Protocol|ReadError|WriteError|NetworkError|Disconnected|Payload|Closed"
)
_CANNOT_LOG_IN: Final = expression(r"api_key|auth_token|api key|credential", re.IGNORECASE)
# The account, not the moment, is at fault: trying again would not help.
_OUT_OF_CREDIT: Final = expression(r"insufficient_quota|credit balance|exceeded your current quota", re.IGNORECASE)
_ADVICE: Final = {
    "auth": "Set the key that its SDK reads.",
    "overflow": "Give it less, or choose a model with a larger window.",
    "transient": "Try again later.",
    "credit": "Its account has no credit left: add some, or use another key.",
    "unsent": "Its SDK would not send it: look at the model's name and the size of the answer asked for.",
    "rejected": "Look at the model's name and at what it accepts.",
    "broken": "Look at what answers at its address.",
}


def failed(error: Exception, provider: str, model: str) -> ProviderFailed:
    """The same failure in our words."""
    status, kind = status_of(error), kind_of(error)
    told = f"{provider} answered {status}" if status else f"{provider} gave no answer"
    advice = _ADVICE["credit" if kind == "rejected" and _is_out_of_credit(error) else kind]
    if kind == "rejected" and status is None:
        told, advice = f"{provider} was not asked", _ADVICE["unsent"]
    message = f"{told} for {model} ({type(error).__name__}). {advice}"
    return ProviderFailed(message, kind, _retry_after(error))


def kind_of(error: Exception) -> str:
    status = status_of(error)
    if status in _AUTH:
        return "auth"
    if status == 413 or (status in (None, 400, 422) and _TOO_LONG.search(str(error))):
        return "overflow"
    if status is None:
        names = " ".join(cls.__name__ for cls in type(error).__mro__)
        if isinstance(error, OSError) or _OUT_OF_REACH.search(names):
            return "transient"
        if re.search(r"overloaded|rate.?limit|unavailable|server_error|internal", str(error), re.IGNORECASE):
            return "transient"
        if _CANNOT_LOG_IN.search(str(error)):
            return "auth"
        return "rejected" if type(error) in (TypeError, ValueError) else "broken"
    if _is_out_of_credit(error):
        return "rejected"
    return "transient" if status in _TRANSIENT or status >= 500 else "rejected"


def status_of(error: Exception) -> int | None:
    """The HTTP status, wherever this SDK keeps it; an error event in a good answer's stream has its own kind."""
    for name in ("status_code", "code"):
        found = getattr(error, name, None)
        if isinstance(found, int) and not isinstance(found, bool) and found >= 300:
            return found
    return None


def _is_out_of_credit(error: Exception) -> bool:
    return getattr(error, "code", None) == "insufficient_quota" or _OUT_OF_CREDIT.search(str(error)) is not None


def _retry_after(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    try:
        said = float(headers.get("retry-after")) if headers is not None else None
    except (TypeError, ValueError, AttributeError):
        return None
    return said if said is not None and said >= 0 else None


class TokenUsage(Struct, frozen=True):
    """Tokens: `input` is all of the prompt, `read` and `written` are its parts that came from or went to the cache."""

    input: int = 0
    output: int = 0
    read: int = 0
    written: int = 0

    def cost(self, prices: Prices | None) -> float:
        """USD; nothing where the model has no known price."""
        if prices is None:
            return 0.0
        now = prices.at(self.input)
        fresh = self.input - self.read - self.written
        paid = fresh * now.input + self.read * now.read + self.written * now.write + self.output * now.output
        return paid / 1_000_000


def number(holder: Any, name: str) -> int:
    """A count on an SDK's object; zero where there is none."""
    value = getattr(holder, name, None)
    return value if isinstance(value, int) else 0


Listening = Callable[[str], object] | None
T = TypeVar("T")


class SpokenAnswer(Struct, frozen=True):
    """What a model said, in words that belong to no SDK."""

    text: str
    finish: str
    usage: TokenUsage


class Speaker(Protocol):
    """One SDK: how it is opened, asked, and asked to compact."""

    @property
    def name(self) -> str:
        """Whose SDK it is, as reports and errors say it."""

    @property
    def dialects(self) -> tuple[str, ...]:
        """Wire formats in which a conversation can be taken over; the first is its own."""

    @property
    def compacts_in(self) -> str:
        """The wire format in which it compacts a conversation of its own; empty where it does not."""

    def open(self, base_url: str) -> AbstractAsyncContextManager[Any]:
        """A client configured as the SDK is; `ImportError` without the SDK."""

    def speaks_to(self, model: str, base_url: str) -> bool:
        """Whether a model of this name is its provider's; a server of one's own takes any name."""

    async def ask(self, client: Any, model: str, prompt: Prompt, on_text: Listening) -> SpokenAnswer:
        """One answer to a prompt. Errors leave as the SDK raised them; `Provider` puts them into our words."""

    async def compact(self, client: Any, model: str, body: Mapping[str, Any], dialect: str) -> Compacted:
        """What the provider makes of a conversation, to be sent in its place."""


class Provider(Struct, frozen=True):
    """A summarizer: `await provider(prompt)`. `on_text` hears the answer while it is being written."""

    speaker: Speaker
    model: str
    base_url: str = ""
    client: Callable[[], AbstractAsyncContextManager[Any]] | None = None  # instead of the SDK's usual one
    on_text: Listening = None
    timeout: float | None = 120.0  # seconds for a whole answer

    def __post_init__(self) -> None:
        if not self.model:
            raise BadConfiguration("A provider needs a model's name, such as 'claude-haiku-5-5'.")
        if self.timeout is not None and self.timeout <= 0:
            raise BadConfiguration(f"A time-out of {self.timeout} seconds leaves no time. Use more, or None.")

    @property
    def dialect(self) -> str:
        """The wire format in which this provider compacts a conversation of its own."""
        return self.speaker.compacts_in

    async def __call__(self, prompt: Prompt) -> Answer:
        shared = prompt.shared
        if shared is not None:  # a conversation in a wire format of this provider's, whatever the flavour
            dialect = shared.dialect.partition(":")[0]
            is_known = dialect in self.speaker.dialects
            prompt = replace(prompt, shared=replace(shared, dialect=dialect) if is_known else None)
        spoken = await self._within(lambda client: self.speaker.ask(client, self.model, prompt, self.on_text))
        usage = spoken.usage
        cost = usage.cost(find(self.model).prices)
        return Answer(spoken.text, spoken.finish, self.model, usage.input, usage.output, usage.read, cost)

    async def compact(self, body: Mapping[str, Any], dialect: str) -> Compacted:
        """Have the provider shorten a conversation of this request in its own way."""
        return await self._within(lambda client: self.speaker.compact(client, self.model, body, dialect))

    def of(self, model: str) -> Self | None:
        """The same provider with another model, if it has it."""
        return replace(self, model=model) if self.speaker.speaks_to(model, self.base_url) else None

    async def _within(self, asking: Callable[[Any], Awaitable[T]]) -> T:
        """One question to a client of its own. What the SDK raises is told in our words: its own may repeat a key."""
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                opened = self.client() if self.client is not None else self.speaker.open(self.base_url)
                async with opened as client:
                    return await asking(client)
        except ImportError as error:
            extra = f"pip install 'contextfold[{self.speaker.name}]'"
            raise BadConfiguration(f"The SDK of {self.speaker.name} is not installed: {extra}.") from error
        except Exception as error:  # noqa: BLE001  # told in our words
            if limit.expired():
                raise TimeoutError(f"{self.speaker.name} did not finish an answer of {self.model} in time.") from None
            raise failed(error, self.speaker.name, self.model) from None
