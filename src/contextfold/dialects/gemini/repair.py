"""Making a request that the Gemini API takes out of one that it rejects.

Each content is first made sound by itself: a known role, whole parts, each with its own side. Parts are moved whole and
never joined: a thought signature belongs to exactly its part. A call that lost its signature gets the one that the
API's documentation gives for such calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from contextfold.dialects.neutral import LABEL, is_blank
from contextfold.dialects.repairs import (
    GO_ON,
    SPEAKERS,
    Body,
    FreshIds,
    Repaired,
    RepairNotes,
    late_words,
    matched,
    mended,
    opening,
)
from contextfold.dialects.repairs import words_of as words_in
from contextfold.domain import INTERRUPTED, decode, encode
from contextfold.errors import BadMessage

from .parse import KINDS, call_id, field_of, held, kind_of, signature
from .parse import field as field_in
from .render import UNSIGNED
from .rules import check, loop_start

_HOMES = {"functionCall": "model", "functionResponse": "user"}


class HeldParts(Struct):
    """A content on the bench: who speaks, its parts, and where it stood."""

    path: str
    role: Any
    parts: list[dict[str, Any]]
    source: dict[str, Any] = field(default_factory=dict)
    is_touched: bool = False

    def touch(self, parts: list[dict[str, Any]]) -> None:
        self.parts, self.is_touched = parts, True

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [part for part in self.parts if kind_of(part) == kind]

    def written(self) -> dict[str, Any]:
        return {**self.source, "role": self.role, "parts": self.parts}


def sound(contents: list[Any], body: dict[str, Any], notes: RepairNotes) -> list[HeldParts]:
    """Every content in a form the API reads; what says nothing is left out."""
    done: list[HeldParts] = []
    for index, content in enumerate(contents):
        path = f"contents[{index}]"
        held_one = _read(path, content, notes)
        if held_one is None:
            continue
        role = held_one.role
        if role not in ("user", "model", "function", None):
            named = SPEAKERS.get(role, role) if isinstance(role, str) else None
            new = {"assistant": "model", "user": "user", "system": "system"}.get(str(named))
            held_one.role = new or ("model" if held_one.of("functionCall") else "user")
            notes.note(f"{path}.role", "unknown-role", f"The role {role!r} became {held_one.role!r}.")
        _clean(held_one, notes)
        if not held_one.parts:
            notes.note(path, "empty-content", "The empty content was left out.")
        elif held_one.role == "system":
            done += _system(held_one, body, not done, notes)
        else:
            done += _at_home(held_one, notes)
    return done


def _read(path: str, content: Any, notes: RepairNotes) -> HeldParts | None:
    if isinstance(content, str) and content.strip():
        notes.note(path, "malformed", "Bare words became a content of the user's.")
        return HeldParts(path, "user", [{"text": content}], {}, is_touched=True)
    if not isinstance(content, dict):
        notes.note(path, "malformed", "Something that is no content was left out.")
        return None
    parts = content.get("parts")
    if parts is None:
        parts = content.get("content", [])  # how the other dialects call it
    listed = parts if isinstance(parts, list) else [parts]
    telling = [part for part in listed if isinstance(part, dict) or (isinstance(part, str) and part.strip())]
    read = [part if isinstance(part, dict) else {"text": part} for part in telling]
    if parts is not listed or any(a is not b for a, b in zip(read, listed, strict=False)) or len(read) != len(listed):
        notes.note(f"{path}.parts", "malformed", "The parts became a list of objects.")
    source = {name: value for name, value in content.items() if name != "content"}
    return HeldParts(path, content.get("role"), read, source)


def _clean(content: HeldParts, notes: RepairNotes) -> None:
    """Parts that are one thing each, none of them empty, calls and responses as objects."""
    parts: list[dict[str, Any]] = []
    for index, part in enumerate(content.parts):
        path = f"{content.path}.parts[{index}]"
        things = [part]
        kinds = [name for name, value in part.items() if name in KINDS and value is not None]
        if len({KINDS[name] for name in kinds}) > 1:
            notes.note(path, "two-in-a-part", "The part was split into one for each thing it holds.")
            beside = {name: value for name, value in part.items() if name not in KINDS}
            kinds.sort(key=lambda name: KINDS[name] in _HOMES)
            # The signature goes with the call, as it came for that.
            things = [{name: part[name], **(beside if name == kinds[-1] else {})} for name in kinds]
        for each in things:
            text = each.get("text")
            is_words = kind_of(each) == "text"
            if not each or (is_words and is_blank(str(text or "")) and not signature(each)):
                notes.note(path, "empty-part", "The empty part was left out.")
            elif is_words and not isinstance(text, str):
                notes.note(path, "empty-part", "What stood in place of words was written as words.")
                parts.append({**each, "text": encode(text).decode()})
            else:
                parts.append(_sound_call(path, each, notes))
    content.parts = parts


def _sound_call(path: str, part: dict[str, Any], notes: RepairNotes) -> dict[str, Any]:
    kind = kind_of(part)
    if kind not in _HOMES:
        return part
    value = held(part, kind)
    inner = value if isinstance(value, dict) else {}
    name = "args" if kind == "functionCall" else "response"
    given = inner.get(name)
    optional = kind == "functionCall" and given is None
    if isinstance(inner.get("name"), str) and inner["name"] and (isinstance(given, dict) or optional):
        return part
    notes.note(path, "malformed-call", f"It got a name, and an object as {name!r}.")
    sound_name = inner["name"] if isinstance(inner.get("name"), str) and inner["name"] else "unknown_tool"
    return {**part, field_of(part, kind): {**inner, "name": sound_name, name: _object(given, name)}}


def _object(given: Any, name: str) -> dict[str, Any]:
    if isinstance(given, dict):
        return given
    if isinstance(given, str) and name == "args":
        try:
            read = decode(given)
        except BadMessage:
            read = None
        if isinstance(read, dict):
            return read
    if given is None or given == "":
        return {}
    return {"arguments" if name == "args" else "output": given}


def _at_home(content: HeldParts, notes: RepairNotes) -> list[HeldParts]:
    """A content that holds calls or responses of the other side is split, so that each stands with its own."""
    own = "model" if content.role == "model" else "user"
    runs: list[HeldParts] = []
    for index, part in enumerate(content.parts):
        home = _HOMES.get(kind_of(part), own)
        if home != own:
            notes.note(f"{content.path}.parts[{index}]", "misplaced-part", f"It went into a content of role {home!r}.")
        if runs and runs[-1].role == home:
            runs[-1].parts.append(part)
        else:
            runs.append(HeldParts(content.path, home, [part], {}, is_touched=True))
    return [content] if len(runs) == 1 and runs[0].role == own else runs


def _system(content: HeldParts, body: dict[str, Any], is_first: bool, notes: RepairNotes) -> list[HeldParts]:
    """A first system content goes to the top of the request, a later one becomes labelled text of the user's."""
    if is_first:
        notes.note(content.path, "unknown-role", "The system content went to the system instruction.")
        name = "system_instruction" if "system_instruction" in body else "systemInstruction"
        before = body.get(name)
        earlier = before.get("parts", []) if isinstance(before, dict) else [{"text": before}] if before else []
        body[name] = {"parts": [*earlier, *content.parts]}
        return []
    words = field_in(content.parts[0], "text")
    first = {**content.parts[0], "text": f"{LABEL}{words}"} if isinstance(words, str) else content.parts[0]
    return [HeldParts(content.path, "user", [first, *content.parts[1:]], {}, is_touched=True)]


