"""LangChain's agents, and those of deepagents: `create_agent(model, tools, middleware=[Fold("agent.db")])`.

The agent's state keeps every message as it is; what the model is asked with is folded. Each thread of LangGraph is a
thread of the store, and so is each run of a sub-agent. Its messages are a dialect of their own, so nothing that a
provider wrote is lost on the way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from operator import is_
from typing import Any

from msgspec import Struct

from contextfold.conversations import Conversation, Conversations, FoldSettings, OwnerFormat, Place, name_of
from contextfold.domain import decode, encode
from contextfold.errors import MissingExtra
from contextfold.folding import Policy
from contextfold.preferences import Chosen
from contextfold.session import Hook

try:
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import BaseMessage, messages_from_dict
    from langchain_core.utils.function_calling import convert_to_openai_tool
except ModuleNotFoundError as error:
    raise MissingExtra("LangChain", "langchain") from error

NAME = "langchain"


class FoldedCall(Struct, frozen=True):
    """A call of the model as it is made: the conversation, and the request with the messages that fit."""

    conversation: Conversation
    request: Any


class Fold(AgentMiddleware):
    """Folds what the model sees. In deepagents, `replaces="SummarizationMiddleware"` stands in that one's place."""

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
        replaces: str = "",
    ) -> None:
        super().__init__()
        self.conversations = Conversations(store, FoldSettings(policy, profile, window, limit, on_fold))
        self._thread, self._name = thread, replaces or "ContextFold"
        self._tools: tuple[list[Any], list[dict[str, Any]]] = [], []  # as they were given last, and as they are counted

    @property
    def name(self) -> str:
        """What LangChain tells middleware apart by."""
        return self._name

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Ask the model with what fits, and keep what it answers."""
        call = self._folded(request)
        try:
            response = handler(call.request)
        except Exception as error:
            if not call.conversation.overflowed(error):
                raise
            call = self._folded(request)
            response = handler(call.request)
        _keep(call, response)
        return response

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """The same, awaited; a file is read and written on another thread, and so is whatever folds."""
        call = await self.conversations.promptly(self._folded, request)
        try:
            response = await handler(call.request)
        except Exception as error:
            if not call.conversation.overflowed(error):
                raise
            call = await self.conversations.promptly(self._folded, request)
            response = await handler(call.request)
        await self.conversations.promptly(_keep, call, response)
        return response

    def _folded(self, request: Any) -> FoldedCall:
        model = request.model
        name = getattr(model, "model_name", "") or getattr(model, "model", "") or ""
        conversation = self.conversations.of(self._thread or _thread(request), str(name), NAME)
        given, counted = self._tools
        if len(given) != len(request.tools) or not all(map(is_, given, request.tools)):
            given, counted = list(request.tools), [convert_to_openai_tool(tool) for tool in request.tools]
            self._tools = given, counted
        shown = conversation.folded(
            request.messages,
            FORMAT,
            system=str(request.system_prompt or ""),
            tools=counted,
            max_tokens=getattr(model, "max_tokens", None),
        )
        is_folded = shown != request.messages
        return FoldedCall(conversation, request.override(messages=shown) if is_folded else request)


def _thread(request: Any) -> str:
    """LangGraph's thread, and below it the sub-agent: the last part of the namespace is another one at each step."""
    info = getattr(request.runtime, "execution_info", None)
    space = "|".join((getattr(info, "checkpoint_ns", "") or "").split("|")[:-1])
    thread = getattr(info, "thread_id", None)
    if thread is None:
        content = request.messages[0].content if request.messages else None
        written = encode(str.__str__(content) if isinstance(content, str) else content)
        thread = name_of(written if request.messages else b"", NAME)
    return f"{thread}/{space}" if space else str(thread)


def _dump(message: BaseMessage) -> bytes:
    try:
        return message.model_dump_json().encode()
    except ValueError:  # half of a character, which JSON can hold only escaped
        return encode(message.model_dump(mode="json"))


def _message(raw: bytes) -> BaseMessage:
    value = decode(raw)
    message: BaseMessage = messages_from_dict([{"type": value["type"], "data": value}])[0]
    return message


FORMAT = OwnerFormat(_dump, _message)


def _keep(call: FoldedCall, response: Any) -> None:
    """Write the answer behind what was asked; what a middleware made of it comes with the next turn."""
    for message in getattr(response, "result", None) or [response]:
        if getattr(message, "type", "") in ("ai", "AIMessageChunk"):
            call.conversation.answered_with(message, FORMAT)
            return
