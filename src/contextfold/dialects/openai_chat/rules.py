"""What the Chat Completions API rejects, one small rule each. It changes nothing: repairing is another step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from contextfold.dialects.neutral import is_blank
from contextfold.dialects.repairs import WireMessage, id_in, is_filled, read_messages
from contextfold.dialects.wire import Json, lone_surrogate
from contextfold.domain import Problem

from .endpoint import PLAIN, ChatFlavour
from .parse import ROLES

_ANSWERS = ("tool", "function")


class ChatCall(NamedTuple):
    """A tool call and its path."""

    path: str
    value: Json

    @property
    def id(self) -> str | None:
        return id_in(self.value, "id")


class CallBatch(NamedTuple):
    """A message with the answers right behind it; a request is a row of these."""

    opener: WireMessage | None
    answers: tuple[WireMessage, ...]


def batches(messages: list[WireMessage]) -> Iterator[CallBatch]:
    opener: WireMessage | None = None
    answers: list[WireMessage] = []
    for message in messages:
        if message.role in _ANSWERS:
            answers.append(message)
        else:
            yield CallBatch(opener, tuple(answers))
            opener, answers = message, []
    yield CallBatch(opener, tuple(answers))


def calls(message: WireMessage | None) -> list[ChatCall]:
    """The tool calls of an assistant's message, as far as they can be read."""
    listed = message.fields.get("tool_calls") if message is not None and message.role == "assistant" else None
    if message is None or not isinstance(listed, list | tuple):
        return []
    numbered = enumerate(listed)
    return [ChatCall(f"{message.path}.tool_calls[{at}]", call) for at, call in numbered if isinstance(call, Mapping)]


def _called_function(message: WireMessage | None) -> object:
    match message.fields.get("function_call") if message is not None else None:
        case {"name": name}:
            return name
        case _:
            return None


def unknown_role(messages: list[WireMessage]) -> Iterator[Problem]:
    for message in messages:
        if not isinstance(message.role, str) or message.role not in ROLES:
            yield Problem(f"{message.path}.role", "unknown-role", f"Use one of {', '.join(map(repr, ROLES))}.")


def unanswered_call(messages: list[WireMessage]) -> Iterator[Problem]:
    """Calls are followed by one tool message per id, before anything else."""
    for batch in batches(messages):
        answered = {id_in(answer.fields, "tool_call_id") for answer in batch.answers}
        for call in calls(batch.opener):
            if call.id not in answered:
                yield Problem(
                    call.path, "unanswered-call", f"Put a tool message for {call.id!r} right behind this message."
                )
        name = _called_function(batch.opener)
        if batch.opener is not None and name is not None and not batch.answers:
            path = f"{batch.opener.path}.function_call"
            yield Problem(path, "unanswered-call", f"Put a function message named {name!r} right behind this message.")


def orphan_result(messages: list[WireMessage]) -> Iterator[Problem]:
    """A tool message answers a call of the assistant's message before it."""
    for batch in batches(messages):
        called = {call.id for call in calls(batch.opener)}
        for answer in batch.answers:
            call = id_in(answer.fields, "tool_call_id")
            if answer.role == "tool" and call not in called:
                yield Problem(
                    answer.path, "orphan-result", f"Send the call {call!r} before it, or show the result as text."
                )
            name = answer.fields.get("name")
            if answer.role == "function" and name != _called_function(batch.opener):
                yield Problem(
                    answer.path, "orphan-result", f"Send the call of {name!r} before it, or show the result as text."
                )


def duplicate_result(messages: list[WireMessage]) -> Iterator[Problem]:
    """One tool message for each call."""
    for batch in batches(messages):
        seen: set[object] = set()
        for answer in batch.answers:
            call = id_in(answer.fields, "tool_call_id")
            if call is not None and call in seen:
                yield Problem(answer.path, "duplicate-result", f"Keep one result for {call!r}.")
            seen.add(call)


def duplicate_call(messages: list[WireMessage]) -> Iterator[Problem]:
    """Ids are unique in one message."""
    for message in messages:
        seen: set[object] = set()
        for call in calls(message):
            if call.id is not None and call.id in seen:
                yield Problem(
                    call.path, "duplicate-call", f"Give the call {call.id!r} an id of its own, and its result too."
                )
            seen.add(call.id)


def missing_id(messages: list[WireMessage]) -> Iterator[Problem]:
    """Calls and tool messages carry the id that pairs them."""
    for message in messages:
        for call in calls(message):
            if not is_filled(call.value.get("id")):
                yield Problem(
                    f"{call.path}.id", "missing-id", "Give the call an id, and its tool message the same one."
                )
        if message.role == "tool" and not is_filled(message.fields.get("tool_call_id")):
            yield Problem(f"{message.path}.tool_call_id", "missing-id", "Name the call that this result answers.")