_Part = dict[str, Any]


def repair(body: Mapping[str, Any], is_signed: bool = False) -> Repaired:
    """The body as the API takes it, with the list of what was done. Repairing twice does nothing more."""

    def mend(copy: Body, notes: RepairNotes) -> None:
        given = copy.get("contents")
        if isinstance(given, str | dict) and given:
            notes.note("contents", "malformed", "The single content became a list.")
            given = [given]
        if not isinstance(given, list):
            return
        contents = _paired(sound(given, copy, notes), notes)
        # The first call of each step since the user spoke carries a signature.
        spoke = loop_start([(content.role == "model", content.parts) for content in contents])
        for content in contents[spoke:] if is_signed else ():
            calls = content.of("functionCall") if content.role == "model" else []
            if calls and not signature(calls[0]):
                notes.note(
                    content.path, "missing-signature", "The call was marked as one whose signature is not known."
                )
                signed = {**calls[0], "thoughtSignature": UNSIGNED}
                content.touch([signed if part is calls[0] else part for part in content.parts])
        if contents and contents[0].role == "model":
            notes.note(contents[0].path, "first-from-user", "A content of the user's was put in front.")
            begun = [{"text": opening(contents[0].parts)}]
            contents.insert(0, HeldParts("contents[0]", "user", begun, {}, is_touched=True))
        if contents and contents[-1].role == "model":
            notes.note(contents[-1].path, "ends-with-model", "A content of the user's was put behind.")
            contents.append(HeldParts(contents[-1].path, "user", [{"text": GO_ON}], {}, is_touched=True))
        copy["contents"] = [content.written() for content in contents]

    return mended(body, (mend,), lambda each: check(each, is_signed))


