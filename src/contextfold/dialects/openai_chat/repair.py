"""Making a request that Chat Completions takes out of one that it rejects.

A tool message that stands before the assistant speaks again is moved behind its call; a later one stays where it
arrived, as labelled text of the user's side. Nothing is touched in a request that is sound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold.dialects.neutral import is_blank
from contextfold.dialects.repairs import (
    SPEAKERS,
    Body,
    FreshIds,
    Repaired,
    RepairNotes,
    id_in,
    late_words,
    matched,
    mended,
    words_of,
)
from contextfold.domain import INTERRUPTED, encode

from .endpoint import PLAIN, ChatFlavour
from .parse import ROLES
from .rules import check
from .suit import suited

_ANSWERS = ("tool", "function")
_STANDS = ("tool_calls", "function_call", "refusal", "audio")

Placed = tuple[str, dict[str, Any]]  # where a message stood, and the message


def repair(body: Mapping[str, Any], flavour: ChatFlavour = PLAIN) -> Repaired:
    """The body as the API takes it, with the list of what was done. Repairing twice does nothing more."""

    def mend(copy: Body, notes: RepairNotes) -> None:
        if not isinstance(copy.get("messages"), list):
            return
        read: list[Placed] = []
        for index, message in enumerate(copy["messages"]):
            path = f"messages[{index}]"
            if isinstance(message, dict):
                read.append((path, message))
            elif isinstance(message, str) and message.strip():
                notes.note(path, "malformed", "Bare words became a message of the user's.")
                read.append((path, {"role": "user", "content": message}))
            else:
                notes.note(path, "malformed", "Something that is no message was left out.")
        sound = [_sound(path, message, notes) for path, message in read]
        placed = _paired([each for each in sound if each is not None], notes)
        copy["messages"] = suited([message for _, message in placed], flavour, notes)

    return mended(body, (mend,), lambda each: check(each, flavour))


def _sound(path: str, message: dict[str, Any], notes: RepairNotes) -> Placed | None:
    """One message by itself: a known role, readable content, calls as the API writes them. None if it says nothing."""
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        calls = any(message.get(field) for field in ("tool_calls", "function_call", "reasoning_content"))
        guess = "assistant" if calls else "tool" if message.get("tool_call_id") else "user"
        message["role"] = SPEAKERS.get(role, guess) if isinstance(role, str) and not calls else guess
        notes.note(f"{path}.role", "unknown-role", f"The role {role!r} became {message['role']!r}.")
    _readable(path, message, notes)
    if "tool_calls" in message and (not message["tool_calls"] or not isinstance(message["tool_calls"], list)):
        del message["tool_calls"]
        notes.note(f"{path}.tool_calls", "empty-tool-calls", "The empty tool_calls were left out.")
    for index, call in enumerate(message.get("tool_calls", ())):
        if isinstance(call, dict):
            _spelled(f"{path}.tool_calls[{index}]", call, notes)
    if message["role"] in _ANSWERS:
        return path, message
    return _saying(path, message, notes)


def _readable(path: str, message: dict[str, Any], notes: RepairNotes) -> None:
    content = message.get("content")
    if content is None and message["role"] in _ANSWERS:
        notes.note(f"{path}.content", "null-content", "The missing answer became an empty one.")
        message["content"] = ""
    elif isinstance(content, list) and not all(isinstance(part, dict) for part in content):
        notes.note(f"{path}.content", "malformed", "Bare words became parts of the content.")
        telling = [part for part in content if isinstance(part, dict) or (isinstance(part, str) and part.strip())]
        message["content"] = [part if isinstance(part, dict) else {"type": "text", "text": part} for part in telling]
    elif content is not None and not isinstance(content, str | list):
        notes.note(f"{path}.content", "malformed", "The content was written as words.")
        message["content"] = words_of([content])


def _spelled(path: str, call: dict[str, Any], notes: RepairNotes) -> None:
    """Arguments as text; a call that names no function gets a name that says so."""
    match call:
        case {"function": {"arguments": str()}} | {"custom": {"input": str()}}:
            return
        case {"function": dict(function)}:
            given = function.get("arguments")
            function["arguments"] = "{}" if given is None else encode(given).decode()
        case {"custom": dict(custom)}:
            custom["input"] = words_of(custom.get("input"))
        case _:
            call["type"], call["function"] = "function", {"name": "unknown_tool", "arguments": encode(call).decode()}
    notes.note(path, "arguments-not-text", "The arguments were written as a string of JSON.")


def _saying(path: str, message: dict[str, Any], notes: RepairNotes) -> Placed | None:
    """The message, unless it says nothing."""
    if message["role"] == "assistant" and any(message.get(field) for field in _STANDS):
        return path, message
    content = message.get("content")
    if content is None:
        notes.note(path, "null-content", "The message without content was left out.")
        return None
    texts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    if all(
        isinstance(part, dict) and part.get("type") == "text" and is_blank(str(part.get("text") or ""))
        for part in texts
    ):
        notes.note(path, "empty-message", "The empty message was left out.")
        return None
    return path, message


def _paired(placed: list[Placed], notes: RepairNotes) -> list[Placed]:
    """Every call followed by its answers; answers that nobody waits for as text where they arrived."""
    taken = {str(call.get("id")) for _, message in placed for call in _calls(message)}
    fresh = FreshIds(taken | {str(message.get("tool_call_id")) for _, message in placed})
    done: list[Placed] = []
    at = 0
    while at < len(placed):
        opener = placed[at]
        is_speech = opener[1]["role"] == "assistant"
        stop = at + is_speech
        while stop < len(placed) and placed[stop][1]["role"] != "assistant":
            stop += 1
        done += [opener] if is_speech else []
        done += _answered(opener if is_speech else None, placed[at + is_speech : stop], fresh, notes)
        at = stop
    return done


def _calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = message.get("tool_calls") if message.get("role") == "assistant" else None
    return [call for call in listed or () if isinstance(call, dict)]


def _answered(opener: Placed | None, stretch: list[Placed], fresh: FreshIds, notes: RepairNotes) -> list[Placed]:
    path, message = opener or ("", {})
    olds = [id_in(call, "id") for call in _calls(message)]
    news = _own_ids(path, message, fresh, notes)
    found = [each for each in stretch if each[1]["role"] == "tool"]
    places = matched(olds, [id_in(answer, "tool_call_id") for _, answer in found])
    answers: list[Placed] = []
    others: list[Placed] = []
    place_of = {id(answer): place for (_, answer), place in zip(found, places, strict=True)}
    function = message.get("function_call")
    name = function.get("name") if isinstance(function, dict) else None
    for where, each in stretch:
        if each["role"] == "function" and name is not None and each.get("name") == name and _no_function(answers):
            answers.append(_in_place(where, each, others, notes))
        elif each["role"] in _ANSWERS and place_of.get(id(each)) is None:
            others.append((where, _late(where, each, olds, notes)))
        elif each["role"] == "tool":
            call = news[place_of[id(each)] or 0]
            if each.get("tool_call_id") != call:
                each["tool_call_id"] = call
                notes.note(f"{where}.tool_call_id", "missing-id", f"The answer was given to the call {call!r}.")
            answers.append(_in_place(where, each, others, notes))
        else:
            others.append((where, each))
    for place, new in enumerate(news):
        if place not in places:
            notes.note(path, "unanswered-call", f"The call {new!r} got the result of an interrupted one.")
            answers.append((path, {"role": "tool", "tool_call_id": new, "content": INTERRUPTED}))
    if name is not None and _no_function(answers) and not answers:
        notes.note(path, "unanswered-call", f"The call of {name!r} got the result of an interrupted one.")
        answers.append((path, {"role": "function", "name": name, "content": INTERRUPTED}))
    return answers + others


def _no_function(answers: list[Placed]) -> bool:
    return not any(answer["role"] == "function" for _, answer in answers)


def _in_place(where: str, answer: dict[str, Any], others: list[Placed], notes: RepairNotes) -> Placed:
    if others:
        notes.note(where, "unanswered-call", "The answer was moved right behind its call.")
    return where, answer


def _own_ids(path: str, message: dict[str, Any], fresh: FreshIds, notes: RepairNotes) -> list[str]:
    """The ids of a message's calls, made sound and unlike each other."""
    ids: list[str] = []
    for index, call in enumerate(_calls(message)):
        old = call.get("id")
        if not isinstance(old, str) or not old or old in ids:
            call["id"] = fresh.like(old)
            rule = "duplicate-call" if isinstance(old, str) and old else "missing-id"
            notes.note(f"{path}.tool_calls[{index}]", rule, f"The call was given the id {call['id']!r}.")
        ids.append(call["id"])
    return ids


def _late(where: str, answer: dict[str, Any], olds: list[str | None], notes: RepairNotes) -> dict[str, Any]:
    """An answer as words of the user's side; what is no text in it follows."""
    call = id_in(answer, "tool_call_id") if answer["role"] == "tool" else answer.get("name")
    notes.note(where, "duplicate-result" if call in olds else "orphan-result", "The answer became labelled text.")
    content = answer.get("content")
    parts = content if isinstance(content, list) else []
    media = [part for part in parts if isinstance(part, dict) and part.get("type") not in ("text", "refusal")]
    words = late_words(call, words_of([part for part in parts if part not in media] if parts else content))
    if not media:
        return {"role": "user", "content": words}
    return {"role": "user", "content": [{"type": "text", "text": words}, *media]}
