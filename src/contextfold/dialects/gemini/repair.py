"""Making a request that the Gemini API takes out of one that it rejects.

Parts are moved whole and never joined: a thought signature belongs to exactly its part. A call that lost its signature
gets the one that the API's documentation gives for such calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold.dialects.repairs import (
    GO_ON,
    OPENING,
    Body,
    FreshIds,
    Repaired,
    RepairNotes,
    late_words,
    matched,
    mended,
)
from contextfold.dialects.repairs import words_of as words_in
from contextfold.domain import INTERRUPTED

from .parse import call_id, held, kind_of, signature
from .rules import check, loop_start
from .sound import HeldParts, sound
from .touch import UNSIGNED

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
        if is_signed:
            _signed(contents, notes)
        copy["contents"] = [content.written() for content in _begun_and_ended(contents, notes)]

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
        turn = _joined(turn, notes)
        done += turn
        done += _answered(turn, stretch, fresh, seen, notes)
    return done


def _run(contents: list[HeldParts], start: int, *, is_models: bool) -> list[HeldParts]:
    stop = start
    while stop < len(contents) and (contents[stop].role == "model") is is_models:
        stop += 1
    return contents[start:stop]


def _joined(turn: list[HeldParts], notes: RepairNotes) -> list[HeldParts]:
    """What the model said in a row, as one content, if it calls in any of them."""
    if len(turn) < 2 or not any(content.of("functionCall") for content in turn):
        return turn
    for content in turn[1:]:
        notes.note(content.path, "call-placement", "The content was joined with the model's content before it.")
    return [HeldParts(turn[0].path, "model", [part for content in turn for part in content.parts], turn[0].source)]


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
        _fitted(content.path, held(part, "functionResponse"), calls[place], notes)
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


def _fitted(path: str, response: dict[str, Any], call: Mapping[str, Any], notes: RepairNotes) -> None:
    """The response under the name and id of its call."""
    if call.get("name") != response.get("name") or call.get("id") != response.get("id"):
        response["name"] = call.get("name")
        if call.get("id") is not None:
            response["id"] = call["id"]
        else:
            response.pop("id", None)
        notes.note(path, "orphan-response", f"The response was given to the call of {call.get('name')!r}.")


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


def _signed(contents: list[HeldParts], notes: RepairNotes) -> None:
    """The first call of each step since the user spoke carries a signature."""
    for content in contents[loop_start([(content.role == "model", content.parts) for content in contents]) :]:
        calls = content.of("functionCall") if content.role == "model" else []
        if calls and not signature(calls[0]):
            notes.note(content.path, "missing-signature", "The call was marked as one whose signature is not known.")
            signed = {**calls[0], "thoughtSignature": UNSIGNED}
            content.touch([signed if part is calls[0] else part for part in content.parts])


def _begun_and_ended(contents: list[HeldParts], notes: RepairNotes) -> list[HeldParts]:
    if contents and contents[0].role == "model":
        notes.note(contents[0].path, "first-from-user", "A content of the user's was put in front.")
        contents = [HeldParts("contents[0]", "user", [{"text": OPENING}], {}, is_touched=True), *contents]
    if contents and contents[-1].role == "model":
        notes.note(contents[-1].path, "ends-with-model", "A content of the user's was put behind.")
        contents = [*contents, HeldParts(contents[-1].path, "user", [{"text": GO_ON}], {}, is_touched=True)]
    return contents
