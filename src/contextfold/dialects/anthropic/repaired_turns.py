"""Messages of a broken Anthropic request made whole: who speaks when, and each call with its one result."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from msgspec import Struct, field

from contextfold.deferred import expression
from contextfold.dialects.neutral import LABEL
from contextfold.dialects.repairs import (
    GO_ON,
    SPEAKERS,
    BlockJson,
    FreshIds,
    RepairNotes,
    id_in,
    late_words,
    matched,
    opening,
    words_of,
)
from contextfold.domain import INTERRUPTED, encode

from .rules import IN_SYSTEM
from .turns import Allowed, allowed_in, is_paused


class RepairedMessage(Struct):
    """A message on the bench: who speaks, its blocks, and where it stood."""

    path: str
    role: Any
    blocks: list[BlockJson]
    source: dict[str, Any] = field(default_factory=dict)
    is_touched: bool = False

    def touch(self, blocks: list[BlockJson]) -> None:
        self.blocks, self.is_touched = blocks, True

    def leave_out(self, names: Collection[str]) -> None:
        """Keep these fields of the original from what is written."""
        self.source = {name: value for name, value in self.source.items() if name not in names}

    def written(self) -> dict[str, Any]:
        """The message on the wire; its other fields stay."""
        if not self.is_touched:
            return {**self.source, "role": self.role}
        return {**self.source, "role": self.role, "content": self.blocks}


def text(words: str) -> BlockJson:
    return {"type": "text", "text": words}


def read(messages: list[Any], notes: RepairNotes) -> list[RepairedMessage]:
    """Every message; bare words become a message, what says nothing at all is left out."""
    said = []
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        if isinstance(message, str) and message.strip():
            notes.note(path, "malformed", "Bare words became a message of the user's.")
            said.append(RepairedMessage(path, "user", [text(message)], is_touched=True))
        elif isinstance(message, dict):
            said.append(_read(path, message, notes))
        else:
            notes.note(path, "malformed", "Something that is no message was left out.")
    return said


def _read(path: str, message: dict[str, Any], notes: RepairNotes) -> RepairedMessage:
    content = message.get("content")
    if isinstance(content, str):
        return RepairedMessage(path, message.get("role"), [text(content)] if content else [], message)
    if isinstance(content, list):
        blocks = [_block(f"{path}.content[{index}]", block, notes) for index, block in enumerate(content)]
        found = [block for block in blocks if block is not None]
        sound = len(found) == len(content) and all(a is b for a, b in zip(found, content, strict=True))
        return RepairedMessage(path, message.get("role"), found, message, is_touched=not sound)
    if content is None:
        return RepairedMessage(path, message.get("role"), [], message)
    notes.note(f"{path}.content", "malformed", "The content became a list of blocks.")
    block = content if isinstance(content, dict) and "type" in content else text(encode(content).decode())
    return RepairedMessage(path, message.get("role"), [block], message, is_touched=True)


def _block(path: str, block: Any, notes: RepairNotes) -> BlockJson | None:
    if isinstance(block, dict):
        return block
    if isinstance(block, str) and block.strip():
        notes.note(path, "malformed", "Bare words became a text block.")
        return text(block)
    notes.note(path, "malformed", "Something that is no block was left out.")
    return None


def written(said: list[RepairedMessage]) -> list[dict[str, Any]]:
    return [message.written() for message in said]


_ROLES = ("user", "assistant", "system")
_MODELS_OWN = ("tool_use", "thinking", "redacted_thinking", "server_tool_use")


def known(said: list[RepairedMessage], notes: RepairNotes) -> list[RepairedMessage]:
    """Roles by the names the API has for them; whoever it does not know speaks on the user's side."""
    for message in said:
        if message.role in _ROLES:
            continue
        old = message.role
        message.role = SPEAKERS.get(old) if isinstance(old, str) else None
        if message.role is None:
            is_models = not old and any(block.get("type") in _MODELS_OWN for block in message.blocks)
            message.role = "assistant" if is_models else "user"
        notes.note(f"{message.path}.role", "unknown-role", f"The role {old!r} became {message.role!r}.")
    return said


