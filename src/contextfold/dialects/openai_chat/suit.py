"""Messages made to suit a flavour: reasoning where it is demanded, speakers in turn, calls told in words.

Works on the few messages that do not suit already; the rest pass as they are. It refuses to invent reasoning: where
none was kept, it says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contextfold.deferred import expression
from contextfold.dialects.neutral import LABEL, is_blank
from contextfold.dialects.repairs import RepairNotes, opening
from contextfold.dialects.wire import assembled, fields, put
from contextfold.domain import ViewItem, decode, encode

from .endpoint import ChatFlavour

Message = dict[str, Any]

TAKING_TURNS = ("user", "assistant")
PREAMBLE = ("system", "developer")


def suited(messages: list[Message], flavour: ChatFlavour, notes: RepairNotes | None = None) -> list[Message]:
    """The messages as the flavour takes them."""
    told = notes or RepairNotes()
    if not flavour.tool_role:
        messages = _each(messages, in_words, "no-tool-role", "The call or result was told in words.", told)
    if flavour.reasoning:
        given = "The turn was given reasoning_content."
        messages = _each(messages, with_reasoning, "missing-reasoning", given, told)
    if not flavour.alternates:
        return messages
    done: list[Message] = []
    for at, message in enumerate(messages):
        path = f"messages[{at}]"
        if message.get("role") in PREAMBLE and any(each.get("role") not in PREAMBLE for each in done):
            told.note(path, "alternation", "The system message became labelled text of the user's.")
            message = as_users(message)
        if message.get("role") == "assistant" and all(each.get("role") in PREAMBLE for each in done):
            told.note(path, "alternation", "A message of the user's was put in front.")
            done.append({"role": "user", "content": opening(message.get("content"))})
        if done and is_same(done[-1].get("role"), message.get("role")):
            told.note(path, "alternation", "The message was joined with the one before it.")
            done[-1] = merged(done[-1], message)
        else:
            done.append(message)
    return done


def _each(
    messages: list[Message], change: Callable[[Message], Message], rule: str, done: str, notes: RepairNotes
) -> list[Message]:
    """Every message through a change, with a note for each that it made another."""
    changed = list(map(change, messages))
    for at, (old, new) in enumerate(zip(messages, changed, strict=True)):
        if new is not old:
            notes.note(f"messages[{at}]", rule, done)
    return changed


def with_reasoning(message: Message) -> Message:
    """The message, and where it is an assistant's its calls come with reasoning, its own if there is any.

    The words differ from turn to turn: models have been seen to repeat a placeholder that is always the same.
    """
    if message.get("role") != "assistant" or not message.get("tool_calls"):
        return message
    if isinstance(message.get("reasoning_content"), str):
        return message
    own = message.get("reasoning")
    calls = [call for call in message["tool_calls"] if isinstance(call, dict)]
    named = ", ".join(f"{_function(call).get('name')} {call.get('id')}" for call in calls)
    words = own if isinstance(own, str) and own else f"[Reasoning not kept. It led to {named}.]"
    return {**message, "reasoning_content": words}


def _function(call: Message) -> Message:
    found = call.get("function") or call.get("custom")
    return found if isinstance(found, dict) else {}


def in_words(message: Message) -> Message:
    """Calls and results as words, for servers that have no fields for them."""
    role = message.get("role")
    if role in ("tool", "function"):
        label = f"[Result of tool call {message.get('tool_call_id') or message.get('name')}]"
        content = message.get("content")
        if isinstance(content, list):
            return {"role": "user", "content": [{"type": "text", "text": label}, *content]}
        return {"role": "user", "content": f"{label}\n{content}" if content else label}
    if role != "assistant" or not (message.get("tool_calls") or message.get("function_call")):
        return message
    rest = {key: value for key, value in message.items() if key not in ("tool_calls", "function_call")}
    given = message.get("tool_calls")
    calls = [call for call in given if isinstance(call, dict)] if isinstance(given, list) else []
    if message.get("function_call"):
        calls.append({"function": message["function_call"]})
    told = []
    for call in calls:
        function = _function(call)
        spelled = f"{function.get('name')} {function.get('arguments') or function.get('input') or ''}"
        told.append(f"[Tool call {call.get('id') or ''}: {spelled}]")
    return {**rest, "content": _joined(message.get("content"), "\n".join(told), "\n")}


def is_same(before: object, role: object) -> bool:
    return before == role and role in TAKING_TURNS


def as_users(message: Message) -> Message:
    """A system message as labelled text of the user's side."""
    return {"role": "user", "content": _joined(LABEL.strip(), message.get("content"), "\n")}


