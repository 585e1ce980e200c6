"""OpenHands' agents: `Agent(llm=…, tools=…, condenser=contextfold.openhands.Fold(store="agent.db"))`.

OpenHands forgets whole events and puts one summary in their place; the events stay in its own files. What is forgotten,
and what the summary says, are contextfold's folds: everything is kept in the store as well, and can be searched there.
The thread of a conversation is named by its first event. Single results are not cleared, for OpenHands cannot say that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from contextfold.conversations import Conversation, Conversations, FoldSettings
from contextfold.dialects import find
from contextfold.domain import encode
from contextfold.errors import CannotFit, MissingExtra
from contextfold.folding import Condense, Headroom, Percent, Policy, Window
from contextfold.loggers import logger
from contextfold.session import Request
from contextfold.thread import Thread

try:
    from openhands.sdk.context.condenser.base import CondenserBase
    from openhands.sdk.event import ActionEvent, Condensation, CondensationSummaryEvent, SystemPromptEvent
    from openhands.sdk.event.base import LLMConvertibleEvent
    from pydantic import PrivateAttr
except ModuleNotFoundError as error:
    raise MissingExtra("OpenHands", "openhands") from error

DIALECT = "openai-chat"
_MADE = "contextfold"  # whose answer a condensation is, where OpenHands asks for a model's
_HOW = {
    "cache_enabled": False,
    "vision_enabled": True,
    "function_calling_enabled": True,
    "force_string_serializer": True,
    "send_reasoning_content": False,
}


def whole_events() -> Policy:
    """Folds of whole messages alone: all that OpenHands can forget."""
    triggers = (Percent(80, goal=0.5), Headroom(goal=0.5))
    return Policy("openhands", triggers, (Condense(),), last_resort=(Window(), Window(keep_first=False)))


class Said(NamedTuple):
    """Events of OpenHands that are one message: the calls of one answer belong together."""

    events: tuple[Any, ...]
    raw: bytes

    @property
    def name(self) -> str:
        """The id of its first event."""
        return str(self.events[0].id)

    @property
    def is_summary(self) -> bool:
        return isinstance(self.events[0], CondensationSummaryEvent)


class Fold(CondenserBase):
    """Folds what the model sees. `window` and `limit` as in `Session.open`."""

    store: str | None = None
    thread: str | None = None
    window: int | None = None
    limit: int | None = None
    _conversations: Conversations | None = PrivateAttr(default=None)
    _seqs: dict[str, dict[str, int]] = PrivateAttr(default_factory=dict)  # of each thread: the messages of its events

    def handles_condensation_requests(self) -> bool:
        """A request for a condensation, and a provider's refusal for length, fold at once."""
        return True

    def condense(self, view: Any, agent_llm: Any = None) -> Any:
        """The view as it is where it fits, else what is to be forgotten of it and the summary in its place."""
        head = next((each for each in view.events if isinstance(each, SystemPromptEvent)), None)
        said = list(_said(each for each in view.events if each is not head))
        if not said:
            return view
        if self._conversations is None:
            how = FoldSettings(policy=whole_events(), window=self.window, limit=self.limit)
            self._conversations = Conversations(self.store, how)
        model = str(getattr(agent_llm, "model", "") or "").rpartition("/")[2]
        conversation = self._conversations.of(self.thread or f"openhands-{view.events[0].id}", model, DIALECT)
        with conversation.lock:
            seqs = self._followed(conversation, said)
            if view.unhandled_condensation_request:
                conversation.session.fold()
            try:
                request = conversation.session.prepare(
                    system="\n".join(part.text for part in head.to_llm_message().content) if head is not None else "",
                    tools=[tool.to_openai_tool() for tool in head.tools] if head is not None else [],
                    max_tokens=getattr(agent_llm, "max_output_tokens", None),
                )
            except CannotFit as error:
                logger("openhands").warning("the history goes out as it is: %s", error)
                return view
            return _condensation(said, seqs, request, int(head is not None)) or view

    def _followed(self, conversation: Conversation, said: Sequence[Said]) -> dict[int, int]:
        """Write what is new, and say which message of the thread each of these is, by its place."""
        thread = conversation.session.thread
        thread.catch_up()
        seqs = self._seqs.setdefault(thread.name, {})
        own = [each for each in said if not each.is_summary]
        if not seqs:
            seqs.update(zip((each.name for each in own), _found(thread, own), strict=False))
        for each in own:
            if each.name not in seqs:
                seqs[each.name] = conversation.session.append(each.raw)
        return {place: seqs[each.name] for place, each in enumerate(said) if not each.is_summary}

    def close(self) -> None:
        """Let go of the store."""
        if self._conversations is not None:
            self._conversations.close()


def _said(events: Any) -> Iterator[Said]:
    batch: list[Any] = []
    for event in events:
        if batch and not (isinstance(event, ActionEvent) and event.llm_response_id == batch[0].llm_response_id):
            yield _one(batch)
            batch = []
        if isinstance(event, ActionEvent):
            batch.append(event)
        else:
            yield _one([event])
    if batch:
        yield _one(batch)


def _one(events: Sequence[Any]) -> Said:
    (message,) = LLMConvertibleEvent.events_to_messages(list(events))
    return Said(tuple(events), encode(message.to_chat_dict(**_HOW)))


def _found(thread: Thread, said: Sequence[Said]) -> list[int]:
    """Which messages of the thread these are, as far as it has them: those at the end may be new.

    The thread knows everything, OpenHands what was not forgotten: the thread's newest is one of these, and seen from
    there back each of these stands somewhere in the thread.
    """
    known = [item.seq for item in thread.branch.items.items if item.kind == "message"]
    for many in range(len(said) if known else 0, 0, -1):
        found, at = list[int](), len(known)
        for each in reversed(said[:many]):
            at = next((place for place in range(at - 1, -1, -1) if thread.message(known[place]).raw == each.raw), -1)
            if at < 0 or (not found and at != len(known) - 1):
                break
            found.append(known[at])
        else:
            return found[::-1]
    return []


def _condensation(said: Sequence[Said], seqs: dict[int, int], request: Request, offset: int) -> Any:
    """What OpenHands is to forget so that it shows what the request shows; None where it does already."""
    shown = {part.seq for part in request.parts if part.kind == "message"}
    summaries = [part for part in request.parts if part.kind == "stand_in"]
    gone = [place for place, seq in seqs.items() if seq not in shown]
    if not gone or not summaries:
        return None
    older = [place for place, each in enumerate(said) if each.is_summary]
    forgotten = {*gone, *older}
    before = sum(len(each.events) for place, each in enumerate(said[: min(gone)]) if place not in forgotten)
    return Condensation(
        forgotten_event_ids={event.id for place in forgotten for event in said[place].events},
        summary="\n\n".join(find(DIALECT).parse(part.wire).text for part in summaries),
        summary_offset=offset + before,
        llm_response_id=_MADE,
    )