def arguments_not_text(messages: list[WireMessage]) -> Iterator[Problem]:
    """Arguments are JSON text, not an object."""
    for message in messages:
        for call in calls(message):
            match call.value:
                case {"function": {"arguments": str()}} | {"custom": {"input": str()}}:
                    pass
                case _:
                    yield Problem(call.path, "arguments-not-text", "Send the arguments as a string of JSON.")


def empty_tool_calls(messages: list[WireMessage]) -> Iterator[Problem]:
    """A `tool_calls` that is there holds at least one call."""
    for message in messages:
        if "tool_calls" in message.fields and not message.fields["tool_calls"]:
            yield Problem(f"{message.path}.tool_calls", "empty-tool-calls", "Leave the empty tool_calls out.")


def null_content(messages: list[WireMessage]) -> Iterator[Problem]:
    """Content is null or absent only beside calls, a refusal or audio."""
    for message in messages:
        if message.content is None and not _stands_without_content(message):
            yield Problem(f"{message.path}.content", "null-content", "Give the message content, or leave it out.")


def empty_message(messages: list[WireMessage]) -> Iterator[Problem]:
    """A message says something; only a tool may answer nothing."""
    for message in messages:
        if message.role in _ANSWERS or message.content is None or _stands_without_content(message):
            continue
        blanks = [piece.kind == "text" and is_blank(str(piece.block.get("text") or "")) for piece in message.pieces]
        if all(blanks) if blanks else message.is_empty:
            yield Problem(message.path, "empty-message", "Leave the empty message out.")


def _stands_without_content(message: WireMessage) -> bool:
    fields = ("tool_calls", "function_call", "refusal", "audio")
    return message.role == "assistant" and any(message.fields.get(field) for field in fields)


RULES: tuple[Callable[[list[WireMessage]], Iterator[Problem]], ...] = (
    unknown_role,
    unanswered_call,
    orphan_result,
    duplicate_result,
    duplicate_call,
    missing_id,
    arguments_not_text,
    empty_tool_calls,
    null_content,
    empty_message,
)


def check(body: Mapping[str, Any], flavour: ChatFlavour = PLAIN) -> list[Problem]:
    """Everything the API, or a server of this flavour, would reject in this request."""
    messages, problems = read_messages(body)
    rules = (*RULES, *flavour_rules(flavour))
    problems += lone_surrogate(body)
    return problems + [problem for rule in rules for problem in rule(messages)]


_PREAMBLE = ("system", "developer")
Rule = Callable[[list[WireMessage]], Iterator[Problem]]


def missing_reasoning(messages: list[WireMessage]) -> Iterator[Problem]:
    """An assistant's message with calls carries the reasoning that led to them."""
    for message in messages:
        said = message.fields.get("reasoning_content")
        if message.role == "assistant" and message.fields.get("tool_calls") and not isinstance(said, str):
            yield Problem(message.path, "missing-reasoning", "Return the turn's reasoning_content with its calls.")


def alternation(messages: list[WireMessage]) -> Iterator[Problem]:
    """The user first, then strictly in turn; system messages in front; the answers of tools belong to their call."""
    before: object = ""
    for message in messages:
        if message.role in _PREAMBLE and before not in ("", *_PREAMBLE):
            yield Problem(message.path, "alternation", "Put system messages in front of all others.")
        elif message.role == "assistant" and before in ("", *_PREAMBLE):
            yield Problem(message.path, "alternation", "Put a message of the user's in front.")
        elif message.role == before and message.role in ("user", "assistant"):
            yield Problem(message.path, "alternation", f"Join it with the {before}'s message before it.")
        before = message.role


def no_tool_role(messages: list[WireMessage]) -> Iterator[Problem]:
    """Calls and results have no fields of their own."""
    for message in messages:
        calls = message.role == "assistant" and (
            message.fields.get("tool_calls") or message.fields.get("function_call")
        )
        if message.role in ("tool", "function") or calls:
            yield Problem(message.path, "no-tool-role", "Tell the call or the result in words.")


def flavour_rules(flavour: ChatFlavour) -> tuple[Rule, ...]:
    """The rules that hold for this flavour only."""
    demands = (
        (flavour.reasoning, missing_reasoning),
        (flavour.alternates, alternation),
        (not flavour.tool_role, no_tool_role),
    )
    return tuple(rule for is_demanded, rule in demands if is_demanded)
