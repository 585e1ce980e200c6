"""The OpenAI Agents SDK: a session that keeps everything, and a run whose calls of the model are folded.

    session = FoldSession("refactor-42", "agent.db")
    await Runner.run(agent, text, session=session, run_config=run_config(session), hooks=session)

The SDK's items are OpenAI's own, so nothing is converted: an item that no fold touches goes to the model as the very
object that the SDK gave. `hooks=session` is wanted for the bills only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contextfold.conversations import Conversation, Conversations, FoldSettings, OwnerFormat, Place
from contextfold.dialects import elements
from contextfold.domain import decode, encode
from contextfold.errors import MissingExtra
from contextfold.folding import Policy
from contextfold.preferences import Chosen
from contextfold.session import Hook

try:
    from agents import ModelSettings, RunConfig, RunHooks
    from agents.models import get_default_model
    from agents.run import CallModelData, ModelInputData
except ModuleNotFoundError as error:
    raise MissingExtra("OpenAI Agents SDK", "openai-agents") from error

DIALECT = "openai-responses"
_NO_ID = "__fake_id__"  # the SDK's mark on what came from a chat model; OpenAI would not take it


def run_config(session: FoldSession, **options: Any) -> RunConfig:
    """The configuration of a run whose calls of the model are folded; `options` are the SDK's other ones."""
    return RunConfig(call_model_input_filter=session.filter, **options)


class FoldSession(RunHooks):
    """One conversation, kept whole in a store: the SDK's session, and what folds its calls of the model."""

    session_settings = None

    def __init__(
        self,
        session_id: str,
        store: Place = None,
        *,
        policy: Policy | str | None = None,
        profile: Chosen = None,
        window: int | None = None,
        limit: int | None = None,
        on_fold: Hook = None,
    ) -> None:
        self.session_id = session_id
        self.conversations = Conversations(store, FoldSettings(policy, profile, window, limit, on_fold))
        self._model = ""  # that was asked last
        self._added: list[Any] | None = None  # what the SDK put here; the thread may be ahead of it
        self._usage: dict[str, Any] | None = None  # of the answer that is about to be followed

    def close(self) -> None:
        """Let go of the store."""
        self.conversations.close()

    # -- the SDK's session --------------------------------------------------------------------------------------------

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Everything that was said, or the newest of it; nothing is ever folded here."""
        self._added = await self.conversations.aside(self._items)
        return self._added[:] if limit is None else self._added[max(0, len(self._added) - limit) :]

    async def add_items(self, items: list[Any]) -> None:
        """Go on with these, unless the thread holds them already: a call of the model may have come first."""
        await self.conversations.aside(self._add, items)

    async def pop_item(self) -> Any:
        """Go back before the newest item; it stays in the log."""
        return await self.conversations.aside(self._popped)

    async def clear_session(self) -> None:
        """Go back to the beginning; everything stays in the log. `Store.forget` erases."""
        self._added = []
        await self.conversations.aside(self._follow, [])

    # -- its calls of the model ---------------------------------------------------------------------------------------

    async def filter(self, data: CallModelData[Any]) -> ModelInputData:
        """What the model is asked with: the SDK's `call_model_input_filter`."""
        usage, self._usage = self._usage, None
        return await self.conversations.promptly(self._filtered, data, usage)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:  # noqa: ARG002
        """Keep what an answer was billed until the answer itself comes."""
        usage = response.usage
        if usage is not None and usage.input_tokens:
            read = usage.input_tokens_details.cached_tokens or 0
            self._usage = {"input": usage.input_tokens, "read": read, "output": usage.output_tokens}

    def _filtered(self, data: CallModelData[Any], usage: dict[str, Any] | None) -> ModelInputData:
        given, agent = data.model_data, data.agent
        self._model = _model(agent)
        settings = getattr(agent, "model_settings", None) or ModelSettings()
        shown = self._conversation().folded(
            given.input,
            FORMAT,
            system=given.instructions or "",
            # The agent's own functions; tools of servers are told by nobody before the call.
            tools=[
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.params_json_schema,
                }
                for tool in agent.tools
                if hasattr(tool, "params_json_schema")
            ],
            max_tokens=settings.max_tokens,
            usage=usage,
        )
        return ModelInputData(shown, given.instructions)

    # -- the thread ---------------------------------------------------------------------------------------------------

    def _conversation(self) -> Conversation:
        return self.conversations.of(self.session_id, self._model or get_default_model(), DIALECT)

    def _items(self) -> list[Any]:
        conversation = self._conversation()
        with conversation.lock:
            thread = conversation.session.thread
            thread.catch_up()
            said = [thread.message(item.seq).raw for item in thread.branch.items.items if item.kind == "message"]
        whole = [elements(raw) if raw.lstrip()[:1] == b"[" else (raw,) for raw in said]
        return [_item(bytes(each)) for items in whole for each in items]

    def _follow(self, items: Sequence[Any]) -> None:
        conversation = self._conversation()
        with conversation.lock:
            if conversation.session.follow([_dump(item) for item in items], usage=self._usage).new:
                self._usage = None

    def _add(self, items: Sequence[Any]) -> None:
        held = [_dump(item) for item in self._items()]
        if self._added is None:
            self._added = self._items()
        self._added += items
        added = [_dump(item) for item in self._added]
        if held[: len(added)] != added:
            self._follow(self._added)

    def _popped(self) -> Any:
        items = self._items()
        if items:
            self._added = items[:-1]
            self._follow(self._added)
        return items[-1] if items else None


def _dump(item: Any) -> bytes:
    """An item as OpenAI takes it; the object itself stays the SDK's."""
    value = item if isinstance(item, Mapping) else item.model_dump(mode="json", exclude_unset=True)
    return encode({name: each for name, each in value.items() if (name, each) != ("id", _NO_ID)})


def _item(raw: bytes) -> Any:
    """An item as the SDK wants it: what the model said in so many words has an id, if only the SDK's mark."""
    value = decode(raw)
    is_said = value.get("type") == "message" and value.get("role") == "assistant"
    return {"id": _NO_ID, **value} if is_said else value


FORMAT = OwnerFormat(_dump, _item, "input")


def _model(agent: Any) -> str:
    model = agent.model
    return str(model if isinstance(model, str) else getattr(model, "model", "") or get_default_model())