def system_in_place(said: list[RepairedMessage], body: dict[str, Any], notes: RepairNotes) -> list[RepairedMessage]:
    """A first system message goes to the top of the request; a displaced one becomes labelled text.

    Tools that the first one lets come and go have no place at the top: they stand behind the first user's turn. What a
    system part cannot hold at all, such as a picture, is shown as the user's.
    """
    kept: list[RepairedMessage] = []
    changes: list[RepairedMessage] = []
    for message in said:
        if message.role != "system":
            kept.append(message)
            if message.role == "user":
                kept += changes
                changes.clear()
        elif not kept:
            words = [block for block in message.blocks if block.get("type") == "text"]
            others = [block for block in message.blocks if block.get("type") != "text"]
            if words or not others:
                body["system"] = [*_as_blocks(body.get("system")), *words]
            taken = [block for block in others if block.get("type") in IN_SYSTEM]
            if words or taken or not others:
                notes.note(message.path, "system-placement", "The system message went to the request's 'system'.")
            if taken:
                changes.append(RepairedMessage(message.path, "system", taken, {}, True))
            shown = [block for block in others if block.get("type") not in IN_SYSTEM]
            if shown:  # pictures and documents have no place in any system part
                notes.note(message.path, "system-placement", "What only a user may show became the user's, labelled.")
                kept.append(RepairedMessage(message.path, "user", [text(LABEL.strip()), *shown], {}, True))
        else:
            kept.append(_placed(message, kept[-1].role, notes))
    return kept


def _as_blocks(system: Any) -> list[Any]:
    if isinstance(system, list):
        return system
    return [text(system)] if system else []


def _placed(message: RepairedMessage, before: str, notes: RepairNotes) -> RepairedMessage:
    is_taken = all(block.get("type") in IN_SYSTEM for block in message.blocks)
    if before in ("user", "system") and is_taken:
        return message
    notes.note(message.path, "system-placement", "The system message became labelled text of the user's.")
    first, *rest = message.blocks
    if first.get("type") == "text":
        return RepairedMessage(message.path, "user", [{**first, "text": f"{LABEL}{first['text']}"}, *rest], {}, True)
    return RepairedMessage(message.path, "user", [text(LABEL.strip()), first, *rest], {}, True)


def begun_and_ended(
    said: list[RepairedMessage], body: dict[str, Any], allowed: Allowed | None, notes: RepairNotes
) -> list[RepairedMessage]:
    """The user opens the conversation, and hands over at its end where the model takes no prefill."""
    is_compacted = said and said[0].blocks[:1] and said[0].blocks[0].get("type") == "compaction"
    if said and said[0].role == "assistant" and not is_compacted:
        notes.note(said[0].path, "first-from-user", "A message of the user's was put in front.")
        said = [RepairedMessage("messages[0]", "user", [text(opening(said[0].blocks))], {}, True), *said]
    if said and said[-1].role == "assistant" and not _may_end(said, allowed or allowed_in(body)):
        notes.note(said[-1].path, "ends-with-assistant", "A message of the user's was put behind.")
        said = [*said, RepairedMessage(said[-1].path, "user", [text(GO_ON)], {}, True)]
    return said


def _may_end(said: list[RepairedMessage], allowed: Allowed) -> bool:
    start = len(said)
    while start and said[start - 1].role == "assistant":
        start -= 1
    return allowed.prefill or is_paused([block for message in said[start:] for block in message.blocks])


_ID = expression(r"[a-zA-Z0-9_-]+")
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
    blocks: list[BlockJson] = []
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


def _as_text(block: BlockJson) -> list[BlockJson]:
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
    synthetic: list[BlockJson] = [
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


def _leading(message: RepairedMessage) -> list[BlockJson]:
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
