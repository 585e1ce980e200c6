"""Keep what matters most: the newest messages without a gap, then whatever scores best, until the room is spent.

What goes leaves one text behind, not one for each gap: large gaps share a summary (one question to a model, or a
digest), small ones a notice. Above the limit, and on the first step of seed 003's ladder, no model is asked. It never
drops the live request, pins, what the system says, or the newest atom, and a summary of its own is updated, not pruned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct, field

from contextfold.domain import Detail, StandIn, View
from contextfold.errors import BadConfiguration
from contextfold.summaries import SummaryRequest, digest, emergency_header, gap_text, pruned_notice, reuse

from .importance import Scoring
from .plan import Atom, Plan, PlannedFold, Situation, Survey

NOTICE = 80  # raw tokens a notice may take in either language
LEAST_SUMMARY = 100

Account: TypeAlias = Literal["summary", "digest"]

# Seed 003's table: at 60 % a warning, from 80 % on pruning, from 90 % on with a summary, from 100 % on in emergency.
STEPS: dict[str, Account] = {"ladder-80": "digest", "ladder-90": "summary", "ladder-100": "digest"}


class Prune(Struct, frozen=True):
    """`tail` is the share of the room for the newest messages; gaps of `gap` messages or more are summarized."""

    scoring: Scoring = field(default_factory=Scoring)
    tail: float = 0.5
    gap: int = 5
    budget: int = 1_000  # tokens of the summary of all gaps

    name = "prune"

    def __post_init__(self) -> None:
        if not 0 <= self.tail <= 1:
            raise BadConfiguration(f"The tail's share is {self.tail}. Use 0 to 1.")
        if self.gap < 1 or self.budget < LEAST_SUMMARY:
            raise BadConfiguration(
                f"Gaps of {self.gap} cannot be told in {self.budget} tokens. Use 1 and {LEAST_SUMMARY} or more."
            )

    def plan(self, view: View, situation: Situation) -> Plan:
        survey = Survey(view)
        loose = [atom for atom in survey.loose if not survey.is_stand_in(atom)]
        room = self._room(survey, loose, situation)
        kept = self._kept(survey, loose, room)
        dropped = [atom for atom in loose if atom not in kept] if situation.surplus else []
        if not dropped:
            return Plan.nothing()
        return Plan(tuple(self._folds(survey, dropped, situation)))

    # -- what is kept -------------------------------------------------------------------------------------------

    def _room(self, survey: Survey, loose: Sequence[Atom], situation: Situation) -> int:
        """Raw tokens for what may be kept, once what must be kept and the notices are paid for."""
        must = survey.view.tokens() - sum(atom.tokens for atom in loose)
        goal = situation.raw(situation.goal - situation.budget.fixed - self._size(situation))
        return max(0, goal - must - 2 * NOTICE)

    def _kept(self, survey: Survey, loose: Sequence[Atom], room: int) -> set[Atom]:
        kept = _tail(survey, frozenset(loose), int(room * self.tail))
        room -= sum(atom.tokens for atom in kept)
        for atom in self._best(survey, [atom for atom in loose if atom not in kept]):
            if atom.tokens <= room:
                kept.add(atom)
                room -= atom.tokens
        return kept

    def _best(self, survey: Survey, atoms: Sequence[Atom]) -> list[Atom]:
        """Best first; the newer of two equals."""
        tools = {block.call: block.name for item in survey.items for block in item.shape.blocks if block.kind == "call"}
        last = max(1, len(survey.items))

        again = reuse(survey.sources(survey.atoms)) if self.scoring.reuse_bonus else {}

        def score(atom: Atom) -> float:
            return max(
                self.scoring.score(
                    (item := survey.items[place]),
                    survey.messages[place].message,
                    tools,
                    (place + 1) / last,
                    again.get(item.seq, 0.0),
                )
                for place in atom.places
            )

        return sorted(atoms, key=lambda atom: (-score(atom), -atom.start))

    # -- what is left behind ------------------------------------------------------------------------------------

    def _folds(self, survey: Survey, dropped: Sequence[Atom], situation: Situation) -> Iterable[PlannedFold]:
        """One text for all large gaps, one notice for all small ones; earlier ones of ours are taken over."""
        large: list[Atom] = []
        small: list[Atom] = []
        for gap in _gaps(dropped):
            (large if survey.count(gap) >= self.gap else small).extend(gap)
        stand_ins = [atom for atom in survey.loose if survey.is_stand_in(atom)]
        notices = [atom for atom in stand_ins if survey.items[atom.start].seq not in situation.previous]
        if large:
            summaries = [atom for atom in stand_ins if atom not in notices]
            yield self._told(survey, large, _in_order(large, summaries, notices), situation)
        if small:
            yield _noticed(survey, small, _in_order(small, () if large else notices), situation)

    def _told(self, survey: Survey, fresh: Sequence[Atom], covered: Sequence[Atom], now: Situation) -> PlannedFold:
        ranges, messages, folds = survey.ranges(covered), survey.count(fresh), survey.folds(covered)
        request = SummaryRequest(
            sources=survey.sources(fresh),
            previous="\n\n".join(now.previous[fold] for fold in folds if fold in now.previous),
            instructions=now.instructions,
            language=now.language,
            budget=self._size(now),
        )
        # A model is not asked above the limit, where it would come too late.
        is_late = now.used > now.budget.usable
        account = "digest" if is_late else STEPS.get(now.trigger, "summary")
        given = digest(request, now.count) if account == "digest" else ""
        if given and (is_late or now.trigger == "ladder-100"):
            given = f"{emergency_header(now.language)}\n{given}"

        def words(fold: int, text: str) -> StandIn:
            body = given or text
            if not body:  # nothing in the gaps was made of words
                return StandIn(pruned_notice(fold, ranges, messages, now.language))
            told = gap_text(body, fold=fold, ranges=ranges, messages=messages, language=now.language, nonce=now.nonce)
            return StandIn(told)

        details: dict[str, Detail] = {"messages": messages, "account": account}
        asked = None if account == "digest" else request
        return PlannedFold("prune", words, survey.seqs(covered), folds, summary=asked, details=details)

    def _size(self, situation: Situation) -> int:
        """The summary's tokens: an eighth of a small goal, because what is kept word for word says more."""
        return max(LEAST_SUMMARY, min(self.budget, (situation.goal - situation.budget.fixed) // 8))


def _tail(survey: Survey, loose: frozenset[Atom], room: int) -> set[Atom]:
    """The newest atoms without a gap, as far as the room goes."""
    kept: set[Atom] = set()
    for atom in reversed(survey.atoms):
        if atom not in loose:
            continue
        if atom.tokens > room:
            break
        kept.add(atom)
        room -= atom.tokens
    return kept


def _gaps(dropped: Iterable[Atom]) -> list[list[Atom]]:
    """Runs of neighbours, the last one included."""
    gaps: list[list[Atom]] = []
    for atom in dropped:
        if gaps and gaps[-1][-1].stop == atom.start:
            gaps[-1].append(atom)
        else:
            gaps.append([atom])
    return gaps


def _in_order(*groups: Iterable[Atom]) -> list[Atom]:
    return sorted((atom for group in groups for atom in group), key=lambda atom: atom.start)


def _noticed(survey: Survey, dropped: Sequence[Atom], covered: Sequence[Atom], situation: Situation) -> PlannedFold:
    ranges, messages = survey.ranges(covered), survey.count(dropped)

    def words(fold: int, _: str) -> StandIn:
        return StandIn(pruned_notice(fold, ranges, messages, situation.language))

    details: dict[str, Detail] = {"messages": messages, "account": "notice"}
    return PlannedFold("prune", words, survey.seqs(covered), survey.folds(covered), details=details)
