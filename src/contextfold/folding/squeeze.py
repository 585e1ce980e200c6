"""Make room in a small size that somebody asked for: results that must stay show their two ends only.

The newest call and its results are what a model goes on from, so nothing else takes them; but a result of eight
thousand tokens cannot stay whole in a view of three thousand. It acts only when a size was asked for, never by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from contextfold.domain import View

from .offload import Offload
from .plan import Plan, Situation
from .results import results_in
from .survey import Survey

SHARE = 8  # what must stay may take one part in so many of the size


@dataclass(frozen=True, slots=True)
class Squeeze:
    """Puts the largest results among what must stay aside, until that takes a small part of the size asked for."""

    offload: Offload = field(default_factory=lambda: Offload(over=1))

    name = "squeeze"

    def plan(self, view: View, situation: Situation) -> Plan:
        """The largest results among what must stay; nothing unless somebody asked for a size."""
        if situation.trigger != "explicit":
            return Plan.nothing()
        survey = Survey(view)
        staying = view.tokens() - sum(atom.tokens for atom in survey.loose)
        surplus = staying - situation.raw(situation.goal - situation.budget.fixed) // SHARE
        results = [one for one in results_in(survey, situation) if one.place in survey.fixed - survey.pinned]
        if surplus <= 0 or not results:
            return Plan.nothing()
        goal = situation.used - int(surplus * situation.factor)
        folds = self.offload.squeezed(survey, results, replace(situation, goal=goal))
        return Plan(tuple(folds)) if folds else Plan.nothing()
