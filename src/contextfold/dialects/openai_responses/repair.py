"""Making a request that the Responses API takes out of one that it rejects.

An output that answers nothing becomes labelled text of the user's, a call that nobody answered gets the words of an
interrupted one. Reasoning is sealed, so it stays whole with the item it led to, or is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold.dialects.repairs import (
    SPEAKERS,
    Body,
    FreshIds,
    Repaired,
    RepairNotes,
    is_filled,
    late_words,
    matched,
    mended,
    words_of,
)
from contextfold.domain import INTERRUPTED, encode

from .parse import OURS, ROLES, is_call, is_output, kind_of
from .render import CHAINS
from .rules import PREFIXES, check, is_users


def repair(body: Mapping[str, Any], is_adjacent: bool = False) -> Repaired:
    """The body as the API takes it, with the list of what was done. Repairing twice does nothing more."""

    def mend(copy: Body, notes: RepairNotes) -> None:
        if all(copy.get(name) for name in CHAINS):
            del copy["previous_response_id"]
            notes.note("previous_response_id", "two-states", "The conversation alone was kept.")
        if not isinstance(copy.get("input"), list):
            return
        placed = sound(copy["input"], notes)
        placed = _named(placed, notes)
        placed = _paired(placed, any(copy.get(name) for name in CHAINS), notes)
        placed = _adjacent(placed, notes) if is_adjacent else placed
        # Without reasoning whose item is gone; seen from the end, where leaving one out may uncover another.
        kept: list[dict[str, Any]] = []
        for path, item in reversed(placed):
            if kind_of(item) == "reasoning" and (not kept or is_users(kept[-1])):
                notes.note(
                    path, "reasoning-without-successor", "The reasoning without the item it led to was left out."
                )
            else:
                kept.append(item)
        copy["input"] = kept[::-1]

    return mended(body, (mend,), lambda each: check(each, is_adjacent))


def _named(placed: list[Placed], notes: RepairNotes) -> list[Placed]:
    """Items under ids of their kind, each once; an id that is not theirs is left out."""
    seen: set[str] = set()
    for path, item in placed:
        own, prefix = item.get("id"), PREFIXES.get(kind_of(item))
        if prefix is None or own is None:
            continue
        is_theirs = isinstance(own, str) and own.startswith(prefix)
        if not is_theirs or own in seen:
            del item["id"]
            rule = "duplicate-id" if is_theirs else "wrong-id"
            notes.note(f"{path}.id", rule, f"The id {own!r} was left out.")
        elif isinstance(own, str):
            seen.add(own)
    return placed


def _pairs(item: Mapping[str, Any]) -> bool:
    """Whether it is a call that pairs by an id."""
    kind = kind_of(item)
    return is_call(kind) and (kind in OURS or "call_id" in item)


def _id(item: Mapping[str, Any]) -> str | None:
    value = item.get("call_id")
    if value is None and kind_of(item) == "local_shell_call_output":
        value = item.get("id")
    return value if value is None or isinstance(value, str) else repr(value)


def _paired(placed: list[Placed], is_chained: bool, notes: RepairNotes) -> list[Placed]:
    """Every call with its own id and one output; outputs that answer nothing as text."""
    calls = [each for each in placed if _pairs(each[1])]
    outputs = [each for each in placed if is_output(kind_of(each[1]))]
    fresh = FreshIds({str(item.get("call_id")) for _, item in calls + outputs})
    olds = [_id(item) for _, item in calls]
    _own_ids(calls, fresh, notes)
    places = matched(olds, [_id(item) for _, item in outputs])
    texts: dict[int, Placed] = {}
    seen: set[str | None] = set()
    for (path, item), place in zip(outputs, places, strict=True):
        if place is not None:
            call = str(calls[place][1]["call_id"])
            if _id(item) != call:
                item["call_id"] = call
                notes.note(f"{path}.call_id", "missing-call-id", f"The output was given to the call {call!r}.")
        elif not is_chained or _id(item) in seen or not _id(item):
            texts[id(item)] = path, _late(path, item, olds, notes)
        seen.add(_id(item))
    open_calls = {id(item): (path, item) for at, (path, item) in enumerate(calls) if at not in places}
    settled = [texts.get(id(item), (path, item)) for path, item in placed]
    return _completed(settled, open_calls, notes)


def _own_ids(calls: list[Placed], fresh: FreshIds, notes: RepairNotes) -> None:
    seen: set[object] = set()
    for path, item in calls:
        old = item.get("call_id")
        if not isinstance(old, str) or not old or old in seen:
            item["call_id"] = fresh.like(old)
            rule = "duplicate-call" if isinstance(old, str) and old else "missing-call-id"
            notes.note(path, rule, f"The call was given the call_id {item['call_id']!r}.")
        seen.add(item["call_id"])


def _late(path: str, item: Mapping[str, Any], olds: list[str | None], notes: RepairNotes) -> dict[str, Any]:
    rule = "duplicate-output" if _id(item) in olds else "orphan-output"
    notes.note(path, rule, "The output became labelled text of the user's.")
    output = item.get("output")
    parts = output if isinstance(output, list) else []
    media = [part for part in parts if isinstance(part, dict) and part.get("type") in ("input_image", "input_file")]
    words = late_words(_id(item), words_of([part for part in parts if part not in media] if parts else output))
    return {"role": "user", "content": [{"type": "input_text", "text": words}, *media]}


def _completed(placed: list[Placed], open_calls: dict[int, Placed], notes: RepairNotes) -> list[Placed]:
    """An output behind the run of calls in which an open one stands."""
    done: list[Placed] = []
    waiting: list[Placed] = []
    for path, item in placed:
        if waiting and not is_call(kind_of(item)):
            done += waiting
            waiting = []
        if id(item) not in open_calls:
            done.append((path, item))
        elif kind_of(item) in OURS:
            notes.note(path, "unanswered-call", f"The call {item['call_id']!r} got the result of an interrupted one.")
            output = {"type": f"{kind_of(item)}_output", "call_id": item["call_id"], "output": INTERRUPTED}
            done.append((path, item))
            waiting.append((path, output))
        else:
            notes.note(path, "unanswered-call", f"The open {kind_of(item)} was told in words.")
            done.append((path, message_of("assistant", encode(item).decode())))
    return done + waiting


def _adjacent(placed: list[Placed], notes: RepairNotes) -> list[Placed]:
    """Outputs right behind the run of calls that they answer, where the server is strict."""
    by_call = {_id(item): (path, item) for path, item in placed if is_output(kind_of(item))}
    done: list[Placed] = []
    waiting: list[Placed] = []
    for path, item in placed:
        if is_output(kind_of(item)) and any(_id(item) == _id(call) for _, call in placed if _pairs(call)):
            continue
        if waiting and not _pairs(item):
            done += waiting
            waiting = []
        done.append((path, item))
        if _pairs(item) and _id(item) in by_call:
            waiting.append(by_call[_id(item)])
    done += waiting
    for (path, item), (_, before) in zip(done, placed, strict=True):
        if item is not before and is_output(kind_of(item)):
            notes.note(path, "apart", "The output was moved right behind its call.")
    return done


Placed = tuple[str, dict[str, Any]]  # where an item stood, and the item

_TEXTS = ("text", "input_text", "output_text", "refusal")
_INPUTS = ("input_text", "input_image", "input_file", "input_audio")
_OUTPUTS = ("output_text", "refusal")
_NEED_TEXT = {"function_call": "arguments", "custom_tool_call": "input"}


def message_of(role: str, words: str) -> dict[str, Any]:
    """Words as a message."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


