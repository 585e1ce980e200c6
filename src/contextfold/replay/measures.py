"""What is measured of a sequence of requests: what the cache of a provider makes of them, and what they still hold.

A request reads from the cache what it shares with the one before, from the front, and writes the rest. An entry dies
after the shortest lifetime of the provider, by the times of the recording; a prefix shorter than the least of the
provider is not kept at all. What is modelled is sending, not what an agent would have done differently.

What an agent used after a fold, and nobody showed it again before, it had to remember. Whether the view still held it
is computed from the recording alone. No model is asked, and presence of a string is not understanding: compare numbers
with numbers, not with success at a task. What is out of view can be had back the way its stand-ins say: the handles
they show to the model are taken at their word and asked for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from contextfold.deferred import expression
from contextfold.domain import View
from contextfold.errors import NotFound
from contextfold.models import Model
from contextfold.session import Session
from contextfold.session.hidden import seqs_behind
from contextfold.thread import ModelLens

from .notes import (
    MOST,
    Literal,
    Notes,
    Sentence,
    literals_in,
    orders_kept,
    widened,
    without_gutters,
    words_of,
)
from .values import Cost, Retained, Share

MILLION = 1_000_000
TurnOf: TypeAlias = Callable[[int], int | None]  # the turn of the recording that was appended as this seq


class _LastRequest(NamedTuple):
    """The request that the provider has in its cache now."""

    view: View | None = None
    tokens: int = 0
    at: float | None = None


class Tally:
    """Running sums over the requests of one session."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.read = self.written = self.output = 0
        self.calls = 0  # made only to fold
        self.breaks = self.peak = 0
        self.cost = Cost()
        self._last = _LastRequest()

    def request(self, view: View, fixed: int, at: float | None) -> int:
        """Count one request that shows this view; its tokens. `fixed` is what stands before the messages."""
        before, same = self._last.view, self._shared(view)
        self.breaks += before is not None and same < before.length
        total = fixed + view.tokens()
        self.add(total, fixed + view.tokens(0, same) if before is not None and before.length else 0, at)
        self._last = self._last._replace(view=view)
        return total

    def add(self, total: int, shared: int, at: float | None) -> None:
        """Count a request of `total` tokens of which `shared` were sent just before."""
        read = shared if self._lives(at) and shared >= self._least else 0
        self.read += read
        self.written += total - read
        self.peak = max(self.peak, total)
        self._last = self._last._replace(tokens=total, at=at if at is not None else self._last.at)
        self.cost = self.cost + self._price(read, total - read)

    def held(self, at: float | None) -> int:
        """Tokens of the newest request that the provider still has in its cache."""
        return self._last.tokens if self._lives(at) and self._last.tokens >= self._least else 0

    def answer(self, tokens: int) -> None:
        """Count what came back."""
        self.output += tokens
        prices = self.model.prices
        if prices is not None:
            self.cost = self.cost + Cost.of(output=tokens * prices.output / MILLION)

    def summary(self, cached: int, fresh: int, output: int) -> None:
        """Count a call that was made only to fold."""
        self.calls += cached + fresh > 0
        prices = self.model.prices
        if prices is not None:
            money = self._price(cached, fresh)
            self.cost = self.cost + Cost.of(summaries=money.read + money.write + output * prices.output / MILLION)

    @property
    def priced(self) -> Cost | None:
        return self.cost if self.model.prices is not None else None

    @property
    def _least(self) -> int:
        cache = self.model.cache
        return (cache.least or 0) if cache is not None else 0

    def _lives(self, at: float | None) -> bool:
        cache = self.model.cache
        if cache is None or not cache.lifetimes or at is None or self._last.at is None:
            return True
        return at - self._last.at <= cache.lifetimes[0]

    def _price(self, read: int, written: int) -> Cost:
        if self.model.prices is None:
            return Cost()
        prices = self.model.prices.at(read + written)
        fresh = max(prices.input, prices.cache_write or 0.0)  # some providers write for nothing; input is still paid
        return Cost.of(read * prices.read / MILLION, written * fresh / MILLION)

    def _shared(self, view: View) -> int:
        """How many items from the front are those of the request before."""
        before = self._last.view
        if before is None:
            return 0
        if view.array is before.array:
            return min(before.length, view.length)
        same = 0
        for old, new in zip(before.items, view.items, strict=False):
            if old is not new and old != new:
                break
            same += 1
        return same