def merged(first: Message, second: Message) -> Message:
    """Two messages of one speaker as one: contents behind each other, calls and reasoning too."""
    both = {**first, **{key: value for key, value in second.items() if key not in first}}
    both["content"] = _joined(first.get("content"), second.get("content"), "\n\n")
    for field in ("reasoning_content", "reasoning"):
        if isinstance(first.get(field), str) and isinstance(second.get(field), str):
            both[field] = "\n\n".join(words for words in (first[field], second[field]) if words)
    if isinstance(first.get("tool_calls"), list) and isinstance(second.get("tool_calls"), list):
        both["tool_calls"] = [*first["tool_calls"], *second["tool_calls"]]
    return both


def _joined(first: object, second: object, by: str) -> Any:
    """Two contents as one: words as words, parts as parts."""
    if is_nothing(first) or is_nothing(second):
        return second if is_nothing(first) else first
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}{by}{second}"
    return [*_parts(first), *_parts(second)]


def is_nothing(content: object) -> bool:
    return content is None or content == [] or (isinstance(content, str) and is_blank(content))


def _parts(content: object) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def seasoned(chunk: bytes, item: ViewItem, flavour: ChatFlavour) -> bytes:
    """The chunk as the flavour takes it; asked of every item, so those without calls and results pass at once."""
    if flavour.tool_role and not flavour.reasoning:
        return chunk
    calls, results = item.shape.calls, item.shape.results
    if not chunk or not (calls or results):
        return chunk
    if flavour.tool_role:
        if not calls or item.shape.role != "assistant":
            return chunk
        message = decode(chunk)
        new = with_reasoning(message)
        if new is message:
            return chunk
        return assembled({**fields(chunk), "reasoning_content": put(new["reasoning_content"])})
    done: list[Message] = []
    for message in map(in_words, _messages(chunk)):
        if flavour.alternates and done and is_same(done[-1].get("role"), message.get("role")):
            done[-1] = merged(
                done[-1], message
            )  # several results of one item are one message where speakers take turns
        else:
            done.append(message)
    return b",".join(map(encode, done))


# A message nearly always names its speaker first; the others are decoded.
_FIRST = expression(rb'\A\s*+\{\s*+"role"\s*+:\s*+"(\w++)"')
_LAST = b'},{"role":"user"'  # what we write behind results: in a string the quotes would be escaped


def in_turn(chunks: list[bytes]) -> list[bytes]:
    """The chunks with neighbours of one speaker joined, system messages in front only, and the user first."""
    done: list[bytes] = []
    last = ""
    for chunk in chunks:
        found = _FIRST.match(chunk)
        role = found[1].decode() if found else str(_messages(chunk)[0].get("role"))
        end = "user" if role == "tool" and _LAST in chunk else role  # who speaks last in the chunk
        if role in PREAMBLE and last not in ("", *PREAMBLE):
            chunk, role, end = encode(as_users(_messages(chunk)[0])), "user", "user"
        if role == "assistant" and last in ("", *PREAMBLE):
            done.append(encode({"role": "user", "content": opening(_messages(chunk)[0].get("content"))}))
        if is_same(last, role):
            *rest, first = _messages(done[-1])
            second, *others = _messages(chunk)
            done[-1] = b",".join(map(encode, (*rest, merged(first, second), *others)))
        else:
            done.append(chunk)
        last = end
    return done


def _messages(chunk: bytes) -> list[Message]:
    found: list[Message] = decode(b"[" + chunk + b"]")
    return found
