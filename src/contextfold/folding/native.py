"""Have the provider compact what came before the tail. What it makes is carried untouched, for that model alone.

The originals stay in the thread, so that the fold can be undone and another model can go on. It needs everything in
front of the tail: a message that must stay there would not be read, so then there is no plan and the next stage is
tried.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from contextfold.domain import Detail, StandIn, View
from contextfold.summaries import Refusal, summary_text

from .plan import Compacted, Compactor, Plan, PlannedFold, Situation
from .survey import Atom, Survey


@dataclass(frozen=True, slots=True)
class Native:
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