LEAST_NEEDED = 5  # fewer say nothing
LEAST_AFTER = 6  # messages after the fold
ENDS = 8  # first and last occurrences whose surroundings are looked at
REACH = 100  # characters to each side of a literal
MOST_FOUND = 200
SHARED = 3  # content words that make a surrounding the same

_WORD = expression(r"[A-Za-z]{3,}")
_COMMON = frozenset(
    _WORD.findall(
        "the and for with that this from not are was has have but you all can new its use via into out now get set let "
        "will when then than only also any"
    )
)
_BY_TEXT = ("quoted", "url", "flag", "hash")


class ViewSnapshot(Struct, frozen=True):
    """What a view showed: literals, text, blocks of messages as they were said, and text that is nobody's message."""

    place: int  # messages before it
    literals: frozenset[Literal]
    text: str
    blocks: frozenset[tuple[int, int]]
    added: str


def snapshot(view: View, reading: ModelLens, notes: Notes, place: int, turn_of: TurnOf) -> ViewSnapshot:
    """Take down what a view shows, before it changes again."""
    literals: set[Literal] = set()
    texts: list[str] = []
    added: list[str] = []
    blocks: set[tuple[int, int]] = set()
    for item in view.items:
        turn = turn_of(item.seq) if item.kind == "message" else None
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


def needed(notes: Notes, start: int, end: int, before: str) -> frozenset[Literal]:
    """Literals known before `start` and used from there to `end`, before anybody showed them again.

    `before` is what was said until then, as far back as it is looked at.
    """
    found: set[Literal] = set()
    shown: set[Literal] = set()
    told: list[str] = []
    for note in notes.all[start:end]:
        if not note.is_assistant:
            shown |= note.shows
            told.append(note.said)
            continue
        found |= {literal for literal in note.out - shown if notes.is_older(literal, start)}
        phrases = (phrase for phrase in note.quoted if phrase not in found)
        found |= {each for each in phrases if each.key in before and not any(each.key in text for text in told)}
    return frozenset(found)


def typed(notes: Notes, start: int) -> Sequence[Sentence]:
    """What people said before this place, wherever a client put their words; the newest."""
    upto = bisect_left(notes.sentences, (start, 0), key=lambda sentence: sentence.place)
    return notes.sentences[max(0, upto - MOST) : upto]


def retained(notes: Notes, seen: ViewSnapshot, end: int) -> Retained | None:
    """How much a view kept; None where too little came after it to judge."""
    if end - seen.place < LEAST_AFTER:
        return None
    before = notes.said_before(seen.place)
    wanted = needed(notes, seen.place, end, before)
    if len(wanted) < LEAST_NEEDED:
        return None
    strict = sum(
        literal in seen.literals or ((literal.kind in _BY_TEXT or "/" in literal.key) and literal.key in seen.text)
        for literal in wanted
    )
    kept, orders = orders_kept(typed(notes, seen.place), seen.blocks, seen.added)
    return Retained(Share(strict, len(wanted)), _grounded(wanted, seen, before), Share(kept, orders))


def _grounded(wanted: Collection[Literal], seen: ViewSnapshot, before: str) -> Share:
    """Literals in view with a line around them that shares content words with a line where they stood before."""
    kept = of = 0
    for literal in wanted:
        sources = list(surroundings(before, literal.key))
        if not sources:
            continue
        of += 1
        if literal in seen.literals or literal.key in seen.text:
            shown = surroundings(seen.text, literal.key)
            kept += any(len(one & other) >= min(SHARED, len(one)) for other in shown for one in sources if one)
    return Share(kept, of)


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

_HANDLE = expression(r"recall\((fold|seq)=(\d+)\)")


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
    back: set[int] = set()  # hashes of messages: a fold may hide most of what a long session said
    for what, number in {handle for text in shown for handle in _HANDLE.findall(text)}:
        try:
            found = seqs_behind(session.thread, int(number)) if what == "fold" else (int(number),)
            back.update(hash(session.thread.message(seq).raw) for seq in found)
        except NotFound:
            continue  # words of the conversation that look like a handle
    return Share(sum(hash(session.thread.message(seq).raw) in back for seq in hidden), len(hidden))