def _paired(contents: list[HeldParts], notes: RepairNotes) -> list[HeldParts]:
    """Turns of the model as one content where they call, and all responses in the content right behind."""
    calls = (part for content in contents for part in content.of("functionCall"))
    fresh = FreshIds({str(held(part, "functionCall").get("id")) for part in calls})
    seen: set[str] = set()
    done: list[HeldParts] = []
    at = 0
    while at < len(contents):
        turn = _run(contents, at, is_models=True)
        stretch = _run(contents, at + len(turn), is_models=False)
        at += len(turn) + len(stretch)
        if len(turn) > 1 and any(content.of("functionCall") for content in turn):
            for content in turn[1:]:
                notes.note(content.path, "call-placement", "The content was joined with the model's content before it.")
            said = [part for content in turn for part in content.parts]
            turn = [HeldParts(turn[0].path, "model", said, turn[0].source)]
        done += turn
        done += _answered(turn, stretch, fresh, seen, notes)
    return done


def _run(contents: list[HeldParts], start: int, *, is_models: bool) -> list[HeldParts]:
    stop = start
    while stop < len(contents) and (contents[stop].role == "model") is is_models:
        stop += 1
    return contents[start:stop]


def _answered(
    turn: list[HeldParts], stretch: list[HeldParts], fresh: FreshIds, seen: set[str], notes: RepairNotes
) -> list[HeldParts]:
    calls = [held(part, "functionCall") for content in turn for part in content.of("functionCall")]
    olds = [call_id(call) for call in calls]
    path = turn[0].path if turn else ""
    _own_ids(path, calls, fresh, seen, notes)
    found = [(content, part) for content in stretch for part in content.of("functionResponse")]
    given = [call_id(held(part, "functionResponse")) for _, part in found]
    places = matched(olds, given)
    answers: list[_Part] = []
    for (content, part), place in zip(found, places, strict=True):
        if place is None:
            _told(content, part, notes)
            continue
        response, call = held(part, "functionResponse"), calls[place]
        if call.get("name") != response.get("name") or call.get("id") != response.get("id"):
            response["name"] = call.get("name")
            if call.get("id") is not None:
                response["id"] = call["id"]
            else:
                response.pop("id", None)
            notes.note(content.path, "orphan-response", f"The response was given to the call of {call.get('name')!r}.")
        answers.append(part)
    for place, call in enumerate(calls):
        if place not in places:
            notes.note(
                path, "unanswered-call", f"The call of {call.get('name')!r} got the result of an interrupted one."
            )
            own = {"id": call["id"]} if call.get("id") else {}
            answers.append({"functionResponse": {**own, "name": call.get("name"), "response": {"error": INTERRUPTED}}})
    return _in_front(stretch, answers, path, notes)


def _own_ids(path: str, calls: list[dict[str, Any]], fresh: FreshIds, seen: set[str], notes: RepairNotes) -> None:
    """Ids used once; a call without one is paired by its name, and needs none."""
    for call in calls:
        own = call.get("id")
        if isinstance(own, str) and own in seen:
            call["id"] = fresh.like(own)
            notes.note(path, "duplicate-call", f"The call {own!r} was given the id {call['id']!r}.")
        if isinstance(call.get("id"), str):
            seen.add(call["id"])


def _told(content: HeldParts, part: _Part, notes: RepairNotes) -> None:
    """A response that answers nothing, as labelled text in its place."""
    response = held(part, "functionResponse")
    said = response.get("response")
    words = words_in(list(said.values()) if isinstance(said, dict) else said)
    notes.note(content.path, "orphan-response", "The response became labelled text.")
    label = late_words(response.get("id") or response.get("name"), words)
    content.touch([{"text": label} if each is part else each for each in content.parts])


def _in_front(stretch: list[HeldParts], answers: list[_Part], path: str, notes: RepairNotes) -> list[HeldParts]:
    """All responses in front of the first content behind the calls."""
    if not answers:
        return stretch
    if not stretch:
        return [HeldParts(path, "user", answers, {}, is_touched=True)]
    first = stretch[0]
    if first.parts[: len(answers)] == answers:
        return stretch
    for content in stretch[1:]:
        if content.of("functionResponse"):
            notes.note(content.path, "unanswered-call", "The response was moved right behind its call.")
    for content in stretch:
        content.touch([part for part in content.parts if kind_of(part) != "functionResponse"])
    first.touch([*answers, *first.parts])
    return [content for content in stretch if content.parts]
