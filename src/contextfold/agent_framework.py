"""Microsoft Agent Framework: `Agent(client, middleware=[contextfold.agent_framework.Fold("agent.db")])`.

A session's history stays as it is; what the model is asked with is folded, inside tool loops too. Each session is a
thread of the store. Its messages are a dialect of their own, so nothing that a provider wrote is lost on the way.
"""

from __future__ import annotations

from typing import Any

from contextfold.conversations import Conversation, Conversations, FoldSettings, OwnerFormat, Place, name_of
from contextfold.domain import decode, encode
from contextfold.errors import MissingExtra
from contextfold.folding import Policy
from contextfold.preferences import Chosen
from contextfold.session import Hook

try:
    from agent_framework import ChatMiddleware, Message
except ModuleNotFoundError as error:
    raise MissingExtra("Agent Framework", "agent-framework") from error

NAME = "agent-framework"


class Fold(ChatMiddleware):
    """Folds what the model sees. A run that goes on from what a provider keeps is left as it is."""

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
        self.conversations = Conversations(store, FoldSettings(policy, profile, window, limit, on_fold))
        self._thread = thread

    async def process(self, context: Any, call_next: Any) -> None:
        """Ask with what fits, and keep what the model answers."""
        if not context.messages or (context.options or {}).get("conversation_id"):
            await call_next()
            return
        owned, promptly = context.messages, self.conversations.promptly
        thread = self._thread or getattr(context.session, "session_id", None) or name_of(_dump(owned[0]), NAME)
        model = (context.options or {}).get("model") or getattr(context.client, "model", "") or ""
        conversation = self.conversations.of(thread, str(model), NAME)
        context.messages = await promptly(_folded, conversation, context, owned)
        if context.stream:
            context.stream_result_hooks.append(lambda answer: promptly(_keep, conversation, answer))
        try:
            await call_next()
        except Exception as error:
            if context.stream or not conversation.overflowed(error):
                raise
            context.messages = await promptly(_folded, conversation, context, owned)
            await call_next()
        if not context.stream:
            await promptly(_keep, conversation, context.result)


def _folded(conversation: Conversation, context: Any, messages: Any) -> list[Any]:
    options = context.options or {}
    tools = options.get("tools") or ()
    return conversation.folded(
        messages,
        FORMAT,
        system=str(options.get("instructions") or ""),
        tools=[tool.to_json_schema_spec() for tool in tools if hasattr(tool, "to_json_schema_spec")],
        max_tokens=options.get("max_tokens"),
    )


def _keep(conversation: Conversation, response: Any) -> None:
    """Write the answer behind what was asked; a tool's results that came with it come with the next turn."""
    for message in getattr(response, "messages", None) or ():
        if message.role == "assistant":
            conversation.answered_with(message, FORMAT, dict(response.usage_details or {}) or None)
            return


def _dump(message: Any) -> bytes:
    return encode(message.to_dict())


FORMAT = OwnerFormat(_dump, lambda raw: Message.from_dict(decode(raw)))
