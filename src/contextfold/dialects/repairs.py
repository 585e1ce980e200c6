"""What the repairs of all dialects share: notes of what was done, the words that stand in, ids that pair again.

A repair keeps whatever the provider can be shown: a result without its call becomes labelled text, a call without its
result gets the fixed words of an interrupted one. It refuses to guess: what has not even the form of a request stays as
it is, and is told as a problem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextfold.domain import LATE, Problem, encode

from .ids import short_and_simple
from .neutral import is_blank
from .surrogates import lone_surrogate, whole_texts

Body = dict[str, Any]
Block = dict[str, Any]

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
OPENING = "[The conversation continues from here.]"
GO_ON = "[Go on from here.]"


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that was changed: where, which rule it had broken, and what was done."""

    path: str
    rule: str
    done: str


@dataclass(frozen=True, slots=True)
class Repaired:
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
    if isinstance(content, list):
        return "\n".join(words for each in content if not is_blank(words := _said(each)))
    return encode(content).decode()


def _said(block: object) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, Mapping) and isinstance(block.get("text"), str):
        return str(block["text"])
    if isinstance(block, Mapping) and block.get("type") in ("image", "document", "image_url", "input_image"):
        return ""
    return encode(block).decode()


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
