"""What the rules and repairs of all dialects share: a request read once, ids that pair, notes of what was done.

A rule is one small function that names itself by a stable slug and says what to do; it changes nothing. A repair keeps
whatever the provider can be shown: a result without its call becomes labelled text, a call without its result gets the
fixed words of an interrupted one. It refuses to guess: what has not even the form of a request stays as it is, and is
told as a problem. An id in a foreign alphabet is always spelled the same way, and of two alike one gets another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from contextfold.deferred import expression
from contextfold.domain import LATE, Block, Language, Message, Problem, ToolCall, ToolResult, decode, encode
from contextfold.summaries import language_of

from .neutral import is_blank, words
from .wire import Json, lone_surrogate, whole_texts


class WirePiece(NamedTuple):
    """A block of a message and its path in the request."""

    path: str
    block: Json

    @property
    def kind(self) -> object:
        return self.block.get("type")

    def id(self, field: str) -> str | None:
        return id_in(self.block, field)


class WireMessage(NamedTuple):
    """One message of a request, as far as it can be read."""

    path: str
    role: object
    content: object
    pieces: tuple[WirePiece, ...]
    fields: Json

    @property
    def is_empty(self) -> bool:
        return self.content is None or self.content in ("", [], ())


def is_filled(value: object) -> bool:
    """Whether it is a text, and not an empty one."""
    return isinstance(value, str) and value != ""


def id_in(value: Json, field: str) -> str | None:
    """An id that can be compared, whatever a client wrote there."""
    found = value.get(field)
    return found if found is None or isinstance(found, str) else repr(found)


def read_messages(body: Json) -> tuple[list[WireMessage], list[Problem]]:
    """The messages that can be read, and a problem for everything that has not even the form of one."""
    messages = body.get("messages")
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes) or not messages:
        return [], [malformed("messages", "Send a list with at least one message.")]
    read: list[WireMessage] = []
    problems: list[Problem] = []
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        if not isinstance(message, Mapping):
            problems.append(malformed(path, "A message is an object with role and content."))
            continue
        content = message.get("content")
        pieces: tuple[WirePiece, ...] = ()
        if isinstance(content, str):
            pieces = (WirePiece(f"{path}.content", {"type": "text", "text": content}),) if content else ()
        elif isinstance(content, list | tuple):
            pieces = read_pieces(f"{path}.content", content, problems)
        elif content is not None:
            problems.append(malformed(f"{path}.content", "Content is a string or a list."))
        read.append(WireMessage(path, message.get("role"), content, pieces, message))
    return read, problems


def read_pieces(path: str, content: Sequence[object], problems: list[Problem]) -> tuple[WirePiece, ...]:
    """The blocks of a list; entries that are none become problems."""
    pieces = []
    for index, block in enumerate(content):
        if isinstance(block, Mapping):
            pieces.append(WirePiece(f"{path}[{index}]", block))
        else:
            problems.append(malformed(f"{path}[{index}]", "Entries of content are objects with a type."))
    return tuple(pieces)


def malformed(path: str, advice: str) -> Problem:
    return Problem(path, "malformed", advice)


LONGEST = 64
_ODD = expression(r"[^a-zA-Z0-9_-]")


def short(call: str) -> str:
    """The id itself unless it is empty or too long for any provider."""
    return call if 0 < len(call) <= LONGEST else _digested(call)


def simple(call: str) -> str:
    """The id itself unless it is written in letters that some provider rejects."""
    return _digested(call) if _ODD.search(call) else call


def short_and_simple(call: str) -> str:
    """The id itself unless it is also written in letters that some provider rejects."""
    return _digested(call) if _ODD.search(call) else short(call)


def _digested(call: str) -> str:
    """A readable part of the id, and a digest that keeps it unique."""
    digest = sha256(call.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{_ODD.sub('_', call)[: LONGEST - 11]}-{digest}"


class IdFields(NamedTuple):
    """Where a wire format writes the ids that pair calls with results, and what it never looks into for them."""

    names: tuple[str, ...]
    unread: tuple[str, ...] = ()  # what the model or a tool wrote


def renamed(message: Message, aliases: tuple[tuple[int, str], ...], fields: IdFields) -> Message:
    """The message with these blocks under other ids."""
    names = dict(aliases)
    blocks: list[Block] = []
    pairs: list[tuple[str, str]] = []
    for index, block in enumerate(message.blocks):
        if isinstance(block, ToolCall):
            pairs.append((block.id, names.get(index, block.id)))
            block = replace(block, id=pairs[-1][1])
        elif isinstance(block, ToolResult):
            pairs.append((block.call, names.get(index, block.call)))
            block = replace(block, call=pairs[-1][1])
        blocks.append(block)
    raw = message.raw
    if raw:
        value = decode(raw)
        walked = _walk(value, pairs, fields)
        raw = raw if walked == value else encode(walked)  # the very same where the wire pairs by order, without ids
    return replace(message, blocks=tuple(blocks), raw=raw)


def _walk(value: Any, pairs: list[tuple[str, str]], fields: IdFields) -> Any:
    """Each pair renames one place, in the order of the blocks, so that one id may stand for two calls."""
    if isinstance(value, list):
        return [_walk(each, pairs, fields) for each in value]
    if not isinstance(value, Mapping):
        return value
    walked = {}
    for key, each in value.items():
        if key in fields.unread:
            walked[key] = each
        elif key in fields.names and pairs and each == pairs[0][0]:
            walked[key] = pairs.pop(0)[1]
        else:
            walked[key] = _walk(each, pairs, fields)
    return walked


Body = dict[str, Any]
BlockJson = dict[str, Any]

# Names that other formats and older APIs have for the speakers, in the words of the two that all know.
SPEAKERS: Mapping[object, str] = {
    "human": "user",
    "tool": "user",
    "function": "user",
    "model": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "developer": "system",
}

# Said where a conversation would begin with the model, or end with it.
OPENINGS: Mapping[Language, str] = {
    "en": "[The conversation continues from here.]",
    "ja": "[会話はここから続きます。]",
}
GO_ON = "[Go on from here.]"


def opening(content: object) -> str:
    """What stands in front of this content of the model's, in its language: the same as long as that is first."""
    return OPENINGS[language_of([words(content)])]