def sound(items: list[Any], notes: RepairNotes) -> list[Placed]:
    """Every item in a form of its own; what says nothing is left out."""
    done: list[Placed] = []
    for index, item in enumerate(items):
        path = f"input[{index}]"
        found = _read(path, item, notes)
        if found is None:
            continue
        if kind_of(found) == "message":
            done += [(path, each) for each in _message(path, found, notes)]
            continue
        field = _NEED_TEXT.get(kind_of(found))
        if field is not None:
            name, given = found.get("name"), found.get(field)
            if not is_filled(name) or not isinstance(given, str):
                found["name"] = name if is_filled(name) else "unknown_tool"
                found[field] = given if isinstance(given, str) else encode({} if given is None else given).decode()
                notes.note(path, "malformed-call", "The call got a name, and its arguments as text.")
        if kind_of(found) in ("function_call_output", "custom_tool_call_output"):
            output = found.get("output")
            if not isinstance(output, str | list):
                found["output"] = "" if output is None else encode(output).decode()
                notes.note(f"{path}.output", "malformed-output", "The output was written as text.")
        done.append((path, found))
    return done


def _read(path: str, item: Any, notes: RepairNotes) -> dict[str, Any] | None:
    if isinstance(item, dict) and kind_of(item):
        return item
    if item is None or item in ("", [], {}):
        notes.note(path, "malformed", "Something that is no item was left out.")
        return None
    if isinstance(item, dict) and "call_id" in item:
        notes.note(path, "malformed", "The item was given its type.")
        item.pop("type", None)
        return {"type": "function_call_output" if "output" in item else "function_call", **item}
    notes.note(path, "malformed", "Something that is no item became a message of the user's.")
    words = item if isinstance(item, str) else encode(item).decode()
    return message_of("user", words)


