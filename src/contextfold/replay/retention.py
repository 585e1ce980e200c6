"""What a view still holds of what was needed later: the measure, computed from the recording alone.

What an agent used after a fold, and nobody showed it again before, it had to remember. No model is asked, and presence
of a string is not understanding: compare numbers with numbers, not with success at a task. What is out of view can be
had back the way its stand-ins say: the handles they show to the model are taken at their word and asked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from contextfold.domain import View
from contextfold.errors import NotFound
from contextfold.session import Session
from contextfold.thread import ModelLens

from .notes import (
    MOST,
    Literal,
    Notes,
    Sentence,
    literals_in,
    orders_kept,
    sentences_in,
    widened,
    without_gutters,
    words_of,
)
from .values import Retained, Share

LEAST_NEEDED = 5  # fewer say nothing
LEAST_AFTER = 6  # messages after the fold
ENDS = 8  # first and last occurrences whose surroundings are looked at
REACH = 100  # characters to each side of a literal
MOST_FOUND = 200
SHARED = 3  # content words that make a surrounding the same

_WORD = re.compile(r"[A-Za-z]{3,}")
_COMMON = frozenset(
    _WORD.findall(
        "the and for with that this from not are was has have but you all can new its use via into out now get set let "
        "will when then than only also any"
    )
)
_BY_TEXT = ("quoted", "url", "flag", "hash")


@dataclass(frozen=True, slots=True)
class ViewSnapshot:
    """What a view showed: literals, text, blocks of messages as they were said, and text that is nobody's message."""

    place: int  # messages before it
    literals: frozenset[Literal]
    text: str
    blocks: frozenset[tuple[int, int]]
    added: str


def snapshot(view: View, reading: ModelLens, notes: Notes, place: int, turn_of: dict[int, int]) -> ViewSnapshot:
    """Take down what a view shows, before it changes again."""
    literals: set[Literal] = set()
    texts: list[str] = []
    added: list[str] = []
    blocks: set[tuple[int, int]] = set()
    for item in view.items:
        turn = turn_of.get(item.seq) if item.kind == "message" else None
        if turn is not None and not item.is_touched:
            note = notes.all[turn]
            literals |= note.provides
            texts.append(note.text)
            blocks.update((turn, number) for number in range(len(note.blocks)))
            continue
        edited = {part.block for part in item.folded} if turn is not None else None
        for number, block in enumerate(reading.shown(item).blocks):
            if turn is not None and edited is not None and number not in edited:
                known = notes.all[turn].blocks[number]
                literals |= widened(known.uses)
                texts.append(known.text)
                blocks.add((turn, number))
                continue
            words = words_of(block)
            literals |= widened(literals_in(without_gutters(words)))
            texts.append(words)
            added.append(words)
    return ViewSnapshot(place, frozenset(literals), "\n".join(texts), frozenset(blocks), "\n".join(added))


def needed(notes: Notes, start: int, end: int) -> frozenset[Literal]:
    """Literals known before `start` and used from there to `end`, before anybody showed them again."""
    found: set[Literal] = set()
    shown: set[Literal] = set()
    before = notes.said_before(start)
    told: list[str] = []
    for note in notes.all[start:end]:
        if not note.is_assistant:
            shown |= note.shows
            told.append(note.said)
            continue
        found |= {literal for literal in note.out - shown if _is_older(notes, literal, start)}
        phrases = (phrase for phrase in note.quoted if phrase not in found)
        found |= {each for each in phrases if each.key in before and not any(each.key in text for text in told)}
    return frozenset(found)


def _is_older(notes: Notes, literal: Literal, start: int) -> bool:
    return notes.first.get(literal, start) < start and literal not in notes.known


