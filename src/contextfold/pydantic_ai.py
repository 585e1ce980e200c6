"""Pydantic AI's agents: `Agent("anthropic:claude-sonnet-5-5", capabilities=[Fold("agent.db")])`.

The history of a run stays as it is; what the model is asked with is folded. Each `conversation_id` is a thread of the
store. Its messages are a dialect of their own, so nothing that a provider wrote is lost on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from contextfold.conversations import Conversation, Conversations, FoldSettings, OwnerFormat, Place, name_of
from contextfold.domain import decode, encode
from contextfold.errors import MissingExtra
from contextfold.folding import Policy
from contextfold.preferences import Chosen
from contextfold.session import Hook

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, SystemPromptPart
except ModuleNotFoundError as error:
    raise MissingExtra("Pydantic AI", "pydantic-ai") from error

NAME = "pydantic-ai"


class Fold(AbstractCapability):
    """Folds what the model sees."""

    def __init__(
        self,
        store: Place = None,
        *,
        thread: str | None = None,
        policy: Policy | str | None = None,
        profile: Chosen = None,
        window: int | None = None,
        limit: int | None = None,
        on_fold: Hook = None,
    ) -> None:
        super().__init__()
        self.conversations = Conversations(store, FoldSettings(policy, profile, window, limit, on_fold))
        self.thread = thread

    async def prepare_model_request(self, ctx: Any, request_context: Any) -> Any:
        """Ask with what fits the model that will answer."""
        shown = await self.conversations.promptly(self._folded, ctx, request_context)
        return request_context if shown == request_context.messages else replace(request_context, messages=shown)

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:
        """Keep what the model answered."""
        conversation = self._conversation(ctx, request_context)
        await self.conversations.promptly(conversation.answered_with, response, FORMAT)
        return response

    async def on_model_request_error(self, ctx: Any, *, request_context: Any, error: Exception) -> Any:
        """A request that was too long makes the next one shorter."""
        self._conversation(ctx, request_context).overflowed(error)
        raise error

    def _folded(self, ctx: Any, asked: Any) -> list[Any]:
        conversation, told = self._conversation(ctx, asked), asked.model_request_parameters
        instructions = [part.content for part in getattr(told, "instruction_parts", None) or ()]
        return conversation.folded(
            asked.messages,
            FORMAT,
            system="\n\n".join(instructions),
            tools=[
                {"name": tool.name, "description": tool.description or "", "input_schema": tool.parameters_json_schema}
                for tool in (*told.function_tools, *told.output_tools)
            ],
            max_tokens=(asked.model_settings or {}).get("max_tokens"),
        )

    def _conversation(self, ctx: Any, asked: Any) -> Conversation:
        thread = self.thread or getattr(ctx, "conversation_id", None) or name_of(_dump(asked.messages[0]), NAME)
        return self.conversations.of(thread, asked.model.model_name, NAME)


def _apart(message: Any) -> Sequence[Any]:
    """A message with its system prompts by themselves, so that folding what stands beside one does not hide it."""
    parts = message.parts if isinstance(message, ModelRequest) else ()
    system = [part for part in parts if isinstance(part, SystemPromptPart)]
    if not system or len(system) == len(parts):
        return (message,)
    rest = [part for part in parts if not isinstance(part, SystemPromptPart)]
    return replace(message, parts=system), replace(message, parts=rest)


def _dump(message: Any) -> bytes:
    try:
        return bytes(ModelMessagesTypeAdapter.dump_json([message])[1:-1])
    except ValueError:  # half of a character, which JSON can hold only escaped
        return encode(ModelMessagesTypeAdapter.dump_python([message], mode="json")[0])


FORMAT = OwnerFormat(_dump, lambda raw: ModelMessagesTypeAdapter.validate_python([decode(raw)])[0], apart=_apart)