def _message(path: str, item: dict[str, Any], notes: RepairNotes) -> list[dict[str, Any]]:
    role = item.get("role")
    if not isinstance(role, str) or role not in ROLES:
        item["role"] = SPEAKERS.get(role, "user") if isinstance(role, str) else "user"
        notes.note(f"{path}.role", "unknown-role", f"The role {role!r} became {item['role']!r}.")
    content = item.get("content")
    if isinstance(content, dict) or not isinstance(content, str | list | None):
        notes.note(f"{path}.content", "malformed", "The content became a list of parts.")
        content = item["content"] = [content]
    if not content and not isinstance(item.get("id"), str):
        notes.note(path, "empty-message", "The empty message was left out.")
        return []
    if not isinstance(content, list):
        return [item]
    # Parts under the names of their side; what an assistant cannot say is shown on the user's side.
    is_assistants = item["role"] == "assistant"
    own: list[Any] = []
    others: list[Any] = []
    for index, part in enumerate(content):
        new = _part(part, is_assistants)
        if new is not part:
            notes.note(f"{path}.content[{index}]", "misplaced-part", "The part was given the name of its side.")
        (own if not is_assistants or new["type"] in _OUTPUTS else others).append(new)
    item["content"] = own
    beside = [{"type": "message", "role": "user", "content": others}] if others else []
    return [*([item] if own or isinstance(item.get("id"), str) else []), *beside]


def _part(part: Any, is_assistants: bool) -> dict[str, Any]:
    kind = part.get("type") if isinstance(part, dict) else None
    if isinstance(part, dict) and kind in (_OUTPUTS if is_assistants else _INPUTS):
        return part
    if isinstance(part, dict) and is_assistants and kind in _INPUTS and kind != "input_text":
        return dict(part)
    if isinstance(part, dict) and kind == "image_url":
        address = part.get("image_url")
        return {"type": "input_image", "image_url": address.get("url") if isinstance(address, dict) else address}
    text = (part.get("text") or part.get("refusal")) if isinstance(part, dict) and kind in _TEXTS else part
    words = text if isinstance(text, str) else encode(text).decode()
    return {"type": "output_text" if is_assistants else "input_text", "text": words}