def typed(notes: Notes, start: int) -> list[Sentence]:
    """What people said before this place, wherever a client put their words; the newest."""
    found: list[list[Sentence]] = []
    place, most = start, MOST
    while place and most > 0:
        place -= 1
        said = [(at, words) for at, block in enumerate(notes.all[place].blocks) for words in block.people]
        found.append([each for at, words in said for each in sentences_in(words, (place, at))])
        most -= len(found[-1])
    return [each for sentences in reversed(found) for each in sentences][-MOST:]


def retained(notes: Notes, seen: ViewSnapshot, end: int) -> Retained | None:
    """How much a view kept; None where too little came after it to judge."""
    if end - seen.place < LEAST_AFTER:
        return None
    wanted = needed(notes, seen.place, end)
    if len(wanted) < LEAST_NEEDED:
        return None
    before = notes.said_before(seen.place)
    strict = sum(_is_there(literal, seen) for literal in wanted)
    kept, orders = orders_kept(typed(notes, seen.place), seen.blocks, seen.added)
    return Retained(Share(strict, len(wanted)), _grounded(wanted, seen, before), Share(kept, orders))


def _is_there(literal: Literal, seen: ViewSnapshot) -> bool:
    kind, key = literal
    return literal in seen.literals or ((kind in _BY_TEXT or "/" in key) and key in seen.text)


def _grounded(wanted: Collection[Literal], seen: ViewSnapshot, before: str) -> Share:
    """Literals in view with a line around them that shares content words with a line where they stood before."""
    kept = of = 0
    for literal in wanted:
        sources = list(surroundings(before, literal.key))
        if not sources:
            continue
        of += 1
        if literal in seen.literals or literal.key in seen.text:
            kept += _is_alike(sources, surroundings(seen.text, literal.key))
    return Share(kept, of)


def _is_alike(sources: Collection[frozenset[str]], shown: Iterable[frozenset[str]]) -> bool:
    return any(len(one & other) >= min(SHARED, len(one)) for other in shown for one in sources if one)


def surroundings(text: str, key: str) -> Iterable[frozenset[str]]:
    """Content words on the line around the first and last occurrences of a string."""
    found: list[int] = []
    at = text.find(key)
    while at >= 0 and len(found) < MOST_FOUND:
        found.append(at)
        at = text.find(key, at + len(key))
    for at in found if len(found) <= 2 * ENDS else found[:ENDS] + found[-ENDS:]:
        stop = at + len(key)
        start = max(text.rfind("\n", max(0, at - REACH), at) + 1, at - REACH, 0)
        end = text.find("\n", at, stop + REACH)
        line = text[start:at] + " " + text[stop : stop + REACH if end < 0 else end]
        yield frozenset(word.lower() for word in _WORD.findall(line)) - _COMMON


# -- what comes back -----------------------------------------------------------------------------------------------

_HANDLE = re.compile(r"recall\((fold|seq)=(\d+)\)")


def recallable(session: Session, seqs: Sequence[int]) -> Share:
    """Messages that are not in view as they were said, and how many of them the shown handles bring back."""
    whole, shown = set(), []
    reading = session.thread.lens
    for item in session.view.items:
        edits = [edit for edit in reading.resolve(item).edits if edit.text]
        if item.kind == "message" and not edits:
            whole.add(item.seq)
        elif item.kind == "message":
            shown += [edit.text for edit in edits]
        elif item.kind == "stand_in":
            shown += [words_of(block) for block in reading.read(item).blocks]
    hidden = [seq for seq in seqs if seq not in whole]
    if not hidden:
        return Share()
    back = _recalled(session, {handle for text in shown for handle in _HANDLE.findall(text)})
    return Share(sum(session.thread.message(seq).raw in back for seq in hidden), len(hidden))


def _recalled(session: Session, handles: set[tuple[str, str]]) -> set[bytes]:
    back: set[bytes] = set()
    for what, number in handles:
        try:
            found = session.recall(fold=int(number)) if what == "fold" else session.recall(seq=int(number))
        except NotFound:
            continue  # words of the conversation that look like a handle
        back.update(message.raw for message in found)
    return back
