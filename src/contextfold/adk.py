"""Google's Agent Development Kit: `Runner(agent=root, plugins=[contextfold.adk.Fold("agent.db")], ...)`.

The session's events stay as they are; what the model is asked with is folded. Each agent of a session is a thread of
the store, because each is shown a history of its own. Contents are Gemini's, so nothing is converted: one that no fold
touches goes to the model as the very object that the kit made.
"""

from __future__ import annotations

import asyncio
from typing import Any

from contextfold.conversations import Conversation, Conversations, FoldSettings, OwnerFormat, Place
from contextfold.dialects import neutral, plain
from contextfold.domain import decode, encode
from contextfold.errors import MissingExtra
from contextfold.folding import Policy
from contextfold.preferences import Chosen
from contextfold.session import Hook

try:
    from google.adk.plugins.base_plugin import BasePlugin
    from google.genai import types
except ModuleNotFoundError as error:
    raise MissingExtra("Agent Development Kit", "adk") from error

DIALECT = "gemini"


class Fold(BasePlugin):
    """Folds what the models of all agents see."""

    def __init__(
        self,
        store: Place = None,
        *,
        policy: Policy | str | None = None,
        profile: Chosen = None,
        window: int | None = None,
        limit: int | None = None,
        on_fold: Hook = None,
        name: str = "contextfold",
    ) -> None:
        super().__init__(name)
        self.conversations = Conversations(store, FoldSettings(policy, profile, window, limit, on_fold))
        self._asked: dict[str, Conversation] = {}  # those that wait for an answer

    async def close(self) -> None:
        """Let go of the store, when the runner is closed."""
        await asyncio.to_thread(self.conversations.close)

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Ask with what fits. A request that goes on from what Google keeps is left as it is."""
        if llm_request.contents and not llm_request.previous_interaction_id:
            llm_request.contents = await self.conversations.promptly(
                self._folded, _thread(callback_context), llm_request
            )

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """Keep what the model answered; pieces of a stream come once more as a whole."""
        content = llm_response.content
        if llm_response.partial or content is None or not content.parts:
            return
        conversation = self._asked.pop(_thread(callback_context), None)
        if conversation is not None:
            usage = llm_response.usage_metadata
            billed = None if usage is None else usage.model_dump(mode="json", by_alias=True, exclude_none=True)
            await self.conversations.promptly(conversation.answered_with, content, FORMAT, billed or None)

    async def on_model_error_callback(self, *, callback_context: Any, llm_request: Any, error: Exception) -> None:  # noqa: ARG002
        """A request that was too long makes the next one shorter."""
        conversation = self._asked.pop(_thread(callback_context), None)
        if conversation is not None:
            conversation.overflowed(error)

    def _folded(self, thread: str, asked: Any) -> list[Any]:
        conversation = self._asked[thread] = self.conversations.of(thread, asked.model or "", DIALECT)
        config = asked.config
        return conversation.folded(
            asked.contents,
            FORMAT,
            system=neutral.words(plain(config.system_instruction)),
            tools=[plain(tool) for tool in config.tools or () if isinstance(tool, types.Tool)],
            max_tokens=config.max_output_tokens,
        )


def _thread(context: Any) -> str:
    return f"{context.session.id}/{context.agent_name}"


def _dump(content: Any) -> bytes:
    try:
        return bytes(content.model_dump_json(by_alias=True, exclude_none=True), "utf-8")
    except ValueError:  # half of a character, which JSON can hold only escaped
        return encode(plain(content))


FORMAT = OwnerFormat(_dump, lambda raw: types.Content.model_validate(decode(raw)), "contents")
