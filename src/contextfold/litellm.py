"""LiteLLM's proxy: a callback that keeps every conversation and has the proxy ask with what fits.

    litellm_settings:
      callbacks: contextfold_callback.fold      # a module beside the configuration: fold = Fold("agent.db")

Chat Completions, Responses and Anthropic's Messages each in their own dialect, before LiteLLM translates them for
whichever provider answers. What cannot be read passes as it is.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

from contextfold import dialects
from contextfold.conversations import MOST_OPEN, Conversation, Conversations, FoldSettings, Place, name_of
from contextfold.dialects import Dialect, Listener, plain
from contextfold.dialects.endpoint import AskedTurn, Envelope
from contextfold.domain import decode, encode
from contextfold.errors import CannotFit, ContextFoldError, MissingExtra
from contextfold.folding import Policy
from contextfold.loggers import logger
from contextfold.preferences import Chosen
from contextfold.session import Hook, Request

try:
    from litellm.exceptions import ContextWindowExceededError
    from litellm.integrations.custom_logger import CustomLogger
except ModuleNotFoundError as error:
    raise MissingExtra("LiteLLM", "litellm") from error

# What LiteLLM calls a turn, in each of the three formats that its proxy is spoken to.
_TURNS: Mapping[str, str] = {
    "completion": "openai-chat",
    "acompletion": "openai-chat",
    "anthropic_messages": "anthropic",
    "aanthropic_messages": "anthropic",
    "responses": "openai-responses",
    "aresponses": "openai-responses",
}
_CALL = "litellm_call_id"


class ProxiedTurn(NamedTuple):
    """A request that waits for its answer, and the conversation it was made in."""

    conversation: Conversation
    request: Request


class Fold(CustomLogger):
    """Folds what the proxy's models see. Conversations of different keys never meet."""

    def __init__(
        self,
        store: Place = None,
        *,
        policy: Policy | str | None = None,
        profile: Chosen = None,
        window: int | None = None,
        limit: int | None = None,
        on_fold: Hook = None,
    ) -> None:
        super().__init__()
        self.conversations = Conversations(store, FoldSettings(policy, profile, window, limit, on_fold))
        self._asked: OrderedDict[str, ProxiedTurn] = OrderedDict()  # those that wait for an answer, by LiteLLM's call

    async def async_pre_call_hook(
        self,
        user_api_key_dict: Any,
        cache: Any,  # noqa: ARG002
        data: dict[str, Any],
        call_type: str,
    ) -> Any:
        """Ask with what fits."""
        name = _TURNS.get(call_type)
        if name is None:
            return data
        try:
            key = getattr(user_api_key_dict, "api_key", None) or getattr(user_api_key_dict, "user_id", None) or ""
            owner = name_of(str(key).encode(), "key")  # whose conversations they are
            return await self.conversations.aside(self._folded, owner, data, dialects.find(name))
        except CannotFit as error:
            raise ContextWindowExceededError(str(error), str(data.get("model")), "contextfold") from error
        except ContextFoldError as error:
            logger("litellm").warning("a turn passes as it is: %s", error)
            return data

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:  # noqa: ARG002
        """Keep an answer that came as a whole."""
        turn = self._asked.pop(str(data.get(_CALL)), None)
        if turn is not None:
            await self.conversations.aside(_keep, turn, plain(response))
        return response

    async def async_post_call_streaming_iterator_hook(
        self,
        user_api_key_dict: Any,  # noqa: ARG002
        response: Any,
        request_data: dict[str, Any],
    ) -> AsyncIterator[Any]:
        """Keep an answer as it passes. Its last piece goes on when it is kept: no next turn comes before it."""
        turn = self._asked.pop(str(request_data.get(_CALL)), None)
        listener, held = Listener(), list[Any]()
        async for piece in response:
            listener.hear(piece if isinstance(piece, bytes | str) else plain(piece))
            for earlier in held:
                yield earlier
            held = [piece]
        answer = listener.heard().answer
        if turn is not None and answer is not None:
            await self.conversations.aside(_keep, turn, answer)
        for last in held:
            yield last

    async def async_post_call_failure_hook(
        self, request_data: dict[str, Any], original_exception: Exception, *_: Any, **__: Any
    ) -> None:
        """A request that was too long makes the next one shorter."""
        turn = self._asked.pop(str(request_data.get(_CALL)), None)
        if turn is not None:
            turn.conversation.overflowed(original_exception)

    def _folded(self, owner: str, data: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
        endpoint = dialect.endpoint
        assert endpoint is not None  # noqa: S101  # each of the three travels over HTTP
        # What of LiteLLM's data is the request; the rest is the proxy's own.
        own = {"model", endpoint.messages, endpoint.system, endpoint.tools, endpoint.chain, *endpoint.output}
        known = (own | dialects.SETTINGS | {"user", "prompt_cache_key"}) - {"extra_body", "extra_headers"}
        body = {name: plain(value) for name, value in data.items() if name in known}
        envelope = endpoint.open(encode(body), AskedTurn())
        if not envelope.messages or envelope.chain:
            return data  # the provider keeps what came before, and nobody else has it
        thread = str(data.get("litellm_session_id") or "") or envelope.family
        named = f"{owner}/{thread}" if thread else name_of(owner.encode() + _first(envelope), "litellm")
        conversation = self.conversations.of(named, _model(envelope.model), dialect.name)
        request = conversation.turn(
            envelope.messages,
            system=envelope.system or "",  # type: ignore[arg-type]  # as it came
            tools=envelope.tools if isinstance(envelope.tools, list) else [],
            max_tokens=envelope.output,
            cache=False,
        )
        self._asked[str(data.get(_CALL))] = ProxiedTurn(conversation, request)
        while len(self._asked) > MOST_OPEN:
            self._asked.popitem(last=False)
        shown = endpoint.open(request.json, AskedTurn()).messages
        return {**data, endpoint.messages: [decode(each) for each in shown]}


def _model(alias: str) -> str:
    """The model behind a name of the proxy's, of several the first: what it binds and what it holds is that model's."""
    router = getattr(sys.modules.get("litellm.proxy.proxy_server"), "llm_router", None)
    listed = router.get_model_list(model_name=alias) if router is not None else None
    model = listed[0]["litellm_params"]["model"] if listed else alias
    return str(model).rpartition("/")[2]


def _first(envelope: Envelope) -> bytes:
    """What a conversation begins with: the first that is no system message."""
    said = [each for each in envelope.messages if decode(each).get("role") not in ("system", "developer")]
    return (said or list(envelope.messages))[0]


_REMARKS = "provider_specific_fields"  # what LiteLLM adds to a message; OpenAI would not take it back


def _said(answer: Any) -> Any:
    """An answer without LiteLLM's remarks that say nothing; those that hold something, such as a signature, stay."""
    if isinstance(answer, list):
        return [_said(each) for each in answer]
    if not isinstance(answer, Mapping):
        return answer
    is_silent = not any((answer.get(_REMARKS) or {}).values())
    return {name: _said(each) for name, each in answer.items() if name != _REMARKS or not is_silent}


def _keep(turn: ProxiedTurn, answer: object) -> None:
    try:
        turn.conversation.answered(_said(answer), request=turn.request)
    except ContextFoldError as error:
        logger("litellm").warning("an answer is not kept: %s", error)
