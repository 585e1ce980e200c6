"""A model behind its official SDK, as something that writes summaries.

One asynchronous call for both kinds of session: the driver of a synchronous one waits for it. A client lives as long
as one question, because connections belong to the loop they were opened in. Keys are the SDK's business: it reads them
from its own configuration, and nothing here sees, keeps or repeats one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar

from contextfold.errors import BadConfiguration
from contextfold.folding import Answer, Compacted
from contextfold.models import Prices, find
from contextfold.summaries import Prompt, Shared

from .failures import failed


@dataclass(frozen=True, slots=True)
class TokenUsage:
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


@dataclass(frozen=True, slots=True)
class SpokenAnswer:
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


@dataclass(frozen=True, slots=True)
class Provider:
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
        prompt = replace(prompt, shared=self._understood(prompt.shared))
        spoken = await self._within(lambda client: self.speaker.ask(client, self.model, prompt, self.on_text))
        usage = spoken.usage
        cost = usage.cost(find(self.model).prices)
        return Answer(spoken.text, spoken.finish, self.model, usage.input, usage.output, usage.read, cost)

    def _understood(self, shared: Shared | None) -> Shared | None:
        """A conversation in a wire format of this provider's, whatever the flavour."""
        if shared is None:
            return None
        dialect = shared.dialect.partition(":")[0]
        return replace(shared, dialect=dialect) if dialect in self.speaker.dialects else None

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
            async with limit, self._open() as client:
                return await asking(client)
        except ImportError as error:
            extra = f"pip install 'contextfold[{self.speaker.name}]'"
            raise BadConfiguration(f"The SDK of {self.speaker.name} is not installed: {extra}.") from error
        except Exception as error:  # noqa: BLE001  # told in our words
            if limit.expired():
                raise TimeoutError(f"{self.speaker.name} did not finish an answer of {self.model} in time.") from None
            raise failed(error, self.speaker.name, self.model) from None

    def _open(self) -> AbstractAsyncContextManager[Any]:
        return self.client() if self.client is not None else self.speaker.open(self.base_url)
