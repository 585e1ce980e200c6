"""Fold what came before the recent messages behind a summary: one of ours, kept up to date, or one by the provider.

What stays verbatim: the first message, pins, the live request, the instructions of the user within a budget, and a tail
at a legal cut. An earlier summary is an input of the new one and is covered by it; only what was said since is
summarized, so nothing is summarized twice. It asks for a summary and never knows who writes it.

What a provider makes of the past by itself is carried untouched, for that model alone. The originals stay in the
thread, so that the fold can be undone and another model can go on. A provider needs everything in front of the tail: a
message that must stay there would not be read, so then there is no plan and the next stage is tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct

from contextfold.domain import Detail, Folded, StandIn, View, ViewItem, is_person, spoken_by
from contextfold.errors import BadConfiguration
from contextfold.summaries import (
    Notebook,
    Refusal,
    SourceMessage,
    SummaryRequest,
    is_digest,
    summary_text,
    unlike_digest,
)

from .economics import GUARD, paying_tail, summary_size
from .economics import SUMMARY as PAYS
from .plan import Atom, Compacted, Compactor, Plan, PlannedFold, Situation, Survey

LEAST_SUMMARY = 200  # tokens; with less, a summary says nothing
WITH_TAIL = 6_000  # tokens of such a size from which on the newest messages have a share
MUST_STAY = 6  # one part in so many of such a size is for the live request and the newest call, if that is enough
READ_AGAIN = 4_000_000  # bytes of hidden messages, about a second's work, where no notebook holds what matters of them
READ_AT_ONCE = 4_000_000  # bytes of messages that are new to a digest; of more than a million tokens it shows nothing
READ_PER_TOKEN = 32  # and so many for each token of room: small windows fold often, and each fold would read all again
FRAME = 160  # raw tokens around a summary's own words
MESSAGE = 8  # raw tokens that a message costs beside its words
MOST_FOLDS = 1_000_000  # the longest id a stand-in is measured with


class Condense(Struct, frozen=True):
    """Keep a tail of `tail` tokens (a quarter of a small window), or of `keep_last` messages (seed 001: three).

    `keep_instructions` is how many tokens of what people said before the tail stay word for word, the newest first.
    Where little room is left beside the live request, all of these give way, so that a fifth of the input stays free.
    `budget` is the size of the summary; both shrink with the window, the summary also with the goal. With `fills`, for
    words that cost nothing, it is twice that in a large window, and who asks for a small size gets a summary that takes
    all of it, but for a quarter for the newest messages.
    """

    tail: int = 20_000
    keep_last: int | None = None
    keep_first: bool = True
    keep_instructions: int = 4_000
    budget: int = 2_000
    fills: bool = False

    name = "summary"

    def __post_init__(self) -> None:
        if min(self.tail, self.keep_last or 0, self.keep_instructions) < 0:
            raise BadConfiguration("A summary cannot keep a negative amount. Use 0 or more.")
        if self.budget < LEAST_SUMMARY:
            raise BadConfiguration(f"A summary of {self.budget} tokens says nothing. Allow at least {LEAST_SUMMARY}.")

    def plan(self, view: View, situation: Situation) -> Plan:
        """One fold over everything before the tail, and the request for its summary."""
        survey = Survey(view)
        if self.fills and situation.asks_for_a_small_size:
            filled = self._filled(survey, situation)
            if filled is not None:
                return filled
        size, covered = situation.raw(self._size(situation)), self._covered(survey, situation)
        if self.keep_last is None:
            size = max(LEAST_SUMMARY, min(size, self._spare(survey, situation)))
        fresh = [atom for atom in covered if not survey.is_stand_in(atom)]
        # Whoever asks for a summary gets one for anything.
        least = 1 if situation.trigger == "explicit" else situation.raw(self._size(situation)) // 2
        if sum(atom.tokens for atom in fresh) < least:
            shows_one = any(item.kind == "stand_in" and item.seq in situation.previous for item in survey.items)
            return Plan.nothing(Refusal.JUST_FOLDED if shows_one else Refusal.NOTHING_TO_FOLD)
        return Plan((self._fold(survey, covered, fresh, situation, size),))

    def _filled(self, survey: Survey, situation: Situation) -> Plan | None:
        """All the room that was asked for: what must stay, a quarter for the newest messages, the rest the summary's.

        The user's words stand in the summary itself, so that no other message needs room of its own.
        """
        loose, room = survey.loose, situation.raw(situation.goal - situation.budget.fixed)
        staying = survey.view.tokens() - sum(atom.tokens for atom in loose)
        if staying > room // MUST_STAY and not survey.view.open_calls:  # then they stand in the digest, like all else
            loose = tuple(atom for atom in survey.atoms if not survey.is_kept_by_force(atom))
        length = room // 4 if room >= WITH_TAIL else 0
        start = _longest_tail(survey, frozenset(loose), survey.view.tokens(), length)
        covered = [atom for atom in loose if atom.start < start]
        size = room - survey.view.tokens() + sum(atom.tokens for atom in covered)
        fresh = [atom for atom in covered if not survey.is_stand_in(atom)]
        if not fresh:
            return None
        size = max(size, room // 2, 2 * LEAST_SUMMARY)  # where pins are larger, the size cannot be kept
        gone = frozenset(covered)
        left = [atom for atom in survey.atoms if atom not in gone and not survey.is_stand_in(atom)]
        cut = [atom for atom in left if any(survey.items[place].folded for place in atom.places)]
        framed = self._fold(survey, covered, fresh, situation, size, cut)
        around = situation.count(framed.words(MOST_FOLDS, "").text) + MESSAGE
        return Plan((framed.within(size - around),))

    def _size(self, situation: Situation) -> int:
        """Tokens of the summary as they are billed."""
        room = situation.budget.limit // 8
        if situation.trigger not in (GUARD, PAYS):  # which counted on all of it
            room = min(room, (situation.goal - situation.budget.fixed) // 4)
        most = summary_size(self.budget, situation.budget.usable, is_free=self.fills)
        return max(LEAST_SUMMARY, min(most, room))

    def _fold(
        self,
        survey: Survey,
        covered: Sequence[Atom],
        fresh: Sequence[Atom],
        situation: Situation,
        size: int,
        cut: Sequence[Atom] = (),
    ) -> PlannedFold:
        """`cut` atoms stay, but show only a part of what was said: a digest tells of the rest."""
        ranges, folds, language = survey.ranges(covered), survey.folds(covered), situation.language
        updated = [fold for fold in folds if fold in situation.previous]
        notebook = situation.notebook(updated)
        earlier, is_part = _read_again(updated, situation) if notebook is None else ((), False)
        last = covered[-1].start if covered else 0
        after = (atom for atom in survey.atoms if atom.start > last and not survey.is_stand_in(atom))
        behind = [atom for atom in after if atom not in cut]  # what stays in view
        request = SummaryRequest(
            sources=survey.sources([*_readable(survey, fresh), *cut]),
            previous="\n\n".join(situation.previous[fold] for fold in updated),
            instructions=situation.instructions,
            language=language,
            budget=size,
            kept=survey.sources(behind),
            earlier=earlier,
            is_part=is_part,
            staying=len(survey.sources(cut)),
        )

        def words(fold: int, text: str) -> StandIn:
            return StandIn(summary_text(text, fold=fold, ranges=ranges, language=language, nonce=situation.nonce))

        details = {"messages": survey.count(fresh), "first": ranges[0][0], "last": ranges[-1][1]}
        notebook = notebook or Notebook()
        return PlannedFold(
            "summary", words, survey.seqs(covered), folds, summary=request, notebook=notebook, details=details
        )

    # -- what stays ---------------------------------------------------------------------------------------------

    def _covered(self, survey: Survey, situation: Situation) -> list[Atom]:
        """Everything in front of the tail that nobody asked to keep, stand-ins of earlier folds included."""
        spare = self._spare(survey, situation) - situation.raw(self._size(situation))
        first = sum(atom.tokens for atom in survey.loose if atom == survey.first)
        keeps_first = self.keep_first and (self.keep_last is not None or first <= spare)
        loose = [atom for atom in survey.loose if not (keeps_first and atom == survey.first)]
        spare -= first if keeps_first else 0
        said = [atom for atom in loose if atom.stop == atom.start + 1 and is_person(survey.items[atom.start])]
        tail = self._tail(survey, loose, said, situation)
        room = self._instructed(situation) if self.keep_last is not None else min(self._instructed(situation), spare)
        kept = _newest([atom for atom in said if atom.start < tail], room)
        return [atom for atom in loose if atom.start < tail and atom not in kept]

    def _tail(self, survey: Survey, loose: Sequence[Atom], said: Sequence[Atom], situation: Situation) -> int:
        """Where the tail begins: as long as asked for, as short as the goal demands."""
        if self.keep_last is not None:
            places = [place for place, item in enumerate(survey.items) if item.kind == "message"]
            kept = places[-self.keep_last :] if self.keep_last else []
            return survey.view.cut_at_or_before(kept[0]) if kept else len(survey.items)
        instructions = min(sum(atom.tokens for atom in said), self._instructed(situation))
        staying = survey.view.tokens() - sum(atom.tokens for atom in loose) + instructions
        around = situation.used - int(
            survey.view.tokens() * situation.factor
        )  # bills tell of more than system and tools
        room = situation.raw(situation.goal - around - self._size(situation)) - staying
        return _longest_tail(survey, frozenset(loose), self._length(situation), room)

    def _length(self, situation: Situation) -> int:
        """A summary that is made because it pays leaves what was counted on; others a quarter of the room at most."""
        if situation.trigger == PAYS:
            return situation.raw(min(self.tail, paying_tail(situation.budget.usable)))
        return situation.raw(min(self.tail, situation.budget.limit // 4))

    def _instructed(self, situation: Situation) -> int:
        return situation.raw(self.instructed(situation.budget.limit))

    def instructed(self, limit: int) -> int:
        """Tokens of people's words that stay, in a request with this much room for messages."""
        return min(self.keep_instructions, limit // 8)

    def _spare(self, survey: Survey, situation: Situation) -> int:
        """Raw tokens for a summary and for what may stay beside it, if the turns after it are to find room."""
        mandatory = survey.view.tokens() - sum(atom.tokens for atom in survey.loose)
        around = situation.used - int(survey.view.tokens() * situation.factor)
        return situation.raw(situation.budget.roomy - around) - mandatory - FRAME


def _newest(said: Sequence[Atom], room: int) -> frozenset[Atom]:
    """The newest of what people said that fit; one that does not fit makes room for an older, shorter one."""
    kept: list[Atom] = []
    for atom in reversed(said):
        if atom.tokens <= room:
            kept.append(atom)
            room -= atom.tokens
    return frozenset(kept)


def text_of_fold(fold: Folded, text: str) -> str:
    """A fold's text as the next summary reads it: only what a strategy wrote may say what the user said."""
    return text if "strategy" in fold.details else unlike_digest(text)


def _read_again(folds: Sequence[int], situation: Situation) -> tuple[tuple[SourceMessage, ...], bool]:
    """What earlier summaries stand for, each message once, and whether it is only a part of it.

    Where that is too much to read: the newest of what people said and of all else, half of the bytes each, behind a
    digest, which was made of such lines; nothing in place of a summary that somebody wrote.
    """
    most = min(READ_AGAIN, READ_PER_TOKEN * situation.budget.usable)
    hidden = {item.seq: item for fold in folds for item in situation.behind(fold) if item.kind == "message"}
    is_part = sum(item.shape.size for item in hidden.values()) > most
    if is_part:
        if not all(is_digest(situation.previous[fold]) for fold in folds):
            return (), False
        people = _within((item for item in hidden.values() if is_person(item)), most // 2)
        others = _within((item for item in hidden.values() if not is_person(item)), most // 2)
        hidden = {item.seq: item for item in (*people, *others)}
    sources = ((seq, hidden[seq]) for seq in sorted(hidden))
    return tuple(SourceMessage(seq, situation.read(it), spoken_by=spoken_by(it)) for seq, it in sources), is_part


def _readable(survey: Survey, atoms: Sequence[Atom]) -> Sequence[Atom]:
    """The atoms that a digest is made of: all, or of a very long past the first and the newest that there is room for.

    What people said and all else have half of the bytes each; one too large for what is left is passed over.
    """
    sizes = {atom: sum(survey.messages[place].size for place in atom.places) for atom in atoms}
    if sum(sizes.values()) <= READ_AT_ONCE:
        return atoms
    chosen = set(atoms[:1])
    for of_people in (True, False):
        room = READ_AT_ONCE // 2
        for atom in reversed(atoms):
            if is_person(survey.items[atom.start]) is not of_people:
                continue
            if sizes[atom] <= room:
                room -= sizes[atom]
                chosen.add(atom)
    return [atom for atom in atoms if atom in chosen]


def _within(newest_first: Iterable[ViewItem], room: int) -> Iterator[ViewItem]:
    """As many as there is room for, in bytes."""
    for item in newest_first:
        room -= item.shape.size
        if room < 0:
            return
        yield item


def _longest_tail(survey: Survey, loose: frozenset[Atom], length: int, room: int) -> int:
    """The start of the longest run of newest atoms within `length`, those that may go within `room`.

    A summary ends it: a summary that stays would stand beside the next one.
    """
    start = len(survey.items)
    for atom in reversed(survey.atoms):
        length -= atom.tokens
        room -= atom.tokens if atom in loose else 0
        if length < 0 or room < 0 or survey.is_stand_in(atom):
            break
        start = atom.start
    return start


class Native(Struct, frozen=True):
    """Keep a tail of `tail` tokens (a small window: one part in `part`); all before it goes to the provider."""

    compactor: Compactor
    dialect: str
    tail: int = 20_000
    part: int = 4
    least: int = 2_000  # raw tokens worth a request of its own

    name = "native"

    def plan(self, view: View, situation: Situation) -> Plan:
        """One fold over everything before the tail, or why the provider cannot make it."""
        survey = Survey(view)
        covered = self._covered(survey, situation)
        if not situation.compacts(self.dialect):
            return Plan.nothing(Refusal.UNSUPPORTED)
        if sum(atom.tokens for atom in covered if not survey.is_stand_in(atom)) < self.least:
            return Plan.nothing()
        return Plan((self._fold(survey, covered, situation),))

    def _covered(self, survey: Survey, situation: Situation) -> list[Atom]:
        """Everything in front of the tail; nothing when something there must stay."""
        length = situation.raw(min(self.tail, situation.budget.limit // self.part))
        start = len(survey.items)
        for atom in reversed(survey.atoms):
            length -= atom.tokens
            if length < 0 and atom in survey.loose:
                break
            start = atom.start
        front = [atom for atom in survey.atoms if atom.start < start]
        return front if all(atom in survey.loose for atom in front) else []

    def _fold(self, survey: Survey, covered: list[Atom], situation: Situation) -> PlannedFold:
        ranges = survey.ranges(covered)

        def words(fold: int, text: str) -> StandIn:
            made = msgspec.json.decode(text, type=Compacted)
            told = summary_text(made.text, fold=fold, ranges=ranges, language=situation.language, nonce=situation.nonce)
            return StandIn(told, wire=made.wire, dialect=self.dialect)

        details: dict[str, Detail] = {
            "form": "on-demand",
            "messages": survey.count(covered),
            "first": ranges[0][0],
            "last": ranges[-1][1],
        }
        seqs, folds = survey.seqs(covered), survey.folds(covered)
        return PlannedFold("native", words, seqs, folds, compactor=self.compactor, details=details)