class Repair(Struct, frozen=True):
    """One thing that was changed: where, which rule it had broken, and what was done."""

    path: str
    rule: str
    done: str


class Repaired(Struct, frozen=True):
    """A request after its repair: the body, what was done to it, and what is still wrong (nothing, as a rule)."""

    body: dict[str, Any]
    repairs: tuple[Repair, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether the provider would take the body as it is now."""
        return not self.problems


class RepairNotes:
    """What a repair has done so far. The one mutable thing of a repair."""

    def __init__(self) -> None:
        self.repairs: list[Repair] = []

    def note(self, path: str, rule: str, done: str) -> None:
        self.repairs.append(Repair(path, rule, done))


class FreshIds:
    """Ids for calls that have none of their own, unlike any id in the request; the same request gives the same ids."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken

    def like(self, wish: object) -> str:
        """An id close to the wished one, and used by nobody else."""
        base = short_and_simple(wish) if isinstance(wish, str) and wish else "call"
        candidate, number = base, 1
        while candidate in self._taken:
            number += 1
            candidate = short_and_simple(f"{base}-{number}")
        self._taken.add(candidate)
        return candidate


def mended(
    body: Mapping[str, Any],
    passes: Sequence[Callable[[Body, RepairNotes], None]],
    check: Callable[[Mapping[str, Any]], list[Problem]],
) -> Repaired:
    """Run the passes over a copy of the body if anything is wrong with it; a sound body comes back as it is."""
    problems = check(body)
    if not problems:
        return Repaired(dict(body))
    copy, notes = copied(body), RepairNotes()
    for broken in lone_surrogate(body):
        notes.note(broken.path, broken.rule, "Half a character became U+FFFD.")
    copy = whole_texts(copy) if notes.repairs else copy
    for mend in passes:
        mend(copy, notes)
    return Repaired(copy, tuple(notes.repairs), tuple(check(copy)))


def copied(value: Any) -> Any:
    """Plain lists and dicts, through and through, so that nothing of the caller's is changed; at any depth."""
    whole = [value]
    waiting: list[Any] = [whole]
    while waiting:
        holder = waiting.pop()
        for key, each in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(each, Mapping | list | tuple):
                holder[key] = dict(each) if isinstance(each, Mapping) else list(each)
                waiting.append(holder[key])
    return whole[0]


def late_words(call: object, words: str) -> str:
    """A result as text, under the label that views give to late ones."""
    label = LATE.format(call=call)
    return label if is_blank(words) else f"{label}\n{words}"


def words_of(content: object) -> str:
    """The words in a content, whatever its form; what has no words is spelled as JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return encode(content).decode()
    said: list[str] = []
    for block in content:
        match block:
            case str(words) | {"text": str(words)}:
                said.append(words)
            case {"type": "image" | "document" | "image_url" | "input_image"}:
                continue
            case _:
                said.append(encode(block).decode())
    return "\n".join(words for words in said if not is_blank(words))


def matched(calls: Sequence[object], results: Sequence[object]) -> list[int | None]:
    """For each result the place of the call it answers, None for one too many.

    Equal ids pair in their order; a result without any id takes the next call that nobody else answers.
    """
    waiting: dict[object, list[int]] = {}
    for place, call in enumerate(calls):
        waiting.setdefault(call, []).append(place)
    answers = [waiting[result].pop(0) if result and waiting.get(result) else None for result in results]
    rest = iter(sorted(place for places in waiting.values() for place in places))
    return [
        next(rest, None) if answer is None and not result else answer
        for answer, result in zip(answers, results, strict=True)
    ]
