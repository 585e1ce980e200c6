"""Calls and results: each call answered once, at once and first of all; ids that nobody else has.

A result that stands before the model speaks again is moved to its place; a later one stays where it arrived, as
labelled text, so that what was sent before stays as it was.
"""

from __future__ import annotations

import re

from contextfold.dialects.repairs import Block, FreshIds, RepairNotes, late_words, matched, words_of
from contextfold.dialects.rulebook import id_in
from contextfold.domain import INTERRUPTED

from .speakers import RepairedMessage, text

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_AT_HOME = ("image", "document", "search_result")


def paired(said: list[RepairedMessage], notes: RepairNotes) -> list[RepairedMessage]:
    """The messages with every call and result in its place."""
    fresh = FreshIds(
        {str(block.get("id")) for each in said for block in each.blocks if block.get("type") == "tool_use"}
    )
    seen: set[object] = set()
    done: list[RepairedMessage] = []
    at = 0
    while at < len(said):
        turn = _run(said, at, is_assistants=True)
        stretch = _run(said, at + len(turn), is_assistants=False)
        at += len(turn) + len(stretch)
        done += turn
        done += _answered(turn, stretch, seen, fresh, notes)
    return done


def _run(said: list[RepairedMessage], start: int, *, is_assistants: bool) -> list[RepairedMessage]:
    stop = start
    while stop < len(said) and (said[stop].role == "assistant") is is_assistants:
        stop += 1
    return said[start:stop]


def _answered(
    turn: list[RepairedMessage], stretch: list[RepairedMessage], seen: set[object], fresh: FreshIds, notes: RepairNotes
) -> list[RepairedMessage]:
    """What follows the assistant's turn, beginning with a result for each of its calls."""
    olds, news = _called(turn, seen, fresh, notes)
    found = [(message, block) for message in stretch for block in message.blocks if block.get("type") == "tool_result"]
    places = matched(olds, [id_in(block, "tool_use_id") for _, block in found])
    answers = {id(block): place for (_, block), place in zip(found, places, strict=True)}
    for message in stretch:
        _settle(message, answers, olds, news, notes)
    open_calls = [new for place, new in enumerate(news) if place not in places]
    return _in_front(stretch, open_calls, turn, notes)


def _called(
    turn: list[RepairedMessage], seen: set[object], fresh: FreshIds, notes: RepairNotes
) -> tuple[list[object], list[str]]:
    """The ids of the turn's calls as they came, and as they are now: sound, and used once."""
    olds: list[object] = []
    news: list[str] = []
    for message in turn:
        blocks = []
        for index, block in enumerate(message.blocks):
            if block.get("type") == "tool_use":
                old = id_in(block, "id")
                new = _own_id(f"{message.path}.content[{index}]", block.get("id"), seen, fresh, notes)
                olds.append(old)
                news.append(new)
                seen.add(new)
                block = block if new == block.get("id") else {**block, "id": new}
            blocks.append(block)
        if any(a is not b for a, b in zip(blocks, message.blocks, strict=True)):
            message.touch(blocks)
    return olds, news


def _own_id(path: str, id_: object, seen: set[object], fresh: FreshIds, notes: RepairNotes) -> str:
    is_sound = isinstance(id_, str) and _ID.fullmatch(id_) is not None
    if isinstance(id_, str) and is_sound and id_ not in seen:
        return id_
    new = fresh.like(id_)
    rule = "duplicate-call" if is_sound else "malformed-call"
    notes.note(path, rule, f"The call {id_!r} was given the id {new!r}, and its result too.")
    return new


def _settle(
    message: RepairedMessage, answers: dict[int, int | None], olds: list[object], news: list[str], notes: RepairNotes
) -> None:
    """Results under their calls' ids; those that answer nothing as text."""
    blocks: list[Block] = []
    for index, block in enumerate(message.blocks):
        if block.get("type") != "tool_result":
            blocks.append(block)
            continue
        place = answers[id(block)]
        path = f"{message.path}.content[{index}]"
        if place is None:
            is_double = id_in(block, "tool_use_id") in olds
            notes.note(path, "duplicate-result" if is_double else "orphan-result", "The result became labelled text.")
            blocks += _as_text(block)
        else:
            if not block.get("tool_use_id"):
                notes.note(path, "orphan-result", f"The result was given to the call {news[place]!r}.")
            blocks.append(block if block.get("tool_use_id") == news[place] else {**block, "tool_use_id": news[place]})
    if len(blocks) != len(message.blocks) or any(a is not b for a, b in zip(blocks, message.blocks, strict=True)):
        message.touch(blocks)


def _as_text(block: Block) -> list[Block]:
    content = block.get("content")
    media = [each for each in content if _is_media(each)] if isinstance(content, list) else []
    said = [each for each in content if not _is_media(each)] if isinstance(content, list) else content
    return [text(late_words(block.get("tool_use_id"), words_of(said))), *media]


def _is_media(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in _AT_HOME


def _in_front(
    stretch: list[RepairedMessage], open_calls: list[str], turn: list[RepairedMessage], notes: RepairNotes
) -> list[RepairedMessage]:
    """All results first of all in the first message behind the turn, those of interrupted calls last."""
    synthetic: list[Block] = [
        {"type": "tool_result", "tool_use_id": call, "content": INTERRUPTED, "is_error": True} for call in open_calls
    ]
    for call in open_calls:
        notes.note(turn[-1].path, "unanswered-call", f"The call {call!r} got the result of an interrupted one.")
    moved = _misplaced(stretch, notes)
    if not moved and not synthetic:
        return stretch
    if not stretch:
        return [RepairedMessage(turn[-1].path, "user", synthetic, {}, True)]
    if moved:
        results = [block for message in stretch for block in message.blocks if block.get("type") == "tool_result"]
        for message in stretch:
            message.touch([block for block in message.blocks if block.get("type") != "tool_result"])
    else:
        results = _leading(stretch[0])
        stretch[0].touch(stretch[0].blocks[len(results) :])
    first = stretch[0]
    first.touch([*results, *synthetic, *first.blocks])
    return [message for message in stretch if message.blocks]


def _leading(message: RepairedMessage) -> list[Block]:
    count = 0
    while count < len(message.blocks) and message.blocks[count].get("type") == "tool_result":
        count += 1
    return message.blocks[:count]


def _misplaced(stretch: list[RepairedMessage], notes: RepairNotes) -> bool:
    """Whether a result stands behind something else, told once for each."""
    other, found = False, False
    for message in stretch:
        for index, block in enumerate(message.blocks):
            if block.get("type") != "tool_result":
                other = True
            elif other:
                notes.note(f"{message.path}.content[{index}]", "results-first", "The result was moved to the front.")
                found = True
    return found
