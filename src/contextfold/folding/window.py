"""Fold the oldest messages away behind a marker: the strategy that needs no model and always has an answer.

Oldest first, whole atoms, counted over what is visible. What it would rather not take comes last: the work on the live
request, then summaries (their marker takes over what they cover), then the first message. It never takes the live
request itself, pins, what the system says, or the newest atom.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from contextfold.domain import StandIn, View, is_person
from contextfold.errors import BadConfiguration
from contextfold.summaries import window_text

from .plan import Atom, Plan, PlannedFold, Situation, Survey

_LONG_MARKER = (10**6, ((10**5, 10**5),) * 3, 10**4)  # for its weight: the fold, what it covers, how many messages


class Window(Struct, frozen=True):
    """Hide a `fraction` of the messages after the first (seed 001: half), or as few as it takes to reach the goal.

    With a fraction, hides that much again while the request would not fit. `whole_turns` hides a person's message and
    everything up to the next one together, as long as the turn is over.
    """

    fraction: float | None = None
    keep_first: bool = True
    keep_last: int = 1  # messages
    whole_turns: bool = False

    name = "window"

    def __post_init__(self) -> None:
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise BadConfiguration(f"A window hides a fraction between 0 and 1, not {self.fraction}. Half is 0.5.")
        if self.keep_last < 0:
            raise BadConfiguration(f"{self.keep_last} messages cannot be kept. Keep 0 or more at the end.")

    def plan(self, view: View, situation: Situation) -> Plan:
        """The oldest turns, as few as will do, behind a marker."""
        survey = Survey(view)
        marker = situation.count(window_text(*_LONG_MARKER, situation.language))
        groups = self._groups(survey, situation)
        if self.fraction is None:
            chosen = _enough(groups, situation.surplus, marker)
        else:
            over = situation.raw(situation.used - situation.budget.usable)
            chosen = _share(survey, groups, self.fraction, over, marker)
        chosen.sort(key=lambda atom: atom.start)
        if _weight(chosen) <= marker:
            return Plan.nothing()
        ranges, messages, language = survey.ranges(chosen), survey.count(chosen), situation.language

        def words(fold: int, _: str) -> StandIn:
            return StandIn(window_text(fold, ranges, messages, language))

        details = {"messages": messages, "first": ranges[0][0], "last": ranges[-1][1]}
        return Plan((PlannedFold("window", words, survey.seqs(chosen), survey.folds(chosen), details=details),))

    def _groups(self, survey: Survey, situation: Situation) -> list[list[Atom]]:
        """Atoms in the order they are given up."""
        edge = survey.view.cut_at_or_before(max(0, len(survey.items) - self.keep_last))
        loose = [atom for atom in survey.loose if atom.start < edge]
        first = [atom for atom in loose if self.keep_first and atom == survey.first]
        summaries = [
            atom for atom in loose if survey.is_stand_in(atom) and survey.items[atom.start].seq in situation.previous
        ]
        plain = [atom for atom in loose if atom not in first and atom not in summaries]
        over = [atom for atom in plain if atom.start < survey.turn]
        turns = _turns(survey, over) if self.whole_turns else [[atom] for atom in over]
        reluctant = (*summaries, *first) if situation.is_forced else ()
        return [*turns, *([atom] for atom in plain if atom.start >= survey.turn), *([atom] for atom in reluctant)]


def _enough(groups: Iterable[list[Atom]], surplus: int, marker: int) -> list[Atom]:
    """The fewest groups that save as much, the marker paid for; all of them if that is not enough."""
    chosen: list[Atom] = []
    missing = surplus + marker if surplus else 0
    for group in groups:
        if missing <= 0:
            break
        chosen += group
        missing -= _weight(group)
    return chosen


def _share(survey: Survey, groups: Iterable[list[Atom]], fraction: float, over: int, marker: int) -> list[Atom]:
    """A share of the visible messages after the first, and a share of what is left as long as that does not fit.

    Shares are even, as in seed 001, so that a plain chat is cut between an answer and the next question.
    """
    missing = over + marker if over > 0 else 0
    visible, hidden, chosen = survey.count(survey.atoms), 0, list[Atom]()
    wanted = _even((visible - 1) * fraction)
    for group in groups:
        if hidden >= wanted:
            if missing <= 0:
                break
            wanted = hidden + max(2, _even((visible - hidden - 1) * fraction))
        chosen += group
        hidden += survey.count(group)
        missing -= _weight(group)
    return chosen


def _even(messages: float) -> int:
    return max(0, int(messages) // 2 * 2)


def _turns(survey: Survey, atoms: Iterable[Atom]) -> list[list[Atom]]:
    """Atoms grouped by turn: from what a person said, in one message or several, up to when one speaks again."""
    groups: list[list[Atom]] = []
    was_person = False
    for atom in atoms:
        is_said = any(is_person(survey.items[place]) for place in atom.places)
        if not groups or (is_said and not was_person):
            groups.append([])
        groups[-1].append(atom)
        was_person = is_said
    return groups


def _weight(atoms: Iterable[Atom]) -> int:
    return sum(atom.tokens for atom in atoms)
